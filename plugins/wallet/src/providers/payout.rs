//! Payouts in fiat money: what may be asked, and the orders.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop, escape, json};

use super::client;
use crate::rules::amount::Money;
use crate::rules::blockchain::Blockchain;
use crate::rules::payout::BankAccount;

pub const DESTINATION: &str = "payout";

#[derive(Deserialize)]
pub struct Currencies {
    pub currencies: Vec<Currency>,
}

#[derive(Deserialize)]
pub struct Currency {
    pub currency: String,
    pub name: String,
    pub minimum_amount: String,
    pub maximum_amount: String,
    pub assets: Vec<String>,
}

#[derive(Deserialize)]
pub struct Institutions {
    pub institutions: Vec<Institution>,
}

#[derive(Deserialize)]
pub struct Institution {
    pub institution_identifier: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
}

#[derive(Deserialize)]
pub struct Verified {
    pub account_name: String,
}

#[derive(Deserialize)]
pub struct Quote {
    pub quote_id: String,
    pub rate: String,
    pub fee: String,
    pub payout_amount: String,
    #[serde(default)]
    pub estimated_arrival_seconds: u64,
    pub expires_at: String,
}

pub fn currencies(call: &Call) -> Result<Vec<Currency>, Stop> {
    let found: Currencies = client::understood(client::ask(call, DESTINATION, "/v1/payout/currencies", None)?)?;
    Ok(found.currencies)
}

pub fn institutions(call: &Call, currency: &str) -> Result<Vec<Institution>, Stop> {
    let path = ["/v1/payout/institutions?currency=", &escape(currency)].concat();
    let found: Institutions = client::understood(client::ask(call, DESTINATION, &path, None)?)?;
    Ok(found.institutions)
}

#[derive(Serialize)]
struct AskedAccount<'a> {
    currency: &'a str,
    institution_identifier: &'a str,
    account_identifier: &'a str,
}

/// Whose account it is.
pub fn verify(call: &Call, account: &BankAccount) -> Result<Verified, Stop> {
    let body = json::to_text(&AskedAccount {
        currency: account.currency.code(),
        institution_identifier: &account.institution_identifier,
        account_identifier: &account.account_identifier,
    })?;
    client::understood(client::ask(call, DESTINATION, "/v1/payout/account-verifications", Some(body))?)
}

#[derive(Serialize)]
struct AskedQuote<'a> {
    blockchain: &'a str,
    asset: &'a str,
    amount: String,
    currency: &'a str,
}

pub fn quote(call: &Call, money: Money, currency: &str) -> Result<Quote, Stop> {
    let body = json::to_text(&AskedQuote {
        blockchain: money.asset.blockchain.map_or("", Blockchain::slug),
        asset: money.asset.symbol,
        amount: money.to_decimal(),
        currency,
    })?;
    client::understood(client::ask(call, DESTINATION, "/v1/payout/quotes", Some(body))?)
}

#[derive(Serialize)]
pub struct Order<'a> {
    pub id: &'a str,
    pub quote_id: &'a str,
    pub institution_identifier: &'a str,
    pub account_identifier: &'a str,
    pub reference: &'a str,
    pub refund_address: &'a str,
}
