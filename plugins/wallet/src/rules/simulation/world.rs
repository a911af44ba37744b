//! Who does what: clients order, cancel, retry; the service starts, signs, sends, gives up; watchers tell what they see, again
//! and again. Everything that is decided may be forgotten before it is stored.

use std::collections::BTreeMap;

use super::books::Books;
use super::node::{Arrival, Node};
use super::random::Random;
use crate::rules::amount::{Money, Units};
use crate::rules::asset::{self, Asset, GATEWAY_USDC};
use crate::rules::blockchain::Blockchain::{self, Arc, Base, Polygon};
use crate::rules::books::{Holder, Posting};
use crate::rules::code::Code;
use crate::rules::compliance::Currency;
use crate::rules::deposit::{self, Custody, Deposit, Sighting};
use crate::rules::outgoing::{self, Command, Destination, Gas, Order, Outgoing, Settled, Task};
use crate::rules::status::Status;
use crate::rules::step::Step;

pub struct World {
    random: Random,
    /// What is decided may be forgotten, blockchains take other turns, clients go on ordering.
    chaos: bool,
    pub node: Node,
    pub books: Books,
    pub records: BTreeMap<String, Outgoing>,
    /// By what their sightings have in common: the last one.
    pub deposits: BTreeMap<String, Deposit>,
    /// Deposits that have failed; some of them came back.
    pub lost: usize,
    pub events: Vec<&'static str>,
    made: usize,
    /// Of all records, and of those that have not come to rest.
    ids: Vec<String>,
    live: Vec<String>,
}

/// No edge leads on, and nobody has to go on from here.
pub fn is_over(record: &Outgoing) -> bool {
    record.status.is_final() && (record.status != Status::Incomplete || record.continued_by.is_some())
}

fn holders() -> [Holder; 3] {
    [Holder::Wallet("w".into()), Holder::Address("a".into()), Holder::Address("b".into())]
}

fn coin(symbol: &str, blockchain: Blockchain) -> Asset {
    asset::find(symbol, blockchain).unwrap()
}

impl World {
    pub fn run(seed: u64, turns: usize) -> World {
        let random = Random::seeded(seed);
        let (node, books) = (Node::default(), Books::default());
        let (records, deposits) = (BTreeMap::new(), BTreeMap::new());
        let mut world = World {
            random,
            chaos: true,
            node,
            books,
            records,
            deposits,
            events: Vec::new(),
            lost: 0,
            made: 0,
            ids: Vec::new(),
            live: Vec::new(),
        };
        for _ in 0..turns {
            world.turn();
        }
        world.chaos = false;
        while !world.has_come_to_rest() {
            (0..100).for_each(|_| world.turn());
        }
        world
    }

    fn has_come_to_rest(&self) -> bool {
        let told = |deposit: &Deposit| deposit.status.is_final();
        self.deposits.len() == self.node.arrivals.len()
            && self.deposits.values().all(told)
            && self.records.values().all(is_over)
    }

    fn turn(&mut self) {
        match self.random.below(100) {
            0..4 if self.chaos => self.pay_in(),
            4..20 if self.chaos => self.order(),
            20..25 if self.chaos => self.order_batch(),
            25..40 if self.chaos => self.change_mind(),
            40..50 => self.go_on(),
            50..70 => self.watch(),
            70..90 => self.work(),
            _ => self.report(),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{:05}", self.made)
    }

    /// In one commit, or not at all.
    fn store(&mut self, steps: Vec<Outgoing>, postings: &[Posting], events: Vec<&'static str>) {
        if self.chaos && self.random.percent(15) {
            return;
        }
        if self.books.post(postings).is_err() {
            return;
        }
        for record in steps {
            if self.records.insert(record.id.clone(), record.clone()).is_none() {
                self.ids.push(record.id.clone());
                self.live.push(record.id);
            }
        }
        self.events.extend(events);
    }

    fn take(&mut self, step: Step<Outgoing>) {
        assert!(step.moves.iter().all(|(from, to)| from.may_become(*to)));
        let events = step.events.iter().map(|event| event.name).collect();
        self.store(vec![step.record], &step.postings, events);
    }

    fn command(&mut self, id: &str, command: Command) {
        if let Ok(step) = outgoing::step(self.records[id].clone(), command) {
            self.take(step);
        }
    }

    /// Somebody outside sends something.
    fn pay_in(&mut self) {
        let assets = [
            coin("USDC", Base),
            coin("DAI", Base),
            coin("ETH", Base),
            coin("USDC", Polygon),
            coin("POL", Polygon),
            coin("USDC", Arc),
        ];
        let money =
            Money::new(self.random.one_of(&assets).unwrap(), Units::new(1 + u128::from(self.random.below(100_000))));
        let (hash, holder) = (self.name("in"), self.random.one_of(&holders()).unwrap());
        self.node.arrive(hash, holder, money);
    }

    fn order(&mut self) {
        let id = self.name("t");
        if let Some(order) = self.make_order(id) {
            self.take(outgoing::accept(order));
        }
    }

    fn order_batch(&mut self) {
        let batch = self.name("b");
        let orders: Vec<Order> = (0..3).filter_map(|at| self.make_order(format!("{batch}-{at}"))).collect();
        if let Ok((records, postings)) = outgoing::accept_batch(&batch, orders) {
            self.store(records, &postings, Vec::new());
        }
    }

    /// Of what is there, or a little more.
    fn make_order(&mut self, id: String) -> Option<Order> {
        let [wallet, address, other] = holders();
        let from = self.random.one_of(&[wallet.clone(), address.clone(), other])?;
        let task = self.random.below(9);
        let asset = match task {
            3 => coin("USDC", Base),
            4 | 7 | 8 => GATEWAY_USDC,
            6 => coin("ETH", Base),
            _ => self.random.one_of(&[coin("USDC", Base), coin("USDC", Arc), coin("DAI", Base)])?,
        };
        let from = if task == 6 { wallet.clone() } else { from };
        let units = Units::new(u128::from(1 + self.random.below(self.books.available(&from, asset) / 3 + 5)));
        let money = Money::new(asset, units);
        let place = self.random.one_of(&[coin("DAI", Base), coin("USDC", Polygon)])?;
        let holder = self.random.one_of(&[None, Some(wallet.clone()), Some(address.clone())])?;
        let task = match task {
            0 => Task::Withdraw { money, destination_address: self.random.one_of(&["0x2", "ours"])?.into() },
            1 => Task::Offramp { money, currency: Currency::Ngn, institution_identifier: "OPAYNGPC".into() },
            2 => Task::Swap {
                money,
                to: Destination { asset: place, holder },
                at_least: Units::new(10),
                settled: self.random.percent(50),
            },
            3 => Task::GatewayDeposit { money },
            4 | 7 | 8 => Task::GatewayWithdraw {
                units,
                to: Destination { asset: coin("USDC", Base), holder: Some(wallet.clone()) },
            },
            5 if from != wallet => Task::Sweep { money, master: wallet.clone() },
            _ => Task::Fund { money, address },
        };
        let blockchain = asset.blockchain.unwrap_or(Base);
        let payer = self.random.one_of(&[wallet, from.clone()])?;
        let held = Money::new(asset::gas(blockchain), Units::new(u128::from(self.random.below(10))));
        Some(Order { id, wallet_id: "w".into(), from, task, gas: Some(Gas { payer, held }) })
    }

    /// One that something can still happen to, or now and then one that is over.
    fn any_record(&mut self) -> Option<Outgoing> {
        let records = &self.records;
        self.live.retain(|id| !is_over(&records[id]));
        let live = if self.random.percent(80) { self.random.one_of(&self.live) } else { None };
        let id = live.or_else(|| self.random.one_of(&self.ids))?;
        Some(self.records[&id].clone())
    }

    /// Clients call back what has not begun; the service gives up waiting, or cannot sign.
    fn change_mind(&mut self) {
        let Some(record) = self.any_record() else { return };
        let command = match self.random.below(3) {
            0 => Command::Cancel,
            1 => Command::Suspend,
            _ if record.hash.is_none() => Command::Fail { code: Code::WithdrawalFailed, gas: Units::ZERO },
            _ => return,
        };
        self.command(&record.id, command);
    }

    /// Retries what has failed, resumes what is incomplete.
    fn go_on(&mut self) {
        let Some(record) = self.any_record() else { return };
        let id = self.name("t");
        let linked = match record.status {
            Status::Failed if self.chaos && self.random.percent(30) => outgoing::retry(record, id),
            Status::Incomplete => outgoing::resume(record, id),
            _ => return,
        };
        if let Ok(linked) = linked {
            let postings = linked.new.postings.clone();
            self.store(vec![linked.old, linked.new.record], &postings, Vec::new());
        }
    }

    /// Takes up, signs, sends what is signed and stored.
    fn work(&mut self) {
        let Some(record) = self.any_record() else { return };
        match record.status {
            Status::Pending => self.command(&record.id, Command::Start),
            Status::Processing if record.hash.is_none() => {
                let hash = format!("hash-{}", record.id);
                self.command(&record.id, Command::Sign { hash });
            }
            Status::Processing => self.node.execute(&record, &mut self.random),
            _ => {}
        }
    }

    /// What became of a hash, told to who owns it now.
    fn report(&mut self) {
        let Some(record) = self.any_record() else { return };
        let Some(hash) = record.hash.clone() else { return };
        let Some(execution) = self.node.executed.get(&hash).copied() else { return };
        let command = if execution.succeeded {
            Command::Settle(Settled {
                hash: Some(hash),
                gas: execution.gas,
                received: Some(execution.received),
                is_credited: false,
            })
        } else {
            Command::Fail { code: record.task.failure(), gas: execution.gas }
        };
        self.command(&record.id, command);
    }

    /// Another block, and what a watcher makes of it.
    fn watch(&mut self) {
        if self.node.arrivals.is_empty() {
            return;
        }
        let at = self.random.below(self.node.arrivals.len() as u64) as usize;
        self.node.advance(at, &mut self.random, self.chaos);
        let arrival = self.node.arrivals[at].clone();
        let sighting = Sighting {
            blockchain: arrival.money.asset.blockchain.unwrap(),
            transaction_hash: arrival.hash.clone(),
            position: 0,
            money: arrival.money,
            confirmations: arrival.confirmations,
        };
        let key = sighting.key();
        let known = self.deposits.get(&key).cloned();
        let step = match known {
            Some(known) if arrival.is_lost => deposit::step(known, deposit::Command::Lose),
            Some(known) if !deposit::is_new(Some(&known)) => {
                deposit::step(known, deposit::Command::Confirm { confirmations: sighting.confirmations })
            }
            _ => deposit::detect(self.make_deposit(arrival, sighting)),
        };
        let Ok(step) = step else { return };
        if self.chaos && self.random.percent(15) {
            return;
        }
        self.books.post(&step.postings).unwrap();
        self.events.extend(step.events.iter().map(|event| event.name));
        self.lost += usize::from(step.moves.iter().any(|(_, to)| *to == Status::Failed));
        self.deposits.insert(key, step.record);
    }

    fn make_deposit(&mut self, arrival: Arrival, sighting: Sighting) -> Deposit {
        let confirmations = if arrival.is_lost { 0 } else { sighting.confirmations };
        Deposit {
            id: self.name("d"),
            wallet_id: "w".into(),
            holder: arrival.holder,
            custody: Custody::Ours,
            sighting: Sighting { confirmations, ..sighting },
            metadata: None,
            status: Status::Pending,
        }
    }
}
