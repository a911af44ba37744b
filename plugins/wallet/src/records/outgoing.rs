//! Outgoing transactions as they are stored: the record of the rules, and what was signed for it.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop};

use super::provided::Provided;
use super::sweeps::Lot;
use super::transactions::{self, About, TransactionBody};
use super::{InsertStop, Stored};
use crate::rules::amount::{Money, Units};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::Holder;
use crate::rules::code::Code;
use crate::rules::kind::Kind;
use crate::rules::outgoing::{Gas, Hold, Outgoing, Task};
use crate::wire;

/// Of what no list shows.
const HIDDEN: &str = "HIDDEN";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutgoingBody {
    #[serde(with = "wire::holder")]
    from: Holder,
    #[serde(with = "wire::TaskText")]
    task: Task,
    #[serde(with = "wire::gas_option", default)]
    gas: Option<Gas>,
    #[serde(with = "wire::hold")]
    hold: Hold,
    #[serde(with = "wire::code::option", default)]
    error_code: Option<Code>,
    continues: Option<String>,
    continued_by: Option<String>,
    pub way: Way,
}

/// How it goes on its way: what the rules need not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Way {
    #[serde(with = "wire::blockchain")]
    pub blockchain: Blockchain,
    /// Of the key that signs, and its address.
    pub index: u32,
    pub sender: String,
    /// What is signed. `None`: somebody else moves it, or it came signed.
    pub transfer: Option<Transfer>,
    /// Gas that the master wallet has promised, while the coins for it are on their way.
    #[serde(with = "wire::money_option", default)]
    pub promised: Option<Money>,
    /// Bytes as they are sent. Stored before they are.
    pub raw: Option<String>,
    /// Of bytes that came signed, until the rules take it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
    pub sequence: Option<u64>,
    /// Of the request: operation, holder, everything that it asked for.
    pub fingerprint: Option<String>,
    pub batch: Option<String>,
    /// Among the recipients of the batch.
    #[serde(default)]
    pub place: usize,
    /// Recipients of a batch are more than one call can ask about: each is looked up before it is signed.
    #[serde(default)]
    pub unscreened: bool,
    /// What follows when it has ended.
    #[serde(default)]
    pub follow: Follow,
    /// Of a settlement rule, for who made it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// What a swap was asked with: another quote is asked for in the same way.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wish: Option<Wish>,
    /// What another company moves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<Provided>,
}

/// settlement_order and slippage_tolerance as requests write them, and who gets what is bought.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wish {
    pub order: String,
    pub slippage: String,
    pub recipient: String,
}

/// One movement on a blockchain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfer {
    pub recipient: String,
    pub token: Option<String>,
    #[serde(with = "wire::units")]
    pub units: Units,
}

impl Way {
    /// `key`: its index and address.
    pub fn new(blockchain: Blockchain, (index, sender): (u32, &str), transfer: Option<Transfer>) -> Way {
        Way {
            blockchain,
            index,
            sender: sender.to_owned(),
            transfer,
            promised: None,
            raw: None,
            hash: None,
            sequence: None,
            fingerprint: None,
            batch: None,
            place: 0,
            unscreened: false,
            follow: Follow::Nothing,
            rule: None,
            wish: None,
            provider: None,
        }
    }
}

/// What waits for the end of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follow {
    #[default]
    Nothing,
    /// A sweep that needed coins for gas, or the sweep itself.
    Sweep(Lot),
    /// A transaction that the master wallet pays the gas of.
    Transaction(String),
    /// A deposit that a rule settles.
    Settlement(String),
}

/// An outgoing transaction with all that belongs to it.
#[derive(Clone, Debug)]
pub struct Out {
    pub record: Outgoing,
    pub way: Way,
    pub about: About,
    pub reference: Option<String>,
    pub created_ms: u64,
    pub updated_ms: u64,
}

impl Out {
    pub fn new(call: &Call, record: Outgoing, way: Way) -> Out {
        let (sender, transfer) = (Some(way.sender.clone()), way.transfer.clone());
        let recipient = transfer.as_ref().map(|transfer| transfer.recipient.clone());
        let about = About { sender, recipient, token: transfer.and_then(|it| it.token), ..About::default() };
        Out { record, way, about, reference: None, created_ms: call.now(), updated_ms: call.now() }
    }

    pub fn of(stored: &Stored<TransactionBody>) -> Option<Out> {
        let TransactionBody { wallet, status, hash, reference, outgoing, about, .. } = stored.body.clone();
        let OutgoingBody { from, task, gas, hold, error_code, continues, continued_by, way } = outgoing?;
        let record = Outgoing {
            id: stored.id.clone(),
            wallet_id: wallet,
            from,
            task,
            gas,
            status,
            hold,
            hash,
            error_code,
            continues,
            continued_by,
        };
        let (created_ms, updated_ms) = (stored.created_ms, stored.updated_ms);
        Some(Out { record, way, about, reference, created_ms, updated_ms })
    }

    pub fn to_stored(&self) -> Stored<TransactionBody> {
        let record = self.record.clone();
        // A number of a lane that nothing else was sent with.
        let is_filler = matches!(&record.task, Task::Fund { money, .. } if money.units.is_zero());
        let kind = Kind::of(&record.task).filter(|_| !is_filler);
        let mut way = self.way.clone();
        if let Some(provider) = way.provider.as_mut().filter(|_| record.hold != Hold::Held) {
            provider.close();
        }
        let outgoing = OutgoingBody {
            from: record.from,
            task: record.task,
            gas: record.gas,
            hold: record.hold,
            error_code: record.error_code,
            continues: record.continues,
            continued_by: record.continued_by,
            way,
        };
        let place = (record.wallet_id.as_str(), kind.map_or(HIDDEN, Kind::name), record.status);
        let mut body = TransactionBody::of_outgoing(place, outgoing, self.about.clone());
        body.listed = kind.map(|_| record.wallet_id.clone());
        body.listed_address = self.record.from.address_id().filter(|_| kind.is_some()).map(str::to_owned);
        body.hash = record.hash;
        body.symbol = self.record.task.money().map(|money| money.asset.symbol.to_owned());
        body.reference = self.reference.clone();
        Stored { id: record.id, created_ms: self.created_ms, updated_ms: self.updated_ms, body }
    }
}

pub fn load(call: &Call, id: &str) -> Result<Option<Out>, Stop> {
    Ok(transactions::load(call, id)?.as_ref().and_then(Out::of))
}

pub fn insert(call: &Call, out: &Out) -> Result<(), InsertStop> {
    transactions::insert(call, &out.to_stored())
}

pub fn save(call: &Call, out: &Out) -> Result<(), Stop> {
    transactions::save(call, &out.to_stored())
}
