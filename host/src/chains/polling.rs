//! Selects the transactions that a poll looks up, instead of all open transactions. Pure.
//!
//! A waiting transaction is looked up once per block. An included transaction is looked up when it has its
//! confirmations. All transactions are looked up in the first poll after a start and after a reorganisation.

use std::{collections::HashMap, sync::Arc};

use tenon_chains::Transaction;

use super::{events::confirmations, note_cache::Notes};
use crate::{
    changes::{chain::Following, scope::Scope},
    limits::CHAIN_LOST_BLOCKS,
};

pub(super) struct PollSchedule {
    /// Followed transactions by hash.
    followed: HashMap<String, PollState>,
    polls_all: bool,
}

/// Lookup results of a followed transaction.
struct PollState {
    /// Height of the first lookup.
    first: u64,
    /// Height of the last lookup.
    last: u64,
    was_known: bool,
    /// Its block at the last lookup.
    block: Option<u64>,
}

impl Default for PollSchedule {
    fn default() -> PollSchedule {
        PollSchedule { followed: HashMap::new(), polls_all: true }
    }
}

impl PollSchedule {
    /// Makes the next poll look up all transactions, after a reorganisation.
    pub fn reset(&mut self) {
        self.polls_all = true;
    }

    /// Returns the hashes of transactions that may have changed.
    pub fn due_hashes(&self, notes: &Notes, height: u64) -> Vec<String> {
        let is_deep = |block, required: u32| self.polls_all || confirmations(block, height) >= u64::from(required);
        let seen = notes.seen.values().flatten().map(|(_, sighting)| sighting);
        let seen = seen.filter(|sighting| is_deep(sighting.block, sighting.confirmations));
        let followed = notes.followed.iter().filter(|(hash, followers)| match self.followed.get(*hash) {
            Some(PollState { block: Some(block), .. }) => {
                followers.iter().any(|(_, following)| is_deep(*block, following.confirmations))
            }
            Some(PollState { last, .. }) => self.polls_all || *last < height,
            None => true,
        });
        let mut hashes: Vec<String> =
            seen.map(|sighting| sighting.arrival.hash.clone()).chain(followed.map(|(hash, _)| hash.clone())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// Returns the transactions to submit again because no node has them. Excludes those whose signed form is not
    /// stored and, unless this poll looks up all transactions, those that may still be in transit to a node.
    pub fn lost(
        &self,
        notes: &Notes,
        found: &HashMap<String, Option<Transaction>>,
        height: u64,
    ) -> Vec<(Scope, Arc<Following>)> {
        let is_lost = |hash: &&String| {
            let state = self.followed.get(*hash);
            let is_old = |state: &PollState| state.was_known || height.saturating_sub(state.first) >= CHAIN_LOST_BLOCKS;
            matches!(found.get(*hash), Some(None)) && (self.polls_all || state.is_some_and(is_old))
        };
        let followings = notes.followed.iter().filter(|(hash, _)| is_lost(hash)).flat_map(|(_, followers)| followers);
        followings.filter(|(_, following)| following.raw.is_some()).cloned().collect()
    }

    /// Records lookup results.
    pub fn record(&mut self, notes: &Notes, found: &HashMap<String, Option<Transaction>>, height: u64) {
        for (hash, found) in found.iter().filter(|(hash, _)| notes.followed.contains_key(*hash)) {
            let new = || PollState { first: height, last: height, was_known: false, block: None };
            let state = self.followed.entry(hash.clone()).or_insert_with(new);
            state.last = height;
            state.was_known |= found.is_some();
            // Ignores a block above the read height: its replacement would not be detected as a reorganisation.
            state.block = found.as_ref().and_then(|transaction| transaction.block).filter(|block| *block <= height);
        }
    }

    /// Completes a poll: all due lookups were recorded.
    pub fn finish(&mut self, notes: &Notes) {
        self.polls_all = false;
        if self.followed.len() > 2 * notes.followed.len() {
            self.followed.retain(|hash, _| notes.followed.contains_key(hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use ethnum::U256;
    use tenon_chains::State;

    use super::*;
    use crate::changes::chain::ChainNote;

    /// Returns notes with a transaction that is followed until it has three confirmations.
    fn followed() -> Notes {
        let mut notes = Notes::default();
        let following = Following {
            blockchain: "base".into(),
            hash: "0x1".into(),
            confirmations: 3,
            then: "ended".into(),
            key: "k".into(),
            context: "{}".into(),
            raw: Some("0xraw".into()),
        };
        notes.put(&Scope::new("notes".into(), "acme/test".into()).unwrap(), ChainNote::Following(following));
        notes
    }

    /// Returns a lookup result: a waiting transaction, or one in a block.
    fn found(block: Option<u64>) -> Option<Transaction> {
        Some(Transaction {
            hash: "0x1".into(),
            sender: "0xSender".into(),
            state: if block.is_some() { State::Done } else { State::Waiting },
            block,
            confirmations: 1,
            fee: U256::ZERO,
            movements: vec![],
        })
    }

    /// Runs one poll whose lookup returns `found`. Returns whether it made a lookup, and the number of lost
    /// transactions.
    fn poll(schedule: &mut PollSchedule, notes: &Notes, height: u64, found: Option<Transaction>) -> (bool, usize) {
        let is_due = !schedule.due_hashes(notes, height).is_empty();
        let found = if is_due { [("0x1".to_owned(), found)].into() } else { HashMap::new() };
        let lost = schedule.lost(notes, &found, height).len();
        schedule.record(notes, &found, height);
        schedule.finish(notes);
        (is_due, lost)
    }

    #[test]
    fn waiting_transaction_is_due_each_block_and_included_one_with_its_confirmations() {
        let (mut schedule, notes) = (PollSchedule::default(), followed());
        assert_eq!(poll(&mut schedule, &notes, 10, found(None)), (true, 0));
        assert_eq!(poll(&mut schedule, &notes, 10, found(None)), (false, 0), "no block has come");
        assert_eq!(poll(&mut schedule, &notes, 11, found(Some(11))), (true, 0));
        assert_eq!(poll(&mut schedule, &notes, 12, found(Some(11))), (false, 0), "two confirmations of three");
        assert_eq!(poll(&mut schedule, &notes, 13, found(Some(11))), (true, 0));
    }

    #[test]
    fn reorganisation_makes_all_transactions_due() {
        let (mut schedule, notes) = (PollSchedule::default(), followed());
        poll(&mut schedule, &notes, 10, found(Some(10)));
        schedule.reset();
        assert_eq!(poll(&mut schedule, &notes, 10, None), (true, 1), "its block was replaced");
    }

    #[test]
    fn unseen_transaction_is_lost_only_after_some_blocks() {
        let (mut schedule, notes) = (PollSchedule::default(), followed());
        schedule.finish(&notes);
        assert_eq!(poll(&mut schedule, &notes, 10, None), (true, 0));
        assert_eq!(poll(&mut schedule, &notes, 11, None), (true, 0));
        assert_eq!(poll(&mut schedule, &notes, 10 + CHAIN_LOST_BLOCKS, None), (true, 1));
    }

    #[test]
    fn transaction_is_lost_if_a_node_had_it_or_after_a_start() {
        let (mut schedule, notes) = (PollSchedule::default(), followed());
        assert_eq!(poll(&mut schedule, &notes, 10, None), (true, 1), "the process has just started");
        assert_eq!(poll(&mut schedule, &notes, 11, found(None)), (true, 0));
        assert_eq!(poll(&mut schedule, &notes, 12, None), (true, 1));
    }
}
