//! A deposit: seen on a blockchain, awaited, credited when it is final (spec/wallet: Receives deposits; Events).
//!
//! Invariants: what is not final cannot be spent; a deposit is credited once; a final one never goes back. Credit does not
//! wait for the sweep.
//!
//! | edge | posts |
//! |---|---|
//! | (seen) → pending → processing | external → pending |
//! | processing → success | pending → available |
//! | processing → failed | pending → external |

#[cfg(test)]
mod tests;

use super::amount::Money;
use super::blockchain::Blockchain;
use super::books::{Account, Holder, Outside, Reason};
use super::code::Code;
use super::event::Event;
use super::refusal::Refusal;
use super::status::Status;
use super::step::{Staged, Step};

/// A transfer to an address of ours, as a blockchain shows it. That no transaction of ours has made it is known
/// (`Outgoing::fills`).
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    pub blockchain: Blockchain,
    pub transaction_hash: String,
    /// Which transfer of the transaction.
    pub position: u32,
    pub money: Money,
    /// Blocks on top of it, its own included; nothing where it waits for a block.
    pub confirmations: u32,
}

/// What is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Deposit {
    /// Not the key of the sighting: a transfer that comes back after it was lost is a deposit of its own.
    pub id: String,
    pub wallet_id: String,
    pub holder: Holder,
    pub custody: Custody,
    pub sighting: Sighting,
    /// JSON of the address, as it was when the deposit was seen.
    pub metadata: Option<String>,
    /// Only a step changes it.
    pub status: Status,
}

/// Whose key the address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custody {
    Ours,
    /// A whitelisted address of somebody else: its deposits are told and never booked, since nobody here can spend them.
    Watched,
}

/// What can happen to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// So many blocks; fewer than before where the blockchain has taken another turn.
    Confirm { confirmations: u32 },
    /// It stands in no block any more and will not come back.
    Lose,
}

impl Staged for Deposit {
    fn id(&self) -> &str {
        &self.id
    }

    fn status(&self) -> Status {
        self.status
    }

    fn set_status(&mut self, status: Status) {
        self.status = status;
    }
}

impl Sighting {
    /// What the deposits of one transfer have in common.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.blockchain.slug(), self.transaction_hash, self.position)
    }
}

impl Deposit {
    /// Coins for gas come silently: they are counted, and no transaction shows them (research/wallet 5).
    pub fn is_told(&self) -> bool {
        self.sighting.money.asset.is_stablecoin()
    }
}

/// Whether a transfer is a new deposit, given the last one with its key: it is seen many times and booked once.
pub fn is_new(known: Option<&Deposit>) -> bool {
    known.is_none_or(|known| known.status == Status::Failed)
}

fn book(step: &mut Step<Deposit>, reason: Reason, debit: Account, credit: Account) {
    if step.record.custody == Custody::Ours {
        step.post(reason, step.record.sighting.money, debit, credit);
    }
}

/// A transfer that was not known. Where the blockchain needs no more blocks, it is credited at once.
pub fn detect(mut deposit: Deposit) -> Result<Step<Deposit>, Refusal> {
    deposit.status = Status::Pending;
    let mut step = Step::of(deposit);
    step.go(Status::Processing)?;
    let Deposit { holder, sighting, .. } = step.record.clone();
    let outside = Account::External(Outside::Chain(sighting.blockchain));
    book(&mut step, Reason::Detect, outside, Account::Pending(holder.clone()));
    if step.record.is_told() {
        let event = Event::deposit_processing(&step.record.wallet_id, holder.address_id(), sighting.money);
        step.tell(event);
    }
    confirm(step, sighting.confirmations)
}

/// What a command makes of a deposit.
pub fn step(record: Deposit, command: Command) -> Result<Step<Deposit>, Refusal> {
    let step = Step::of(record);
    match command {
        Command::Confirm { confirmations } => confirm(step, confirmations),
        Command::Lose => lose(step),
    }
}

fn confirm(mut step: Step<Deposit>, confirmations: u32) -> Result<Step<Deposit>, Refusal> {
    match step.record.status {
        Status::Success => return Ok(step),
        Status::Failed => return Err(Refusal::AlreadyDecided),
        _ => {}
    }
    step.record.sighting.confirmations = confirmations;
    let Deposit { wallet_id, holder, sighting, metadata, .. } = step.record.clone();
    if confirmations < sighting.blockchain.confirmations() {
        return Ok(step);
    }
    step.go(Status::Success)?;
    let pending = Account::Pending(holder.clone());
    book(&mut step, Reason::Credit, pending, Account::Available(holder.clone()));
    if step.record.is_told() {
        let hash = &sighting.transaction_hash;
        let event = Event::deposit_success(&wallet_id, holder.address_id(), sighting.money, hash);
        step.tell(event.with_metadata(metadata.as_deref()));
    }
    Ok(step)
}

fn lose(mut step: Step<Deposit>) -> Result<Step<Deposit>, Refusal> {
    match step.record.status {
        Status::Failed => return Ok(step),
        Status::Success => return Err(Refusal::AlreadyDecided),
        _ => {}
    }
    step.go(Status::Failed)?;
    let Deposit { wallet_id, holder, sighting, .. } = step.record.clone();
    let outside = Account::External(Outside::Chain(sighting.blockchain));
    book(&mut step, Reason::Drop, Account::Pending(holder.clone()), outside);
    if step.record.is_told() {
        // The nearest of the table: what was there is not there.
        let event = Event::deposit_failed(&wallet_id, holder.address_id(), Code::NotFound);
        step.tell(event);
    }
    Ok(step)
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use crate::rules::amount::Units;
    use crate::rules::asset;

    /// A hundred base units of USDC, final, at an address.
    pub fn deposit() -> Deposit {
        let blockchain = Blockchain::Base;
        let money = Money::new(asset::find("USDC", blockchain).unwrap(), Units::new(100));
        Deposit {
            id: "d".into(),
            wallet_id: "w".into(),
            holder: Holder::Address("a".into()),
            custody: Custody::Ours,
            sighting: Sighting { blockchain, transaction_hash: "0x1".into(), position: 0, money, confirmations: 12 },
            metadata: None,
            status: Status::Success,
        }
    }
}
