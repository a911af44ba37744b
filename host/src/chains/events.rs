//! Derives events from blocks and transactions for the notes in the cache. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use tenon_chains::{Movement, State, Transaction, Transfer};

use super::note_cache::Notes;
use super::service::digits;
use crate::changes::{
    chain::{Arrival, Following, Sighting},
    scope::Scope,
};

/// An event that is reported to a plugin.
#[derive(Clone, Debug)]
pub(super) enum ChainEvent {
    /// The transfer is in a block, or in a different block than before.
    Seen { sighting: Sighting, confirmations: u64 },
    /// The transfer has its confirmations.
    Final { sighting: Sighting, confirmations: u64 },
    /// The transfer is no longer in a block.
    Gone { sighting: Arc<Sighting> },
    /// A followed transaction has its confirmations.
    Ended { following: Arc<Following>, transaction: Box<Transaction> },
    /// A followed transaction will never be in a block.
    Dropped {
        following: Arc<Following>,
        /// The reason that the node returned.
        reason: String,
    },
}

/// Returns events for the transfers to watched addresses that have not been seen yet.
pub(super) fn arrivals(
    blockchain: &str,
    notes: &Notes,
    transfers: &[Transfer],
    height: u64,
) -> Vec<(Scope, ChainEvent)> {
    let mut events = Vec::new();
    for Transfer { position, hash, movement } in transfers {
        for (scope, watch) in notes.watched.get(&movement.recipient).into_iter().flatten() {
            let arrival = arrival(blockchain, hash, movement);
            let known = notes.seen.get(&arrival.key());
            if known.is_some_and(|known| known.iter().any(|(owner, _)| owner == scope)) {
                continue;
            }
            let sighting = Sighting {
                arrival,
                block: position.height,
                confirmations: watch.confirmations,
                then: watch.then.clone(),
                context: watch.context.clone(),
            };
            events.push((scope.clone(), included(sighting, confirmations(position.height, height))));
        }
    }
    events
}

/// Returns events for the progress of seen transfers and followed transactions.
///
/// `found` has the results of lookups by hash. Transactions without a lookup are skipped.
pub(super) fn progress(
    notes: &Notes,
    found: &HashMap<String, Option<Transaction>>,
    height: u64,
) -> Vec<(Scope, ChainEvent)> {
    let mut events = Vec::new();
    for (scope, sighting) in notes.seen.values().flatten() {
        let Some(found) = found.get(&sighting.arrival.hash) else { continue };
        events.extend(sighted(sighting, found.as_ref(), height).map(|event| (scope.clone(), event)));
    }
    for (hash, followers) in &notes.followed {
        let Some(Some(transaction)) = found.get(hash) else { continue };
        for (scope, following) in followers {
            let ended =
                transaction.state != State::Waiting && transaction.confirmations >= u64::from(following.confirmations);
            if ended {
                let (following, transaction) = (following.clone(), Box::new(transaction.clone()));
                events.push((scope.clone(), ChainEvent::Ended { following, transaction }));
            }
        }
    }
    events
}

fn sighted(sighting: &Arc<Sighting>, found: Option<&Transaction>, height: u64) -> Option<ChainEvent> {
    let included_in = found.filter(|transaction| transaction.state == State::Done).and_then(|transaction| {
        let at = transaction.movements.iter().find(|movement| movement.position == sighting.arrival.position)?;
        (arrival(&sighting.arrival.blockchain, &transaction.hash, at) == sighting.arrival).then_some(transaction.block?)
    });
    let Some(block) = included_in else { return Some(ChainEvent::Gone { sighting: sighting.clone() }) };
    let confirmations = confirmations(block, height);
    let has_moved = block != sighting.block;
    (has_moved || confirmations >= u64::from(sighting.confirmations))
        .then(|| included(Sighting { block, ..Sighting::clone(sighting) }, confirmations))
}

fn included(sighting: Sighting, confirmations: u64) -> ChainEvent {
    if confirmations >= u64::from(sighting.confirmations) {
        ChainEvent::Final { sighting, confirmations }
    } else {
        ChainEvent::Seen { sighting, confirmations }
    }
}

/// Counts the confirmations of a block. The block itself is the first.
pub(super) fn confirmations(block: u64, height: u64) -> u64 {
    height.saturating_sub(block).saturating_add(1)
}

fn arrival(blockchain: &str, hash: &str, movement: &Movement) -> Arrival {
    Arrival {
        blockchain: blockchain.to_owned(),
        address: movement.recipient.clone(),
        hash: hash.to_owned(),
        position: movement.position,
        sender: movement.sender.clone(),
        token: movement.token.clone(),
        amount: digits(movement.amount),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethnum::U256;
    use tenon_chains::BlockPosition;

    use crate::changes::chain::{ChainNote, Watch};

    const OWNER: &str = "0xOwner";

    fn scope() -> Scope {
        Scope::new("notes".into(), "acme/test".into()).unwrap()
    }

    /// Returns notes with a watch of the address that requires three confirmations.
    fn notes() -> Notes {
        let mut notes = Notes::default();
        let watch = Watch {
            blockchain: "base".into(),
            address: OWNER.into(),
            confirmations: 3,
            then: "arrived".into(),
            context: "{}".into(),
        };
        notes.put(&scope(), ChainNote::Watch(watch));
        notes
    }

    fn follow(notes: &mut Notes) {
        let following = Following {
            blockchain: "base".into(),
            hash: "0x1".into(),
            confirmations: 3,
            then: "ended".into(),
            key: "k".into(),
            context: "{}".into(),
            raw: None,
        };
        notes.put(&scope(), ChainNote::Following(following));
    }

    fn movement(recipient: &str) -> Movement {
        Movement {
            position: 0,
            sender: "0xSender".into(),
            recipient: recipient.into(),
            token: None,
            amount: U256::from(7_u8),
        }
    }

    fn transfer(recipient: &str, height: u64) -> Transfer {
        Transfer { position: BlockPosition { height, index: 0 }, hash: "0x1".into(), movement: movement(recipient) }
    }

    fn transaction(block: u64, height: u64) -> Transaction {
        Transaction {
            hash: "0x1".into(),
            sender: "0xSender".into(),
            state: State::Done,
            block: Some(block),
            confirmations: height - block + 1,
            fee: U256::from(1_u8),
            movements: vec![movement(OWNER)],
        }
    }

    fn describe(events: &[(Scope, ChainEvent)]) -> Vec<String> {
        let text = |event: &ChainEvent| match event {
            ChainEvent::Seen { sighting, confirmations } => format!("seen {} {confirmations}", sighting.block),
            ChainEvent::Final { sighting, confirmations } => format!("final {} {confirmations}", sighting.block),
            ChainEvent::Gone { sighting } => format!("gone {}", sighting.block),
            ChainEvent::Ended { transaction, .. } => format!("{:?} {}", transaction.state, transaction.confirmations),
            ChainEvent::Dropped { reason, .. } => format!("dropped {reason}"),
        };
        events.iter().map(|(_, event)| text(event)).collect()
    }

    /// Stores the sightings of reported events, like the watcher.
    fn store(notes: &mut Notes, events: &[(Scope, ChainEvent)]) {
        for (owner, event) in events {
            if let ChainEvent::Seen { sighting, .. } = event {
                notes.put(owner, ChainNote::Sighting(sighting.clone()));
            }
        }
    }

    fn found(transaction: Option<Transaction>) -> HashMap<String, Option<Transaction>> {
        [("0x1".to_owned(), transaction)].into()
    }

    #[test]
    fn transfer_is_seen_once_and_final_with_its_confirmations() {
        let mut notes = notes();
        let events = arrivals("base", &notes, &[transfer(OWNER, 10), transfer("0xOther", 10)], 10);
        assert_eq!(describe(&events), ["seen 10 1"]);
        store(&mut notes, &events);
        assert!(arrivals("base", &notes, &[transfer(OWNER, 10)], 10).is_empty(), "already seen");
        assert!(progress(&notes, &found(Some(transaction(10, 11))), 11).is_empty(), "two confirmations of three");
        assert_eq!(describe(&progress(&notes, &found(Some(transaction(10, 12))), 12)), ["final 10 3"]);
    }

    #[test]
    fn transfer_read_late_is_final_at_once() {
        assert_eq!(describe(&arrivals("base", &notes(), &[transfer(OWNER, 10)], 40)), ["final 10 31"]);
    }

    #[test]
    fn transfer_in_another_block_is_seen_again_and_in_none_is_gone() {
        let mut notes = notes();
        let events = arrivals("base", &notes, &[transfer(OWNER, 10)], 10);
        store(&mut notes, &events);
        assert_eq!(describe(&progress(&notes, &found(Some(transaction(11, 11))), 11)), ["seen 11 1"]);
        let waiting = Transaction { state: State::Waiting, block: None, movements: vec![], ..transaction(11, 11) };
        let other = Transaction { movements: vec![movement("0xOther")], ..transaction(11, 11) };
        for lost in [None, Some(waiting), Some(other)] {
            assert_eq!(describe(&progress(&notes, &found(lost), 11)), ["gone 10"]);
        }
    }

    #[test]
    fn followed_transaction_ends_with_its_confirmations_even_if_it_failed() {
        let mut notes = notes();
        follow(&mut notes);
        assert!(progress(&notes, &found(Some(transaction(10, 11))), 11).is_empty());
        let failed = Transaction { state: State::Failed, movements: vec![], ..transaction(10, 12) };
        assert_eq!(describe(&progress(&notes, &found(Some(failed)), 12)), ["Failed 3"]);
        assert_eq!(describe(&progress(&notes, &found(Some(transaction(10, 12))), 12)), ["Done 3"]);
        assert!(progress(&notes, &HashMap::new(), 12).is_empty(), "no lookup");
    }
}
