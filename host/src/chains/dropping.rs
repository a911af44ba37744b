//! Detects followed transactions that no node will ever accept. Pure.
//!
//! Invariants: a transaction is not dropped while a node has it or may yet accept it. It must have been invalid for as
//! many blocks as the required confirmations. The count is not persistent and restarts with the process.

use std::{collections::HashMap, sync::Arc};

use tenon_chains::{Submission, Transaction};

use super::{events::ChainEvent, note_cache::Notes};
use crate::{
    changes::{chain::Following, scope::Scope},
    limits::CHAIN_REASON_CHARS_MAX,
};

/// Heights at which transactions first became invalid, by follower and hash.
#[derive(Default)]
pub(super) struct DropTracker(HashMap<(Scope, String), u64>);

impl DropTracker {
    /// Clears all heights after a reorganisation, which may make any transaction valid again.
    pub fn reset(&mut self) {
        self.0.clear();
    }

    /// Records the result of submitting a lost transaction again. Returns an event if it is dropped.
    pub fn record(
        &mut self,
        (scope, following): (&Scope, &Arc<Following>),
        submission: Submission,
        height: u64,
    ) -> Option<ChainEvent> {
        let key = (scope.clone(), following.hash.clone());
        let Submission::Invalid { reason } = submission else {
            self.0.remove(&key);
            return None;
        };
        let since = *self.0.entry(key).or_insert(height);
        // At least one confirmation is required, so at least two polls are needed. `retain` clears the height when a
        // node has the transaction.
        let has_held = height.saturating_sub(since) >= u64::from(following.confirmations);
        let reason = reason.chars().take(CHAIN_REASON_CHARS_MAX).collect();
        has_held.then(|| ChainEvent::Dropped { following: following.clone(), reason })
    }

    /// Keeps the heights of transactions that no node has and that are still followed.
    pub fn retain(&mut self, notes: &Notes, found: &HashMap<String, Option<Transaction>>) {
        let is_lost = |hash: &String| !matches!(found.get(hash), Some(Some(_))) && notes.followed.contains_key(hash);
        self.0.retain(|(_, hash), _| is_lost(hash));
    }
}

#[cfg(test)]
mod tests {
    use ethnum::U256;
    use tenon_chains::State;

    use super::*;
    use crate::changes::chain::ChainNote;

    fn scope() -> Scope {
        Scope::new("notes".into(), "acme/test".into()).unwrap()
    }

    /// Returns a transaction that is followed until it has three confirmations.
    fn following() -> Arc<Following> {
        Arc::new(Following {
            blockchain: "tron".into(),
            hash: "1".into(),
            confirmations: 3,
            then: "ended".into(),
            key: "k".into(),
            context: "{}".into(),
            raw: Some("raw".into()),
        })
    }

    fn notes() -> Notes {
        let mut notes = Notes::default();
        notes.put(&scope(), ChainNote::Following(Following::clone(&following())));
        notes
    }

    fn invalid() -> Submission {
        Submission::Invalid { reason: "expired".repeat(1_000) }
    }

    /// Records a submission. Returns whether the transaction is dropped.
    fn is_dropped(tracker: &mut DropTracker, submission: Submission, height: u64) -> bool {
        match tracker.record((&scope(), &following()), submission, height) {
            Some(ChainEvent::Dropped { reason, .. }) => {
                assert_eq!(reason.chars().count(), CHAIN_REASON_CHARS_MAX);
                true
            }
            Some(other) => panic!("{other:?}"),
            None => false,
        }
    }

    fn waiting() -> Transaction {
        Transaction {
            hash: "1".into(),
            sender: "T".into(),
            state: State::Waiting,
            block: None,
            confirmations: 0,
            fee: U256::ZERO,
            movements: vec![],
        }
    }

    #[test]
    fn invalid_transaction_is_dropped_after_its_confirmations() {
        let mut tracker = DropTracker::default();
        for height in [10, 11, 12] {
            assert!(!is_dropped(&mut tracker, invalid(), height));
        }
        assert!(is_dropped(&mut tracker, invalid(), 13));
        assert!(is_dropped(&mut tracker, invalid(), 14), "its report may have failed");
    }

    #[test]
    fn rejected_or_accepted_transaction_is_not_dropped() {
        let rejected = Submission::Rejected { reason: "no coins".to_owned() };
        for other in [rejected, Submission::Accepted { hash: "1".to_owned() }] {
            let mut tracker = DropTracker::default();
            is_dropped(&mut tracker, invalid(), 10);
            assert!(!is_dropped(&mut tracker, other, 100));
            assert!(!is_dropped(&mut tracker, invalid(), 101), "the count restarts");
        }
    }

    #[test]
    fn transaction_that_comes_back_is_not_dropped() {
        let mut tracker = DropTracker::default();
        is_dropped(&mut tracker, invalid(), 10);
        tracker.retain(&notes(), &[("1".to_owned(), None)].into());
        assert!(is_dropped(&mut tracker, invalid(), 13), "no node has it");
        tracker.retain(&notes(), &[("1".to_owned(), Some(waiting()))].into());
        assert!(!is_dropped(&mut tracker, invalid(), 13), "a node had it");
        tracker.reset();
        assert!(!is_dropped(&mut tracker, invalid(), 16), "the network was reorganised");
        tracker.retain(&Notes::default(), &HashMap::new());
        assert!(!is_dropped(&mut tracker, invalid(), 19), "it is not followed");
    }
}
