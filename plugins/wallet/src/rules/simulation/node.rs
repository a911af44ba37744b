//! What really happens: balances of addresses, transfers that arrive and may vanish again, and signed transactions that are
//! executed once, whatever anybody believes.

use std::collections::BTreeMap;

use super::books::number;
use super::random::Random;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{Asset, GATEWAY_USDC};
use crate::rules::books::Holder;
use crate::rules::outgoing::{Outgoing, Task};

#[derive(Default)]
pub struct Node {
    balances: BTreeMap<(Holder, Asset), i128>,
    pub arrivals: Vec<Arrival>,
    /// By hash.
    pub executed: BTreeMap<String, Execution>,
}

/// A transfer from outside.
#[derive(Clone)]
pub struct Arrival {
    pub hash: String,
    pub holder: Holder,
    pub money: Money,
    pub confirmations: u32,
    pub is_lost: bool,
}

#[derive(Clone, Copy)]
pub struct Execution {
    pub succeeded: bool,
    pub gas: Units,
    pub received: Units,
}

impl Node {
    pub fn balance(&self, holder: &Holder, asset: Asset) -> i128 {
        self.balances.get(&(holder.clone(), asset)).copied().unwrap_or_default()
    }

    pub fn successes(&self) -> usize {
        self.executed.values().filter(|execution| execution.succeeded).count()
    }

    fn add(&mut self, holder: &Holder, asset: Asset, units: i128) {
        let balance = self.balances.entry((holder.clone(), asset)).or_default();
        *balance += units;
        assert!(*balance >= 0, "spent what is not there");
    }

    pub fn arrive(&mut self, hash: String, holder: Holder, money: Money) {
        self.add(&holder, money.asset, number(money.units));
        self.arrivals.push(Arrival { hash, holder, money, confirmations: 0, is_lost: false });
    }

    /// Another block; or another turn, in which a transfer that is not final yet is not contained.
    pub fn advance(&mut self, at: usize, random: &mut Random, chaos: bool) {
        let arrival = self.arrivals[at].clone();
        let last = arrival.money.asset.blockchain.unwrap().confirmations();
        let vanishes = chaos && arrival.confirmations < last && random.percent(5);
        if arrival.is_lost {
            if chaos && random.percent(10) {
                self.arrivals[at].is_lost = false;
                self.arrivals[at].confirmations = 1;
                self.add(&arrival.holder, arrival.money.asset, number(arrival.money.units));
            }
            return;
        }
        if vanishes && random.percent(50) {
            self.arrivals[at].is_lost = true;
            self.add(&arrival.holder, arrival.money.asset, -number(arrival.money.units));
        } else {
            let more = 1 + random.below(6) as u32;
            self.arrivals[at].confirmations = if vanishes { 0 } else { arrival.confirmations + more };
        }
    }

    /// The same bytes twice are the same transaction.
    pub fn execute(&mut self, record: &Outgoing, random: &mut Random) {
        let hash = record.hash.clone().unwrap();
        if self.executed.contains_key(&hash) {
            return;
        }
        let held = record.gas.as_ref().map_or(0, |gas| number(gas.held.units));
        let burnt = random.below(held as u64 + 1);
        if let Some(gas) = &record.gas {
            self.add(&gas.payer, gas.held.asset, -i128::from(burnt));
        }
        // Now and then less than the client has agreed to.
        let execution = Execution {
            succeeded: random.percent(75),
            gas: Units::new(u128::from(burnt)),
            received: Units::new(u128::from(random.below(100))),
        };
        if execution.succeeded {
            self.carry_out(record, &hash, execution.received);
        }
        self.executed.insert(hash, execution);
    }

    fn carry_out(&mut self, record: &Outgoing, hash: &str, received: Units) {
        if let Some(money) = record.task.money() {
            self.add(&record.from, money.asset, -number(money.units));
        }
        match &record.task {
            // To an address of ours: told as a deposit.
            Task::Withdraw { money, destination_address } if destination_address == "ours" => {
                self.arrive(hash.to_owned(), Holder::Address("b".into()), *money);
            }
            Task::Swap { to, .. } => match (record.fills(), &to.holder) {
                (Some(holder), _) => self.add(&holder.clone(), to.asset, number(received)),
                (None, Some(holder)) => {
                    self.arrive(format!("{hash}/arrival"), holder.clone(), Money::new(to.asset, received));
                }
                (None, None) => {}
            },
            Task::GatewayDeposit { money } => self.add(&record.from, GATEWAY_USDC, number(money.units)),
            Task::GatewayWithdraw { units, to } => {
                let holder = to.holder.clone().unwrap();
                self.add(&holder, to.asset, number(*units));
            }
            Task::Sweep { money, master: holder } | Task::Fund { money, address: holder } => {
                self.add(&holder.clone(), money.asset, number(money.units));
            }
            _ => {}
        }
    }
}
