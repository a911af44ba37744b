//! Which followed transactions no node will ever take, and since when: pure.
//!
//! Invariant: nothing is dropped that a node has or may yet take, nor before that has held for as many blocks as confirmations were
//! asked for. Nothing is kept over a restart: the count begins anew.

use std::{collections::HashMap, sync::Arc};

use tenon_chains::{Submission, Transaction};

use super::{book::Notes, reading::Telling};
use crate::{
    changes::{chain::Following, scope::Scope},
    limits::CHAIN_REASON_CHARS_MAX,
};

/// The height at which it was refused for good, by who follows it and its hash.
#[derive(Default)]
pub(super) struct Dropping(HashMap<(Scope, String), u64>);

impl Dropping {
    /// The network has taken another turn, which may bring back anything.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// What a node says to bytes that none has.
    pub fn note(
        &mut self,
        (scope, following): (&Scope, &Arc<Following>),
        said: Submission,
        height: u64,
    ) -> Option<Telling> {
        let key = (scope.clone(), following.hash.clone());
        let Submission::Void { reason } = said else {
            self.0.remove(&key);
            return None;
        };
        let since = *self.0.entry(key).or_insert(height);
        // What is found in between is forgotten below, so there is a second look even where one confirmation is enough.
        let has_held = height.saturating_sub(since) >= u64::from(following.confirmations);
        let reason = reason.chars().take(CHAIN_REASON_CHARS_MAX).collect();
        has_held.then(|| Telling::Dropped { following: following.clone(), reason })
    }

    /// Forgets what a node has, and what nobody follows any more.
    pub fn keep(&mut self, notes: &Notes, found: &HashMap<String, Option<Transaction>>) {
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

    /// Followed until it has three confirmations.
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

    fn void() -> Submission {
        Submission::Void { reason: "expired".repeat(1_000) }
    }

    /// Whether it is told as dropped.
    fn says(dropping: &mut Dropping, said: Submission, height: u64) -> bool {
        match dropping.note((&scope(), &following()), said, height) {
            Some(Telling::Dropped { reason, .. }) => {
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
    fn what_is_refused_for_good_is_dropped_after_as_many_blocks_as_were_asked_for() {
        let mut dropping = Dropping::default();
        for height in [10, 11, 12] {
            assert!(!says(&mut dropping, void(), height));
        }
        assert!(says(&mut dropping, void(), 13));
        assert!(says(&mut dropping, void(), 14), "it could not be told before");
    }

    #[test]
    fn what_is_refused_as_things_stand_or_taken_again_is_not_dropped() {
        let refused = Submission::Refused { reason: "no coins".to_owned() };
        for other in [refused, Submission::Taken { hash: "1".to_owned() }] {
            let mut dropping = Dropping::default();
            says(&mut dropping, void(), 10);
            assert!(!says(&mut dropping, other, 100));
            assert!(!says(&mut dropping, void(), 101), "the count begins anew");
        }
    }

    #[test]
    fn what_comes_back_is_not_dropped() {
        let mut dropping = Dropping::default();
        says(&mut dropping, void(), 10);
        dropping.keep(&notes(), &[("1".to_owned(), None)].into());
        assert!(says(&mut dropping, void(), 13), "nobody has it");
        dropping.keep(&notes(), &[("1".to_owned(), Some(waiting()))].into());
        assert!(!says(&mut dropping, void(), 13), "a node had it");
        dropping.forget();
        assert!(!says(&mut dropping, void(), 16), "the network took another turn");
        dropping.keep(&Notes::default(), &HashMap::new());
        assert!(!says(&mut dropping, void(), 19), "nobody followed it");
    }
}
