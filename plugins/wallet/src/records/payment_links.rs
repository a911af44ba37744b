//! Payment links: who asks for how much of what, and the address that a payer sends it to. Each has an address of its own, so
//! that whatever arrives there was paid for it.
//!
//! What was paid is never stored here: it is read from the deposits of the address.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{Page, Search};
use tenon_plugin::{Call, Collection, Index, Stop};

use super::transactions::{self, Incoming, Transaction};
use super::{InsertStop, Stored};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::wire;

const PAYMENT_LINKS: &str = "payment-links";

/// What the token of a link's page carries.
pub const ATTRIBUTE: &str = "payment_link";
/// Deposits that are looked at for what was paid.
const DEPOSITS_MAX: u32 = 500;

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    PAYMENT_LINKS,
    &[
        Index::on("by-wallet", &["wallet", "@created-at"]),
        Index::on("by-created", &["@created-at"]),
        Index::on("by-address", &["address"]),
    ],
)];

pub type PaymentLink = Stored<PaymentLinkBody>;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PaymentLinkBody {
    pub wallet: String,
    /// Id of its address.
    pub address: String,
    pub name: String,
    pub description: Option<String>,
    #[serde(with = "wire::asset")]
    pub asset: Asset,
    /// `None`: the payer chooses.
    #[serde(with = "wire::units::option", default)]
    pub amount: Option<Units>,
    pub redirect_url: Option<String>,
    pub success_message: Option<String>,
    pub inactive_message: Option<String>,
    pub metadata: Option<Box<RawValue>>,
    /// Of its page; whoever has it sees the page.
    pub url: String,
    pub is_active: bool,
    pub expires_ms: Option<u64>,
}

impl PaymentLinkBody {
    pub fn money(&self) -> Option<Money> {
        self.amount.map(|units| Money::new(self.asset, units))
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<PaymentLink>, Stop> {
    super::load(call, PAYMENT_LINKS, id)
}

pub fn insert(call: &Call, link: &PaymentLink) -> Result<(), InsertStop> {
    super::insert(call, PAYMENT_LINKS, link)
}

pub fn save(call: &Call, link: &PaymentLink) -> Result<(), Stop> {
    super::replace(call, PAYMENT_LINKS, link)
}

/// A page of those of a wallet, or of all; and how many there are.
pub fn page(
    call: &Call,
    wallet: Option<&str>,
    (rows, skipped): (u32, u32),
    most: u32,
) -> Result<(Vec<PaymentLink>, u64), Stop> {
    let of = |rows| match wallet {
        Some(wallet) => Search::first(rows).is("wallet", wallet),
        None => Search::first(rows),
    };
    let found = super::first(call, PAYMENT_LINKS, &of(rows).descending("@created-at").offset(skipped))?;
    Ok((found, call.records(PAYMENT_LINKS).count(&of(1), most).into()))
}

fn of_address(address: &str, rows: u32) -> Search {
    Search::first(rows).is("listed_address", address).descending("@created-at")
}

/// What was paid for it, a page at a time, the newest first; and how many payments there are.
pub fn payments(
    call: &Call,
    link: &PaymentLink,
    (rows, skipped): (u32, u32),
    most: u32,
) -> Result<(Vec<Transaction>, u64), Stop> {
    let search = of_address(&link.body.address, rows).is("kind", "DEPOSIT").offset(skipped);
    let Page { entries, .. } = call.records(transactions::TRANSACTIONS).find(&search)?;
    let found: Result<Vec<Transaction>, Stop> = entries.iter().map(Stored::read).collect();
    let counted = Search::first(1).is("listed_address", &link.body.address).is("kind", "DEPOSIT");
    Ok((found?, transactions::count(call, &counted, most)))
}

/// What has arrived for it in its asset; the newest first.
pub fn deposits(call: &Call, link: &PaymentLink) -> Result<Vec<Incoming>, Stop> {
    let search = of_address(&link.body.address, DEPOSITS_MAX).is("symbol", link.body.asset.symbol);
    let found = transactions::find(call, &search)?;
    Ok(found.iter().filter_map(Transaction::incoming).collect())
}
