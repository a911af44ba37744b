//! What a provider moves for an outgoing transaction: part of its record.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::{Comparison, Search, Value};
use tenon_plugin::{Call, Stop};

use super::outgoing::Out;
use super::transactions;
use crate::rules::amount::Money;
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::status::Status;

/// Orders that one transaction of a provider ends.
const NAMING_MAX: u32 = 200;

/// Who moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Payout,
    Swap,
    GatewayDeposit,
    GatewayWithdrawal,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Provided {
    pub kind: Kind,
    /// What the provider knows it by: the id of the first transaction that was made for it.
    pub id: String,
    /// What it is asked for: one JSON text, the same in every attempt.
    pub order: String,
    /// It has said yes.
    pub is_taken: bool,
    /// Our coins are final where they were to go.
    pub has_left: bool,
    pub status: Option<String>,
    pub reason: Option<String>,
    pub delivery_hash: Option<String>,
    pub refund_hash: Option<String>,
    /// What was delivered, as the provider writes it.
    #[serde(default)]
    pub received: Option<String>,
    /// Which movement of the delivery or the refund it was booked with: its position in the transaction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub took: Option<u32>,
    /// The balance of ours that it fills: what arrives there may be its delivery.
    pub delivers: Option<String>,
    /// The same of what it may send back.
    pub refunds: Option<String>,
    pub began_ms: u64,
    /// When the last attempt to order it was over, without an answer that could be understood.
    #[serde(default)]
    pub asked_ms: Option<u64>,
}

impl Provided {
    pub fn new(kind: Kind, id: String, order: String, began_ms: u64) -> Provided {
        Provided {
            kind,
            id,
            order,
            is_taken: false,
            has_left: false,
            status: None,
            reason: None,
            delivery_hash: None,
            refund_hash: None,
            received: None,
            took: None,
            delivers: None,
            refunds: None,
            began_ms,
            asked_ms: None,
        }
    }

    /// One that has ended expects nothing by itself any more: what comes late is found by its hash.
    pub fn close(&mut self) {
        (self.delivers, self.refunds) = (None, None);
    }
}

/// A balance that is filled.
pub fn delivery_place(holder: &Holder, asset: Asset) -> String {
    [&asset.key(), " ", &holder.name()].concat()
}

/// A balance that is refilled: with all of it.
pub fn refund_place(holder: &Holder, money: Money) -> String {
    [&money.asset.key(), " ", &holder.name(), " ", &money.units.to_digits()].concat()
}

/// Those that wait for something of this kind to arrive.
pub fn waiting(call: &Call, field: &str, place: &str, rows: u32) -> Result<Vec<Out>, Stop> {
    let open = [Status::Processing, Status::Incomplete].map(|status| Value::Text(status.name().to_owned()));
    let search = Search::first(rows).is(field, place).with("status", Comparison::OneOf(open.to_vec()));
    Ok(transactions::find(call, &search)?.iter().filter_map(Out::of).collect())
}

/// What has this as the hash of its delivery or refund.
pub fn with_hash(call: &Call, field: &str, hash: &str) -> Result<Vec<Out>, Stop> {
    let found = transactions::find(call, &Search::first(NAMING_MAX).is(field, hash))?;
    Ok(found.iter().filter_map(Out::of).collect())
}

/// The transaction that goes on with what the provider knows by this id.
pub fn current(call: &Call, id: &str) -> Result<Option<Out>, Stop> {
    let found = transactions::find(call, &Search::first(20).is("outgoing.way.provider.id", id))?;
    Ok(found.iter().filter_map(Out::of).find(|out| out.record.status == Status::Processing))
}
