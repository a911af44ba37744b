//! Replays the committed calls one after another on plain maps. Each must read the same values again.

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
    idempotency_records: BTreeSet<String>,
    transfers: BTreeSet<String>,
    balances: BTreeMap<String, i64>,
}

impl Replay {
    pub fn replay(&mut self, attempt: &Attempt) {
        for (op, seen) in attempt.ops.iter().zip(&attempt.seen) {
            let expected = self.apply(op, seen);
            assert_eq!(seen, &expected, "the result of {op:?} is not serialisable: {attempt:?}");
        }
        for (account, balance) in &self.balances {
            assert!(*balance >= 0 || account == BANK, "{account} holds {balance} after {attempt:?}");
        }
    }

    /// Sets the number of a record, as another program did.
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
                let owner = self.things.iter().find(|(_, thing)| title.is_some() && thing.title == *title);
                if owner.is_some_and(|(owner, _)| owner != id) {
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
            // The ledger decides whether a balance suffices. The test only requires that no balance except that of the
            // bank falls below zero.
            Op::Transfer { id, .. } if self.transfers.contains(id) => "posted before".to_owned(),
            Op::Transfer { .. } if seen == "insufficient" => seen.to_owned(),
            Op::Transfer { id, from, to, amount } => {
                self.transfers.insert(id.clone());
                *self.balances.entry(from.clone()).or_default() -= i64::from(*amount);
                *self.balances.entry(to.clone()).or_default() += i64::from(*amount);
                "posted".to_owned()
            }
            Op::IdempotencyKey { name } => {
                if self.idempotency_records.insert(name.clone()) { "new" } else { "stored" }.to_owned()
            }
            Op::Guard { .. } => String::new(),
        }
    }

    pub fn has_record(&self, name: &str) -> bool {
        self.idempotency_records.contains(name)
    }

    /// Returns (id, body) of all records, by id.
    pub fn records(&self) -> Vec<(String, String)> {
        self.things.keys().map(|id| (id.clone(), self.read(id))).collect()
    }

    pub fn idempotency_records(&self) -> Vec<String> {
        self.idempotency_records.iter().cloned().collect()
    }

    pub fn transfers(&self) -> Vec<String> {
        self.transfers.iter().cloned().collect()
    }

    /// Returns (account, amount) of all balances that are not zero.
    pub fn balances(&self) -> Vec<(String, String)> {
        let held = self.balances.iter().filter(|(_, amount)| **amount != 0);
        held.map(|(account, amount)| (account.clone(), amount.to_string())).collect()
    }
}
