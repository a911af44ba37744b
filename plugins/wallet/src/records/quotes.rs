//! Quotes of swaps and payouts: what was promised, until when, and who has taken it.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop};

use super::Stored;
use crate::rules::quote::{Quote, QuoteState};

const QUOTES: &str = "quotes";

pub const COLLECTIONS: &[Collection] = &[Collection::new(QUOTES, &[])];

pub type StoredQuote = Stored<QuoteBody>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QuoteBody {
    pub wallet: String,
    terms: String,
    expires_ms: u64,
    accepted: bool,
    used_by: Option<String>,
    pub promise: Promise,
}

/// One that was stored without a word of it is taken for a payout's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Promised {
    #[default]
    Payout,
    Swap,
}

/// What the provider stands by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Promise {
    #[serde(default)]
    pub of: Promised,
    /// How it knows this: a quote of a payout, an offer of a swap.
    pub id: String,
    /// Base units that a swap must bring; of a payout nothing.
    pub at_least: String,
    /// minimum_amount of the order, where it is more than the offer's.
    pub minimum: Option<String>,
    /// What the answer shows of it: one JSON text.
    pub shown: String,
}

impl QuoteBody {
    pub fn new(wallet: &str, quote: Quote, promise: Promise) -> QuoteBody {
        let mut body = QuoteBody {
            wallet: wallet.to_owned(),
            terms: quote.terms.clone(),
            expires_ms: quote.expires_at_ms,
            accepted: false,
            used_by: None,
            promise,
        };
        body.set(quote);
        body
    }

    pub fn quote(&self) -> Quote {
        let state = match &self.used_by {
            Some(by) => QuoteState::Used { by: by.clone() },
            None if self.accepted => QuoteState::Accepted,
            None => QuoteState::Open,
        };
        Quote { terms: self.terms.clone(), expires_at_ms: self.expires_ms, state }
    }

    pub fn set(&mut self, quote: Quote) {
        self.accepted = quote.state != QuoteState::Open;
        self.used_by = match quote.state {
            QuoteState::Used { by } => Some(by),
            _ => None,
        };
    }

    pub fn expires_ms(&self) -> u64 {
        self.expires_ms
    }

    pub fn state_name(&self) -> &'static str {
        match (self.used_by.is_some(), self.accepted) {
            (true, _) => "used",
            (false, true) => "accepted",
            (false, false) => "open",
        }
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<StoredQuote>, Stop> {
    super::load(call, QUOTES, id)
}

pub fn insert(call: &Call, quote: &StoredQuote) -> Result<(), Stop> {
    Ok(super::insert(call, QUOTES, quote)?)
}

pub fn save(call: &Call, quote: &StoredQuote) -> Result<(), Stop> {
    super::replace(call, QUOTES, quote)
}
