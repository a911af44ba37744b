//! Payment links: who asks for how much of what, and the address that a payer sends it to. Each has an address of its own, so
//! that whatever arrives there was paid for it.
//!
//! What was paid is never stored here: it is read from the deposits of the address.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{Page, Search};
use tenon_plugin::{Call, Collection, Index, Stop};

use super::transactions::{self, Incoming, Transaction};
use super::{InsertStop, Stored, addresses};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::blockchain::Blockchain;
use crate::rules::network::Network;
use crate::rules::status::Status;
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

/// All that the page of a link shows. Every text in it comes from somebody else.
#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// Decimal text; `None`: the payer chooses.
    pub amount: Option<String>,
    pub paid: String,
    /// "USDC".
    pub symbol: String,
    pub blockchain: Blockchain,
    pub network: Network,
    /// Of the token on its blockchain, and its decimals; `None` for a coin.
    pub token: Option<String>,
    pub decimals: u32,
    /// EVM; 0 elsewhere.
    pub chain_id: u64,
    /// Where the payer sends it.
    pub address: String,
    pub state: PaymentState,
    pub redirect_url: Option<String>,
    pub success_message: Option<String>,
    pub inactive_message: Option<String>,
    pub expires_ms: Option<u64>,
}

/// How far a payment has come. What has arrived counts before what has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentState {
    Waiting,
    /// On the blockchain, not final.
    Seen {
        confirmations: u32,
        needed: u32,
    },
    Paid,
    Underpaid,
    Overpaid,
    Expired,
    /// Who made it has switched it off.
    Inactive,
}

impl PaymentState {
    pub fn name(self) -> &'static str {
        match self {
            PaymentState::Waiting => "waiting",
            PaymentState::Seen { .. } => "seen",
            PaymentState::Paid => "paid",
            PaymentState::Underpaid => "underpaid",
            PaymentState::Overpaid => "overpaid",
            PaymentState::Expired => "expired",
            PaymentState::Inactive => "inactive",
        }
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

/// What the page shows of it now. `None`: it is gone.
pub fn payment(call: &Call, id: &str, network: Network) -> Result<Option<Payment>, Stop> {
    match load(call, id)? {
        Some(link) => payment_of(call, &link, network),
        None => Ok(None),
    }
}

pub fn payment_of(call: &Call, link: &PaymentLink, network: Network) -> Result<Option<Payment>, Stop> {
    let body = link.body.clone();
    let Some(address) = addresses::load(call, &body.address)? else { return Ok(None) };
    let deposits = transactions::find(call, &of_address(&body.address, DEPOSITS_MAX))?;
    let deposits: Vec<Incoming> = deposits.iter().filter_map(Transaction::incoming).collect();
    let (paid, state) = judge(&body, &deposits, call.now());
    let asset = body.asset;
    let blockchain = asset.blockchain.unwrap_or(address.body.blockchain);
    let chain = call.chains().network(blockchain.slug());
    let token = crate::show::asset::token_of(asset, chain.as_ref());
    let amount = body.money().map(Money::to_decimal);
    Ok(Some(Payment {
        id: link.id.clone(),
        name: body.name,
        description: body.description,
        amount,
        paid: paid.to_decimal(),
        symbol: asset.symbol.to_owned(),
        blockchain,
        network,
        token,
        decimals: asset.decimals,
        chain_id: chain.map_or(0, |chain| chain.chain_id),
        address: address.body.address,
        state,
        redirect_url: body.redirect_url,
        success_message: body.success_message,
        inactive_message: body.inactive_message,
        expires_ms: body.expires_ms,
    }))
}

/// What is final of it, and how far it has come.
fn judge(link: &PaymentLinkBody, deposits: &[Incoming], now_ms: u64) -> (Money, PaymentState) {
    let of_asset = || deposits.iter().map(|it| &it.record).filter(|it| it.sighting.money.asset == link.asset);
    let finals = of_asset().filter(|it| it.status == Status::Success);
    let sum = finals.fold(Units::ZERO, |sum, it| sum.checked_add(it.sighting.money.units).unwrap_or(sum));
    let coming = of_asset().find(|it| matches!(it.status, Status::Pending | Status::Processing));
    let wanted = link.amount.unwrap_or(Units::new(1));
    let state = if sum >= wanted {
        if link.amount.is_some_and(|amount| sum > amount) { PaymentState::Overpaid } else { PaymentState::Paid }
    } else if let Some(seen) = coming {
        let confirmations = seen.sighting.confirmations;
        PaymentState::Seen { confirmations, needed: seen.sighting.blockchain.confirmations() }
    } else if !link.is_active {
        PaymentState::Inactive
    } else if link.expires_ms.is_some_and(|at| now_ms >= at) {
        PaymentState::Expired
    } else if sum.is_zero() {
        PaymentState::Waiting
    } else {
        PaymentState::Underpaid
    };
    (Money::new(link.asset, sum), state)
}
