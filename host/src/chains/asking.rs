//! Which transactions a network is asked about in the next look, so that no look costs as much as all that is open: pure.
//!
//! What waits for a block is asked about once for each block, what stands in one when it is deep enough; all, where the network was
//! not looked at since the start or has taken another turn.

use std::{collections::HashMap, sync::Arc};

use tenon_chains::Transaction;

use super::{book::Notes, reading::confirmations};
use crate::{
    changes::{chain::Following, scope::Scope},
    limits::CHAIN_LOST_BLOCKS,
};

pub(super) struct Asking {
    /// By hash.
    followed: HashMap<String, Asked>,
    is_blind: bool,
}

/// What was found of one that is followed.
struct Asked {
    /// At which height first and last.
    first: u64,
    last: u64,
    was_known: bool,
    /// In which it stood.
    block: Option<u64>,
}

impl Default for Asking {
    fn default() -> Asking {
        Asking { followed: HashMap::new(), is_blind: true }
    }
}

impl Asking {
    /// The network has taken another turn.
    pub fn forget(&mut self) {
        self.is_blind = true;
    }

    /// Of whatever may have changed.
    pub fn hashes(&self, notes: &Notes, height: u64) -> Vec<String> {
        let is_deep = |block, wanted: u32| self.is_blind || confirmations(block, height) >= u64::from(wanted);
        let seen = notes.seen.values().flatten().map(|(_, sighting)| sighting);
        let seen = seen.filter(|sighting| is_deep(sighting.block, sighting.confirmations));
        let followed = notes.followed.iter().filter(|(hash, followers)| match self.followed.get(*hash) {
            Some(Asked { block: Some(block), .. }) => {
                followers.iter().any(|(_, one)| is_deep(*block, one.confirmations))
            }
            Some(Asked { last, .. }) => self.is_blind || *last < height,
            None => true,
        });
        let mut hashes: Vec<String> =
            seen.map(|sighting| sighting.arrival.hash.clone()).chain(followed.map(|(hash, _)| hash.clone())).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// Whose bytes are to be given to a node again, since none has them: not those that are only on their way to one.
    pub fn lost(
        &self,
        notes: &Notes,
        found: &HashMap<String, Option<Transaction>>,
        height: u64,
    ) -> Vec<(Scope, Arc<Following>)> {
        let is_lost = |hash: &&String| {
            let asked = self.followed.get(*hash);
            let is_old = |asked: &Asked| asked.was_known || height.saturating_sub(asked.first) >= CHAIN_LOST_BLOCKS;
            matches!(found.get(*hash), Some(None)) && (self.is_blind || asked.is_some_and(is_old))
        };
        let followings = notes.followed.iter().filter(|(hash, _)| is_lost(hash)).flat_map(|(_, followers)| followers);
        followings.filter(|(_, following)| following.raw.is_some()).cloned().collect()
    }

    /// The answer to some of them.
    pub fn note(&mut self, notes: &Notes, found: &HashMap<String, Option<Transaction>>, height: u64) {
        for (hash, found) in found.iter().filter(|(hash, _)| notes.followed.contains_key(*hash)) {
            let new = || Asked { first: height, last: height, was_known: false, block: None };
            let asked = self.followed.entry(hash.clone()).or_insert_with(new);
            asked.last = height;
            asked.was_known |= found.is_some();
            // A block above the one that was read may be replaced without another turn being seen.
            asked.block = found.as_ref().and_then(|transaction| transaction.block).filter(|block| *block <= height);
        }
    }

    /// All of them have their answers.
    pub fn end(&mut self, notes: &Notes) {
        self.is_blind = false;
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

    /// A transaction that is followed until it has three confirmations.
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

    /// It waits, or stands in a block.
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

    /// One look that has found this; whether it asked, and what was lost.
    fn look(asking: &mut Asking, notes: &Notes, height: u64, found: Option<Transaction>) -> (bool, usize) {
        let asked = !asking.hashes(notes, height).is_empty();
        let found = if asked { [("0x1".to_owned(), found)].into() } else { HashMap::new() };
        let lost = asking.lost(notes, &found, height).len();
        asking.note(notes, &found, height);
        asking.end(notes);
        (asked, lost)
    }

    #[test]
    fn what_waits_is_asked_about_once_a_block_and_what_stands_when_it_is_deep_enough() {
        let (mut asking, notes) = (Asking::default(), followed());
        assert_eq!(look(&mut asking, &notes, 10, found(None)), (true, 0));
        assert_eq!(look(&mut asking, &notes, 10, found(None)), (false, 0), "no block has come");
        assert_eq!(look(&mut asking, &notes, 11, found(Some(11))), (true, 0));
        assert_eq!(look(&mut asking, &notes, 12, found(Some(11))), (false, 0), "two are not three");
        assert_eq!(look(&mut asking, &notes, 13, found(Some(11))), (true, 0));
    }

    #[test]
    fn another_turn_asks_about_all_of_them() {
        let (mut asking, notes) = (Asking::default(), followed());
        look(&mut asking, &notes, 10, found(Some(10)));
        asking.forget();
        assert_eq!(look(&mut asking, &notes, 10, None), (true, 1), "it was taken out of its block");
    }

    #[test]
    fn what_is_on_its_way_to_a_node_is_not_lost_and_what_never_came_there_is() {
        let (mut asking, notes) = (Asking::default(), followed());
        asking.end(&notes);
        assert_eq!(look(&mut asking, &notes, 10, None), (true, 0));
        assert_eq!(look(&mut asking, &notes, 11, None), (true, 0));
        assert_eq!(look(&mut asking, &notes, 10 + CHAIN_LOST_BLOCKS, None), (true, 1));
    }

    #[test]
    fn what_a_node_had_and_has_no_more_is_lost_and_so_is_what_nobody_has_after_a_start() {
        let (mut asking, notes) = (Asking::default(), followed());
        assert_eq!(look(&mut asking, &notes, 10, None), (true, 1), "the process has just begun");
        assert_eq!(look(&mut asking, &notes, 11, found(None)), (true, 0));
        assert_eq!(look(&mut asking, &notes, 12, None), (true, 1));
    }
}
