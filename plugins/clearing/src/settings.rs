//! Settings of a tenant: a table in the plugin's section of plugins.toml, named like the tenant ("acme/live") or, for both of
//! its environments, like the organization ("acme").
//!
//! Owns the side that a tenant takes. A tenant without a table takes none, and no operation exists for it. The host checks every
//! table against `settings.schema.json`, which is made from these types.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tenon_plugin::{Call, Stop};

use crate::rules::account::AccountNumber;
use crate::rules::deadline::Budgets;
use crate::rules::invalid::Field;
use crate::rules::limits;
use crate::words;

/// Side of the interface that a tenant takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Receives payments.
    Partner,
    /// Sends them.
    Platform,
}

/// System that decides about a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Decide {
    /// The directory, by the rules.
    #[default]
    Rules,
    /// The bank's own system, at a destination.
    Ask,
}

/// Decision when the bank's own system makes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    #[default]
    Reject,
    Rules,
}

/// Place of the customers' balances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Balances {
    /// The ledger holds what this interface has moved, nothing else: an account may go below zero.
    #[default]
    Elsewhere,
    /// The ledger holds all of it: a debit finds its funds there, or none.
    Ledger,
}

/// A tenant's table. Keys of the other side are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    pub side: Side,
    /// Destination of a partner's responses.
    #[serde(default = "platform")]
    pub platform: String,
    /// Destination of the bank's own system.
    #[serde(default = "bank")]
    pub bank: String,
    #[serde(default)]
    pub decide: Decide,
    /// Milliseconds that the bank's own system has for one payment; never more than the payment has.
    #[serde(default = "bank_ms", deserialize_with = "bounded_ms")]
    #[cfg_attr(test, schemars(with = "u64", range(max = limits::DECISION_MS_MAX)))]
    pub bank_ms: u64,
    #[serde(default)]
    pub fallback: Fallback,
    #[serde(default)]
    pub balances: Balances,
    /// Account for credits that name no account.
    #[serde(default)]
    #[cfg_attr(test, schemars(length(min = 1, max = limits::ACCOUNT_CHARS_MAX)))]
    default_account: Option<String>,
    /// Rejects the content of a payment that was approved the same day under another uetr as a duplicate (AM05).
    #[serde(default)]
    pub reject_duplicates: bool,
    #[serde(default = "rtc_ms", deserialize_with = "bounded_ms")]
    #[cfg_attr(test, schemars(with = "u64", range(max = limits::DECISION_MS_MAX)))]
    rtc_decision_ms: u64,
    #[serde(default = "rpp_ms", deserialize_with = "bounded_ms")]
    #[cfg_attr(test, schemars(with = "u64", range(max = limits::DECISION_MS_MAX)))]
    rpp_decision_ms: u64,
    #[serde(default = "eft_ms", deserialize_with = "bounded_ms")]
    #[cfg_attr(test, schemars(with = "u64", range(max = limits::DECISION_MS_MAX)))]
    eft_decision_ms: u64,
}

fn platform() -> String {
    "platform".to_owned()
}

fn bank() -> String {
    "bank".to_owned()
}

fn bank_ms() -> u64 {
    limits::BANK_MS
}

fn rtc_ms() -> u64 {
    limits::RTC_DECISION_MS
}

fn rpp_ms() -> u64 {
    limits::RPP_DECISION_MS
}

fn eft_ms() -> u64 {
    limits::EFT_DECISION_MS
}

fn bounded_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let ms = u64::deserialize(deserializer)?;
    if ms > limits::DECISION_MS_MAX {
        return Err(D::Error::custom(format_args!("{ms} ms are more than {}", limits::DECISION_MS_MAX)));
    }
    Ok(ms)
}

impl Settings {
    pub fn budgets(&self) -> Budgets {
        Budgets { rtc_ms: self.rtc_decision_ms, rpp_ms: self.rpp_decision_ms, eft_ms: self.eft_decision_ms }
    }

    /// One that cannot be an account is a fault, for the operator.
    pub fn default_account(&self) -> Result<Option<AccountNumber>, Stop> {
        let Some(text) = &self.default_account else { return Ok(None) };
        let parsed = AccountNumber::parse(Field::CreditorAccountNumber, text);
        parsed.map(Some).map_err(|_| Stop::fault("setting default-account is no account number"))
    }
}

/// Of the tenant of a call, whatever side it plays.
pub fn load(call: &Call) -> Result<Settings, Stop> {
    let own = call.config(&call.principal().tenant)?;
    let settings = if own.is_some() { own } else { call.config(call.organization())? };
    settings.ok_or_else(words::not_found)
}

/// An operation of the other side does not exist.
pub fn of_side(call: &Call, side: Side) -> Result<Settings, Stop> {
    let settings = load(call)?;
    if settings.side == side { Ok(settings) } else { Err(words::not_found()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A table for each tenant.
    type Tables = BTreeMap<String, Settings>;

    #[test]
    fn published_schema_is_that_of_the_settings() {
        tenon_plugin::test_kit::check_settings_schema(env!("CARGO_MANIFEST_DIR"), &schemars::schema_for!(Tables));
    }
}
