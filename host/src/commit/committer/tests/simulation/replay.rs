//! The calls that took place, one after another on plain maps: each must see what it saw.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Attempt, BANK, Op, body};

#[derive(Clone, Debug, PartialEq)]
struct Thing {
    count: u64,
    title: Option<String>,
}

/// Expected content of the file.
#[derive(Default)]
pub struct Replay {
    things: BTreeMap<String, Thing>,
    answers: BTreeSet<String>,
    transfers: BTreeSet<String>,
    balances: BTreeMap<String, i64>,
}

impl Replay {
    pub fn take(&mut self, attempt: &Attempt) {
        for (op, seen) in attempt.ops.iter().zip(&attempt.seen) {
            let expected = self.apply(op, seen);
            assert_eq!(seen, &expected, "{op:?} saw what no serial order explains: {attempt:?}");
        }
        for (account, balance) in &self.balances {
            assert!(*balance >= 0 || account == BANK, "{account} holds {balance} after {attempt:?}");
        }
    }

    /// Another program sets the number of a record.
    pub fn set(&mut self, id: &str, count: u64) {
        if let Some(thing) = self.things.get_mut(id) {
            thing.count = count;
        }
    }

    fn read(&self, id: &str) -> String {
        self.things.get(id).map_or("-".to_owned(), |thing| body(thing.count, id, thing.title.as_deref()))
    }

    fn apply(&mut self, op: &Op, seen: &str) -> String {
        match op {
            Op::Read { id } => self.read(id),
            Op::Write { id, title } => {
                let before = self.read(id);
                let holder = self.things.iter().find(|(_, thing)| title.is_some() && thing.title == *title);
                if holder.is_some_and(|(holder, _)| holder != id) {
                    return format!("{before} by-title");
                }
                let count = self.things.get(id).map_or(1, |thing| thing.count + 1);
                self.things.insert(id.clone(), Thing { count, title: title.clone() });
                before
            }
            Op::Delete { id } => {
                let before = self.read(id);
                self.things.remove(id);
                before
            }
            // The ledger decides whether a balance suffices; the test only requires that no balance falls below zero.
            Op::Transfer { id, .. } if self.transfers.contains(id) => "posted before".to_owned(),
            Op::Transfer { .. } if seen == "insufficient" => seen.to_owned(),
            Op::Transfer { id, from, to, amount } => {
                self.transfers.insert(id.clone());
                *self.balances.entry(from.clone()).or_default() -= i64::from(*amount);
                *self.balances.entry(to.clone()).or_default() += i64::from(*amount);
                "posted".to_owned()
            }
            Op::Answer { name } => if self.answers.insert(name.clone()) { "new" } else { "kept" }.to_owned(),
            Op::Guard { .. } => String::new(),
        }
    }

    pub fn has_answer(&self, name: &str) -> bool {
        self.answers.contains(name)
    }

    /// (id, body) of all records, by id.
    pub fn records(&self) -> Vec<(String, String)> {
        self.things.keys().map(|id| (id.clone(), self.read(id))).collect()
    }

    pub fn answers(&self) -> Vec<String> {
        self.answers.iter().cloned().collect()
    }

    pub fn transfers(&self) -> Vec<String> {
        self.transfers.iter().cloned().collect()
    }

    /// (account, amount) of all that are not zero.
    pub fn balances(&self) -> Vec<(String, String)> {
        let held = self.balances.iter().filter(|(_, amount)| **amount != 0);
        held.map(|(account, amount)| (account.clone(), amount.to_string())).collect()
    }
}
