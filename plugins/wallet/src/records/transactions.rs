//! Transactions of both directions in one collection, so that one list shows them: what they have in common, and deposits.
//!
//! Sweeps and deposits of coins for gas are stored here as well and appear in no list (`listed` is absent).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop};

use super::outgoing::OutgoingBody;
use super::sweeps::Lot;
use super::{InsertStop, Stored};
use crate::rules::amount::Money;
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::deposit::{Custody, Deposit, Sighting};
use crate::rules::kind::Kind;
use crate::rules::status::Status;
use crate::rules::sweep::{self, Sweep};
use crate::wire;

pub const TRANSACTIONS: &str = "transactions";
pub const BY_REFERENCE: &str = "by-reference";

/// Salvages of one wallet that a new deposit is compared with.
const SALVAGES_MAX: u32 = 500;
/// Transactions of one address that are looked at together.
pub const UNDER_WAY_MAX: u32 = 100;

pub const COLLECTIONS: &[Collection] = &[Collection::new(
    TRANSACTIONS,
    &[
        Index::on("by-listed", &["listed", "@created-at"]),
        Index::on("by-status", &["listed", "status", "@created-at"]),
        Index::on("by-kind", &["listed", "kind", "@created-at"]),
        Index::on("by-address", &["listed_address", "@created-at"]),
        Index::on("by-hash", &["hash"]),
        Index::unique(BY_REFERENCE, &["wallet", "reference"]),
        Index::on("by-sighting", &["sighting", "@created-at"]),
        Index::on("by-sweepable", &["sweepable"]),
        Index::on("by-sweep", &["sweep.by"]),
        Index::on("by-batch", &["outgoing.way.batch"]),
        Index::on("by-provided", &["outgoing.way.provider.id"]),
        Index::on("by-delivery", &["outgoing.way.provider.delivery_hash"]),
        Index::on("by-refund", &["outgoing.way.provider.refund_hash"]),
        Index::on("by-expected-delivery", &["outgoing.way.provider.delivers"]),
        Index::on("by-expected-refund", &["outgoing.way.provider.refunds"]),
    ],
)];

/// Of either direction.
pub type Transaction = Stored<TransactionBody>;

/// What lists and filters know; the rest is in one of two members.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransactionBody {
    pub wallet: String,
    /// Its wallet, where lists show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listed_address: Option<String>,
    pub kind: String,
    /// Of its asset.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub symbol: Option<String>,
    #[serde(with = "wire::status")]
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<String>,
    /// What deposits of one transfer have in common.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    sighting: Option<String>,
    /// The lot that a sweep beginning now takes it along with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    sweepable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    sweep: Option<SweepText>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deposit: Option<DepositBody>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outgoing: Option<OutgoingBody>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signed: Option<SignedBody>,
    pub about: About,
}

/// What was signed and is sent by nobody here: a message, a document, raw bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignedBody {
    pub address: Option<String>,
    pub signature: Option<String>,
    pub raw: Option<String>,
    pub fingerprint: String,
}

/// What both directions tell beside their rules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    pub sender: Option<String>,
    pub recipient: Option<String>,
    pub token: Option<String>,
    pub note: Option<String>,
    pub metadata: Option<Box<RawValue>>,
    pub block: Option<u64>,
    #[serde(default)]
    pub confirmations: u32,
    /// Gas that was burnt, in base units.
    pub fee: Option<String>,
    /// Ids of the events that told of it, in order.
    #[serde(default)]
    pub events: Vec<String>,
    /// Each edge, with its time.
    #[serde(default)]
    pub history: Vec<(u64, String)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DepositBody {
    #[serde(with = "wire::holder")]
    holder: Holder,
    is_ours: bool,
    #[serde(with = "wire::blockchain")]
    blockchain: Blockchain,
    position: u32,
    #[serde(with = "wire::MoneyText")]
    pub money: Money,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SweepText {
    state: String,
    by: Option<String>,
}

/// A deposit with what is told beside it.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub record: Deposit,
    pub sweep: Sweep,
    pub about: About,
}

impl TransactionBody {
    pub fn of_outgoing(
        (wallet, kind, status): (&str, &str, Status),
        outgoing: OutgoingBody,
        about: About,
    ) -> TransactionBody {
        TransactionBody {
            wallet: wallet.to_owned(),
            listed: None,
            listed_address: None,
            kind: kind.to_owned(),
            symbol: None,
            status,
            hash: None,
            reference: None,
            sighting: None,
            sweepable: None,
            sweep: None,
            deposit: None,
            outgoing: Some(outgoing),
            signed: None,
            about,
        }
    }

    /// Has ended when it is made.
    pub fn of_signed(wallet: &str, signed: SignedBody, (reference, about): (String, About)) -> TransactionBody {
        TransactionBody {
            wallet: wallet.to_owned(),
            listed: Some(wallet.to_owned()),
            listed_address: signed.address.clone(),
            kind: Kind::Signed.name().to_owned(),
            symbol: None,
            status: Status::Success,
            hash: None,
            reference: Some(reference),
            sighting: None,
            sweepable: None,
            sweep: None,
            deposit: None,
            outgoing: None,
            signed: Some(signed),
            about,
        }
    }

    /// Of the request that made it.
    pub fn fingerprint(&self) -> Option<&str> {
        let of_outgoing = self.outgoing.as_ref().and_then(|outgoing| outgoing.way.fingerprint.as_deref());
        of_outgoing.or(self.signed.as_ref().map(|signed| signed.fingerprint.as_str()))
    }
}

impl Incoming {
    pub fn lot(&self) -> Option<Lot> {
        let address = self.record.holder.address_id()?.to_owned();
        Some(Lot { wallet: self.record.wallet_id.clone(), address, asset: self.record.sighting.money.asset })
    }

    pub fn to_body(&self) -> TransactionBody {
        let Deposit { wallet_id, holder, custody, sighting, status, .. } = &self.record;
        let is_told = self.record.is_told();
        let is_free = sweep::is_sweepable(&self.record) && self.sweep.is_free();
        let (state, by) = match &self.sweep {
            Sweep::Resting => ("resting", None),
            Sweep::Underway { by } => ("underway", Some(by)),
            Sweep::Swept { by } => ("swept", Some(by)),
            Sweep::Failed { by } => ("failed", Some(by)),
            Sweep::Settled { by } => ("settled", Some(by)),
        };
        TransactionBody {
            wallet: wallet_id.clone(),
            listed: is_told.then(|| wallet_id.clone()),
            listed_address: holder.address_id().filter(|_| is_told).map(str::to_owned),
            kind: Kind::Deposit.name().to_owned(),
            symbol: Some(sighting.money.asset.symbol.to_owned()),
            status: *status,
            hash: Some(sighting.transaction_hash.clone()),
            reference: None,
            sighting: Some(sighting.key()),
            sweepable: self.lot().filter(|_| is_free).map(|lot| lot.key()),
            sweep: Some(SweepText { state: state.to_owned(), by: by.cloned() }),
            deposit: Some(DepositBody {
                holder: holder.clone(),
                is_ours: *custody == Custody::Ours,
                blockchain: sighting.blockchain,
                position: sighting.position,
                money: sighting.money,
            }),
            outgoing: None,
            signed: None,
            about: About { confirmations: sighting.confirmations, ..self.about.clone() },
        }
    }
}

impl Stored<TransactionBody> {
    /// `None`: it goes out.
    pub fn incoming(&self) -> Option<Incoming> {
        let DepositBody { holder, is_ours, blockchain, position, money } = self.body.deposit.clone()?;
        let TransactionBody { wallet, status, hash, sweep, about, .. } = self.body.clone();
        let by = sweep.as_ref().and_then(|sweep| sweep.by.clone());
        let sweep = match (sweep.as_ref().map(|sweep| sweep.state.as_str()), by) {
            (Some("underway"), Some(by)) => Sweep::Underway { by },
            (Some("swept"), Some(by)) => Sweep::Swept { by },
            (Some("failed"), Some(by)) => Sweep::Failed { by },
            (Some("settled"), Some(by)) => Sweep::Settled { by },
            _ => Sweep::Resting,
        };
        let sighting = Sighting {
            blockchain,
            transaction_hash: hash.unwrap_or_default(),
            position,
            money,
            confirmations: about.confirmations,
        };
        let record = Deposit {
            id: self.id.clone(),
            wallet_id: wallet,
            holder,
            custody: if is_ours { Custody::Ours } else { Custody::Watched },
            sighting,
            metadata: about.metadata.as_ref().map(|metadata| metadata.get().to_owned()),
            status,
        };
        Some(Incoming { record, sweep, about })
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<Transaction>, Stop> {
    super::load(call, TRANSACTIONS, id)
}

pub fn insert(call: &Call, transaction: &Transaction) -> Result<(), InsertStop> {
    super::insert(call, TRANSACTIONS, transaction)
}

pub fn save(call: &Call, transaction: &Transaction) -> Result<(), Stop> {
    super::replace(call, TRANSACTIONS, transaction)
}

pub fn find(call: &Call, search: &Search) -> Result<Vec<Transaction>, Stop> {
    super::first(call, TRANSACTIONS, search)
}

pub fn count(call: &Call, search: &Search, most: u32) -> u64 {
    call.records(TRANSACTIONS).count(search, most).into()
}

pub fn read(entry: &Entry) -> Result<Transaction, Stop> {
    Stored::read(entry)
}

/// The last deposit of this transfer.
pub fn last_sighted(call: &Call, sighting: &Sighting) -> Result<Option<Transaction>, Stop> {
    last_of(call, &sighting.key())
}

/// The same, by its place on the blockchain.
pub fn sighted(call: &Call, blockchain: &str, hash: &str, position: u32) -> Result<Option<Transaction>, Stop> {
    last_of(call, &[blockchain, hash, &position.to_string()].join("/"))
}

fn last_of(call: &Call, sighting: &str) -> Result<Option<Transaction>, Stop> {
    let search = Search::first(1).is("sighting", sighting).descending("@created-at");
    Ok(find(call, &search)?.into_iter().next())
}

/// Of a transaction on this blockchain that somebody here has sent.
pub fn sent_with(call: &Call, hash: &str) -> Result<Vec<Transaction>, Stop> {
    let found = find(call, &Search::first(100).is("hash", hash))?;
    Ok(found.into_iter().filter(|transaction| transaction.body.outgoing.is_some()).collect())
}

/// What was salvaged from the keys of a wallet, the newest first.
pub fn salvages(call: &Call, wallet: &str) -> Result<Vec<Transaction>, Stop> {
    let search = Search::first(SALVAGES_MAX).is("listed", wallet).is("kind", Kind::Salvage.name());
    find(call, &search.descending("@created-at"))
}

/// Deposits that a sweep of this lot takes along; the rest is taken along by the next one.
pub fn sweepable(call: &Call, lot: &Lot, rows: u32) -> Result<Vec<Transaction>, Stop> {
    find(call, &Search::first(rows).is("sweepable", &lot.key()))
}

/// Deposits that this sweep has taken along.
pub fn swept_by(call: &Call, sweep: &str, rows: u32) -> Result<Vec<Transaction>, Stop> {
    find(call, &Search::first(rows).is("sweep.by", sweep))
}

/// What an address sends or receives and has not come to its end.
pub fn under_way_of(call: &Call, address: &str) -> Result<Vec<Transaction>, Stop> {
    let search = Search::first(UNDER_WAY_MAX).is("listed_address", address).is("status", Status::Processing.name());
    find(call, &search)
}

/// Who has this reference in the wallet.
pub fn with_reference(call: &Call, wallet: &str, reference: &str) -> Result<Option<Transaction>, Stop> {
    let search = Search::first(1).is("wallet", wallet).is("reference", reference);
    Ok(find(call, &search)?.into_iter().next())
}

/// Of one batch, in the order of its recipients.
pub fn of_batch(call: &Call, batch: &str) -> Result<Vec<Transaction>, Stop> {
    let most = u32::try_from(crate::rules::limits::BATCH_RECIPIENTS_MAX).unwrap_or(u32::MAX);
    let mut found = find(call, &Search::first(most).is("outgoing.way.batch", batch))?;
    found.sort_by_key(|found| found.body.outgoing.as_ref().map(|outgoing| outgoing.way.place));
    Ok(found)
}
