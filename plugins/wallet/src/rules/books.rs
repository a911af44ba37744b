//! The ledger's accounts and what moves between them, as values (issue "Money": available, held, pending, fees, external).
//!
//! Double entry: each posting takes from one account what it gives to another, in one asset, so that the sum of each asset is
//! zero. Invariant: a posting is above zero; its id is made of transaction, reason, asset and debit, so
//! that none is ever made twice.
//!
//! | account | holds |
//! |---|---|
//! | available | what its holder can spend |
//! | held | promised to transactions that have not ended |
//! | pending | seen on the blockchain, not final |
//! | fees | gas that was ever paid; nothing leaves it |
//! | external | the other side: blockchains, banks, swaps, the gateway; alone below zero |

use super::amount::{Money, Units};
use super::asset::Asset;
use super::blockchain::Blockchain;
use super::refusal::Refusal;

/// Who has balances: a master wallet, or an address under it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    Wallet(String),
    Address(String),
}

impl Holder {
    pub fn name(&self) -> String {
        match self {
            Holder::Wallet(id) => ["wallet/", id].concat(),
            Holder::Address(id) => ["address/", id].concat(),
        }
    }

    /// What `name` has written.
    pub fn of_name(name: &str) -> Option<Holder> {
        match name.split_once('/')? {
            ("wallet", id) => Some(Holder::Wallet(id.to_owned())),
            ("address", id) => Some(Holder::Address(id.to_owned())),
            _ => None,
        }
    }

    /// address_id of events.
    pub fn address_id(&self) -> Option<&str> {
        match self {
            Holder::Wallet(_) => None,
            Holder::Address(id) => Some(id),
        }
    }
}

/// The other side of the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outside {
    Chain(Blockchain),
    /// Who pays fiat money out.
    Bank,
    /// Who swaps.
    Swap,
    Gateway,
}

/// An account of the ledger; it has a balance for each asset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    Available(Holder),
    Held(Holder),
    Pending(Holder),
    Fees(Blockchain),
    External(Outside),
}

impl Account {
    pub fn name(&self) -> String {
        match self {
            Account::Available(holder) => ["available/", &holder.name()].concat(),
            Account::Held(holder) => ["held/", &holder.name()].concat(),
            Account::Pending(holder) => ["pending/", &holder.name()].concat(),
            Account::Fees(blockchain) => ["fees/", blockchain.slug()].concat(),
            Account::External(Outside::Chain(blockchain)) => ["external/", blockchain.slug()].concat(),
            Account::External(Outside::Bank) => "external/bank".to_owned(),
            Account::External(Outside::Swap) => "external/swap".to_owned(),
            Account::External(Outside::Gateway) => "external/gateway".to_owned(),
        }
    }

    pub fn may_go_below_zero(&self) -> bool {
        matches!(self, Account::External(_))
    }
}

/// Why money moves. Each happens at most once to a transaction, to an asset of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// What a transaction will need is set aside.
    Hold,
    /// It has gone.
    Spend,
    /// It is free again.
    Release,
    /// What a transaction has brought.
    Receive,
    HoldGas,
    /// Gas that was burnt, of what was held.
    Gas,
    /// Gas that was burnt beyond what was held.
    GasBeyond,
    ReleaseGas,
    /// A deposit was seen.
    Detect,
    /// A deposit is final.
    Credit,
    /// A deposit has vanished.
    Drop,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Hold => "hold",
            Reason::Spend => "spend",
            Reason::Release => "release",
            Reason::Receive => "receive",
            Reason::HoldGas => "hold_gas",
            Reason::Gas => "gas",
            Reason::GasBeyond => "gas_beyond",
            Reason::ReleaseGas => "release_gas",
            Reason::Detect => "detect",
            Reason::Credit => "credit",
            Reason::Drop => "drop",
        }
    }
}

/// Takes `units` from `debit` and gives them to `credit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Of a transaction, a batch, a deposit.
    pub transaction: String,
    pub reason: Reason,
    pub debit: Account,
    pub credit: Account,
    pub asset: Asset,
    pub units: Units,
}

impl Posting {
    /// `None` where there is nothing to move.
    pub(super) fn of(
        transaction: &str,
        reason: Reason,
        money: Money,
        debit: Account,
        credit: Account,
    ) -> Option<Posting> {
        let Money { asset, units } = money;
        let transaction = transaction.to_owned();
        (!units.is_zero()).then_some(Posting { transaction, reason, debit, credit, asset, units })
    }

    /// Unique: the ledger refuses a second posting with it.
    pub fn id(&self) -> String {
        [&self.transaction, self.reason.name(), &self.asset.key(), &self.debit.name()].join("/")
    }
}

/// What a refusal of the ledger means to the caller: the account that has too little, and what was to be taken from it. Where
/// the same account was to pay money and gas, it is the money that is short.
pub fn insufficient(postings: &[Posting], account: &str) -> Refusal {
    let mut taken = postings.iter().filter(|posting| posting.debit.name() == account);
    if taken.all(|posting| posting.reason == Reason::HoldGas) {
        Refusal::InsufficientGas
    } else {
        Refusal::InsufficientBalance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::asset;

    fn posting(reason: Reason, holder: &Holder, units: u128) -> Option<Posting> {
        let money = Money::new(asset::find("USDC", Blockchain::Base).unwrap(), Units::new(units));
        Posting::of("t1", reason, money, Account::Available(holder.clone()), Account::Held(holder.clone()))
    }

    #[test]
    fn a_posting_is_named_by_all_that_makes_it_unique() {
        let posting = posting(Reason::Hold, &Holder::Address("a1".into()), 5).unwrap();
        assert_eq!(posting.id(), "t1/hold/base/USDC/available/address/a1");
        assert_eq!(posting.debit.name(), "available/address/a1");
        assert_eq!(posting.credit.name(), "held/address/a1");
    }

    #[test]
    fn nothing_is_not_posted() {
        assert_eq!(posting(Reason::Hold, &Holder::Wallet("w1".into()), 0), None);
    }

    #[test]
    fn who_lacks_money_and_who_lacks_gas_are_told_apart() {
        let (wallet, address) = (Holder::Wallet("w1".into()), Holder::Address("a1".into()));
        let postings = [posting(Reason::Hold, &address, 5), posting(Reason::HoldGas, &wallet, 5)].map(Option::unwrap);
        assert_eq!(insufficient(&postings, "available/address/a1"), Refusal::InsufficientBalance);
        assert_eq!(insufficient(&postings, "available/wallet/w1"), Refusal::InsufficientGas);
        let same = [posting(Reason::Hold, &wallet, 5), posting(Reason::HoldGas, &wallet, 5)].map(Option::unwrap);
        assert_eq!(insufficient(&same, "available/wallet/w1"), Refusal::InsufficientBalance);
    }
}
