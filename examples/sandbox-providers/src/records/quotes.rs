//! Quotes: given, taken once, forgotten a day after their end.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop, json};

use super::QUOTES;
use crate::rules::amount::Units;
use crate::rules::limits::QUOTE_KEPT_MS;
use crate::rules::offers::Offer;
use crate::rules::order::Asset;
use crate::tasks;
use crate::words::No;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quote {
    pub asset: Asset,
    pub units: Units,
    pub terms: Terms,
    pub expires_at: u64,
    /// The id of what was ordered with it.
    pub taken_by: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terms {
    /// `rate`, `fee` and `payout` as they are shown.
    Payout {
        currency: String,
        rate: String,
        fee: String,
        payout: String,
    },
    Swap {
        to: Asset,
        offers: Vec<Offer>,
    },
}

pub fn insert_quote(call: &Call, id: &str, quote: &Quote) -> Result<(), Stop> {
    call.records(QUOTES).insert(id, &json::to_text(quote)?)?;
    call.tasks().schedule(tasks::FORGET_QUOTE, id, quote.expires_at.saturating_add(QUOTE_KEPT_MS), "{}");
    Ok(())
}

/// For one order and no other.
pub fn take_quote(call: &Call, id: &str, by: &str) -> Result<Quote, Stop> {
    let Some(mut quote) = super::find::<Quote>(call, QUOTES, id)? else { return Err(No::QuoteNotFound.into()) };
    match &quote.taken_by {
        Some(other) if other != by => return Err(No::QuoteUsed.into()),
        _ if call.now() >= quote.expires_at => return Err(No::QuoteExpired.into()),
        _ => quote.taken_by = Some(by.to_owned()),
    }
    call.records(QUOTES).replace(id, &json::to_text(&quote)?)?;
    Ok(quote)
}

pub fn forget_quote(call: &Call, id: &str) -> Result<(), Stop> {
    let quotes = call.records(QUOTES);
    if quotes.get(id).is_some() { Ok(quotes.delete(id)?) } else { Ok(()) }
}
