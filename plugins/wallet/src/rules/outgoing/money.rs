//! The postings of each edge; the table stands above.

use std::collections::BTreeMap;

use super::{Hold, Order, Outgoing, Settled, Task};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{Asset, GATEWAY_USDC};
use crate::rules::books::{Account, Holder, Outside, Posting, Reason};
use crate::rules::refusal::Refusal;
use crate::rules::step::Step;

/// What is set aside for gas, and by whom: the master wallet, or the address itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Gas {
    pub payer: Holder,
    pub held: Money,
}

pub(super) fn hold(step: &mut Step<Outgoing>) {
    for (reason, holder, money) in needs(&step.record) {
        step.post(reason, money, Account::Available(holder.clone()), Account::Held(holder));
    }
}

/// Somebody else has promised the gas and now sends the coins for it: what was held for it is free for that.
pub fn give_gas_back(record: Outgoing) -> Step<Outgoing> {
    let mut step = Step::of(record);
    if let (Hold::Held, Some(Gas { payer, held })) = (step.record.hold, step.record.gas.take()) {
        step.post(Reason::ReleaseGas, held, Account::Held(payer.clone()), Account::Available(payer));
    }
    step
}

/// Whoever moves has the coins now, and pays for itself.
pub fn take_gas(mut record: Outgoing, held: Money) -> Step<Outgoing> {
    let payer = record.from.clone();
    let is_new = record.hold == Hold::Held && record.gas.is_none();
    if is_new {
        record.gas = Some(Gas { payer: payer.clone(), held });
    }
    let mut step = Step::of(record);
    if is_new {
        step.post(Reason::HoldGas, held, Account::Available(payer.clone()), Account::Held(payer));
    }
    step
}

/// Back to where it came from, less the gas that was burnt.
pub(super) fn release(step: &mut Step<Outgoing>, gas: Units) {
    if step.record.hold != Hold::Held {
        return;
    }
    if let Some(money) = step.record.task.money() {
        let from = step.record.from.clone();
        step.post(Reason::Release, money, Account::Held(from.clone()), Account::Available(from));
    }
    burn(step, gas);
    step.record.hold = Hold::Released;
}

/// To where a deposit has brought it back from, less the gas that was burnt.
pub(super) fn give_up(step: &mut Step<Outgoing>, gas: Units) {
    if step.record.hold != Hold::Held {
        return;
    }
    if let Some(money) = step.record.task.money() {
        let outside = money.asset.blockchain.map_or(Outside::Gateway, Outside::Chain);
        step.post(Reason::Spend, money, Account::Held(step.record.from.clone()), Account::External(outside));
    }
    burn(step, gas);
    step.record.hold = Hold::Spent;
}

/// To where it goes; and what it brings.
pub(super) fn spend(step: &mut Step<Outgoing>, settled: &Settled) {
    if step.record.hold != Hold::Held {
        return;
    }
    let task = step.record.task.clone();
    if let (Some(money), Some(sink)) = (task.money(), task.sink()) {
        step.post(Reason::Spend, money, Account::Held(step.record.from.clone()), sink);
    }
    if !settled.is_credited {
        bring(step, &task, settled.received);
    }
    burn(step, settled.gas);
    step.record.hold = Hold::Spent;
}

/// What a swap or the gateway gives for it, in another asset.
fn bring(step: &mut Step<Outgoing>, task: &Task, received: Option<Units>) {
    let from = step.record.from.clone();
    let (holder, money, source) = match task {
        Task::GatewayDeposit { money } => (Some(&from), Money::new(GATEWAY_USDC, money.units), Outside::Gateway),
        Task::Swap { to, .. } => (task.fills(), Money::new(to.asset, received.unwrap_or_default()), Outside::Swap),
        Task::GatewayWithdraw { units, to } => {
            let Some(blockchain) = to.asset.blockchain else { return };
            (task.fills(), Money::new(to.asset, *units), Outside::Chain(blockchain))
        }
        _ => return,
    };
    if let Some(holder) = holder.cloned() {
        step.post(Reason::Receive, money, Account::External(source), Account::Available(holder));
    }
}

/// Gas that was burnt goes to the fees, what is left of the hold back to who pays. A blockchain may charge more than was
/// estimated; that is paid from what its payer has.
fn burn(step: &mut Step<Outgoing>, burnt: Units) {
    let Some(Gas { payer, held }) = step.record.gas.clone() else { return };
    let Some(blockchain) = held.asset.blockchain else { return };
    let (available, aside) = (Account::Available(payer.clone()), Account::Held(payer));
    let fees = Account::Fees(blockchain);
    let money = |units| Money::new(held.asset, units);
    step.post(Reason::Gas, money(burnt.min(held.units)), aside.clone(), fees.clone());
    step.post(Reason::GasBeyond, money(burnt.saturating_sub(held.units)), available.clone(), fees);
    step.post(Reason::ReleaseGas, money(held.units.saturating_sub(burnt)), aside, available);
}

/// What a transaction needs set aside, and why.
fn needs(record: &Outgoing) -> Vec<(Reason, Holder, Money)> {
    let money = record.task.money().map(|money| (Reason::Hold, record.from.clone(), money));
    let gas = record.gas.clone().map(|gas| (Reason::HoldGas, gas.payer, gas.held));
    money.into_iter().chain(gas).collect()
}

/// One hold for all recipients of a batch; each of them ends its own part of it. All or none: the postings go together.
pub fn accept_batch(batch: &str, orders: Vec<Order>) -> Result<(Vec<Outgoing>, Vec<Posting>), Refusal> {
    let records: Vec<Outgoing> = orders.into_iter().map(Outgoing::new).collect();
    let mut sums: BTreeMap<(Reason, Holder, Asset), Units> = BTreeMap::new();
    for (reason, holder, money) in records.iter().flat_map(needs) {
        let sum = sums.entry((reason, holder, money.asset)).or_default();
        *sum = sum.checked_add(money.units).ok_or(Refusal::InsufficientBalance)?;
    }
    let postings = sums.into_iter().filter_map(|((reason, holder, asset), units)| {
        let (debit, credit) = (Account::Available(holder.clone()), Account::Held(holder));
        Posting::of(batch, reason, Money::new(asset, units), debit, credit)
    });
    Ok((records, postings.collect()))
}
