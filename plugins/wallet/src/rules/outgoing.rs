//! Whatever takes money out of a balance, or spends gas: withdrawals, payouts in fiat, swaps, the gateway, sweeps, salvage, raw
//! transactions (spec/wallet: States and transitions).
//!
//! Owns what each command does in each status. Invariants: what a transaction needs is held before it begins; a hold ends once,
//! spent, released, or passed to the transaction that goes on from here; nothing leaves before its hash is stored, and what
//! may have left is neither cancelled nor sent as something else; a repeated command changes nothing.
//!
//! | edge | posts |
//! |---|---|
//! | (accept) → pending | available → held; the same for gas, of who pays it |
//! | pending → cancelled | held → available, gas too |
//! | processing → success | held → where it goes; what was received → available, unless a deposit has brought it; gas that was burnt → fees, the rest back |
//! | processing → failed | held → available, or outside where a deposit has brought it back; gas as above |
//! | processing → incomplete | nothing: the hold stays until a linked transaction ends it |

mod chain;
mod money;
mod news;
mod task;
#[cfg(test)]
mod tests;

pub use chain::{Linked, resume, retry};
pub use money::{Gas, accept_batch, give_gas_back, take_gas};
pub use task::{Destination, Task};

use super::amount::Units;
use super::books::Holder;
use super::code::Code;
use super::refusal::Refusal;
use super::status::Status;
use super::step::{Staged, Step};

/// What is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    pub id: String,
    pub wallet_id: String,
    /// Whose money.
    pub from: Holder,
    pub task: Task,
    /// `None`: somebody else pays for the way.
    pub gas: Option<Gas>,
    /// Only a step changes it.
    pub status: Status,
    pub hold: Hold,
    /// Of what was signed; where a provider does it, the key that it was asked with. Stored before anything is sent.
    pub hash: Option<String>,
    /// Why it failed.
    pub error_code: Option<Code>,
    /// The transaction that it goes on from.
    pub continues: Option<String>,
    pub continued_by: Option<String>,
}

/// What became of what was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Held,
    Spent,
    Released,
    /// To the transaction that goes on from here.
    Passed,
}

/// What a client or a rule wants done.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub id: String,
    pub wallet_id: String,
    pub from: Holder,
    pub task: Task,
    pub gas: Option<Gas>,
}

/// What can happen to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The service takes it up.
    Start,
    /// The client wants it no more.
    Cancel,
    /// Signed: from here on it may be sent, again and again, as these bytes and no others.
    Sign { hash: String },
    /// It is final where it went.
    Settle(Settled),
    /// It is certain that nothing went but gas. What is merely not known to have gone has not failed.
    Fail { code: Code, gas: Units },
    /// It has failed, and what had left is in the books again already, as a deposit.
    Return { code: Code, gas: Units },
    /// Nobody can say what became of it, or somebody has to do something.
    Suspend,
}

/// What a final transaction did.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Where the way has one: a bank's has not. It must be the one that was signed.
    pub hash: Option<String>,
    /// That was burnt.
    pub gas: Units,
    /// In base units of what was bought; of swaps alone.
    pub received: Option<Units>,
    /// What it brings is in the books already, as a deposit.
    pub is_credited: bool,
}

impl Hold {
    pub const ALL: [Hold; 4] = [Hold::Held, Hold::Spent, Hold::Released, Hold::Passed];

    pub fn name(self) -> &'static str {
        match self {
            Hold::Held => "held",
            Hold::Spent => "spent",
            Hold::Released => "released",
            Hold::Passed => "passed",
        }
    }

    pub fn of_name(name: &str) -> Option<Hold> {
        Hold::ALL.into_iter().find(|hold| hold.name() == name)
    }
}

impl Staged for Outgoing {
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

impl Outgoing {
    fn new(order: Order) -> Outgoing {
        Outgoing {
            id: order.id,
            wallet_id: order.wallet_id,
            from: order.from,
            task: order.task,
            gas: order.gas,
            status: Status::Pending,
            hold: Hold::Held,
            hash: None,
            error_code: None,
            continues: None,
            continued_by: None,
        }
    }

    /// A balance of ours that this transaction fills by itself. What arrives there with its hash is no deposit.
    pub fn fills(&self) -> Option<&Holder> {
        self.task.fills()
    }
}

/// A new transaction with its holds.
pub fn accept(order: Order) -> Step<Outgoing> {
    let mut step = Step::of(Outgoing::new(order));
    money::hold(&mut step);
    step
}

/// What a command makes of a transaction; the table of every status and command stands in the tests.
pub fn step(record: Outgoing, command: Command) -> Result<Step<Outgoing>, Refusal> {
    let step = Step::of(record);
    match command {
        Command::Start => start(step),
        Command::Cancel => cancel(step),
        Command::Sign { hash } => sign(step, hash),
        Command::Settle(settled) => settle(step, settled),
        Command::Fail { code, gas } => fail(step, code, |step| money::release(step, gas)),
        Command::Return { code, gas } => fail(step, code, |step| money::give_up(step, gas)),
        Command::Suspend => suspend(step),
    }
}

/// A repeat finds it begun, or already over.
fn start(mut step: Step<Outgoing>) -> Result<Step<Outgoing>, Refusal> {
    match step.record.status {
        Status::Pending => {
            step.go(Status::Processing)?;
            news::begun(&mut step);
        }
        Status::Cancelled => return Err(Refusal::NotPossible { status: Status::Cancelled }),
        _ => {}
    }
    Ok(step)
}

fn cancel(mut step: Step<Outgoing>) -> Result<Step<Outgoing>, Refusal> {
    if step.record.status == Status::Cancelled {
        return Ok(step);
    }
    // It goes on from one that may have left.
    if step.record.status == Status::Pending && step.record.hash.is_some() {
        return Err(Refusal::AlreadySent);
    }
    step.go(Status::Cancelled)?;
    money::release(&mut step, Units::ZERO);
    Ok(step)
}

fn sign(mut step: Step<Outgoing>, hash: String) -> Result<Step<Outgoing>, Refusal> {
    match &step.record.hash {
        Some(known) if *known == hash => Ok(step),
        Some(_) => Err(Refusal::AlreadySent),
        None if step.record.status == Status::Processing => {
            step.record.hash = Some(hash);
            Ok(step)
        }
        None => Err(Refusal::NotPossible { status: step.record.status }),
    }
}

fn settle(mut step: Step<Outgoing>, settled: Settled) -> Result<Step<Outgoing>, Refusal> {
    match step.record.status {
        Status::Success => return Ok(step),
        Status::Failed | Status::Cancelled => return Err(Refusal::AlreadyDecided),
        _ => {}
    }
    // Unsigned, nothing has left; signed otherwise, something else has.
    let Some(known) = &step.record.hash else { return Err(Refusal::NotPossible { status: step.record.status }) };
    if settled.hash.as_ref().is_some_and(|told| told != known) {
        return Err(Refusal::AlreadySent);
    }
    // Less than was agreed to: it is not what the client has ordered, and somebody has to look at it.
    if step.record.task.falls_short(settled.received) {
        return suspend(step);
    }
    step.go(Status::Success)?;
    money::spend(&mut step, &settled);
    news::succeeded(&mut step);
    Ok(step)
}

fn fail(
    mut step: Step<Outgoing>,
    code: Code,
    end_hold: impl FnOnce(&mut Step<Outgoing>),
) -> Result<Step<Outgoing>, Refusal> {
    match step.record.status {
        Status::Failed => return Ok(step),
        Status::Success | Status::Cancelled => return Err(Refusal::AlreadyDecided),
        _ => {}
    }
    step.go(Status::Failed)?;
    step.record.error_code = Some(code);
    end_hold(&mut step);
    news::failed(&mut step, code);
    Ok(step)
}

fn suspend(mut step: Step<Outgoing>) -> Result<Step<Outgoing>, Refusal> {
    if step.record.status != Status::Incomplete {
        step.go(Status::Incomplete)?;
    }
    Ok(step)
}
