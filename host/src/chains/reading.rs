//! What blocks and transactions mean for what is in the book: pure.

use std::collections::HashMap;
use std::sync::Arc;

use tenon_chains::{Movement, State, Transaction, Transfer};

use super::book::Notes;
use super::service::digits;
use crate::changes::{
    chain::{Arrival, Following, Sighting},
    scope::Scope,
};

/// What a plugin is told.
#[derive(Clone, Debug)]
pub(super) enum Telling {
    /// It stands in a block, or in another one than before.
    Seen {
        sighting: Sighting,
        confirmations: u64,
    },
    Final {
        sighting: Sighting,
        confirmations: u64,
    },
    /// It stands in no block any more.
    Gone {
        sighting: Arc<Sighting>,
    },
    /// A transaction has come to its end.
    Ended {
        following: Arc<Following>,
        transaction: Box<Transaction>,
    },
    /// It will never stand in a block.
    Dropped {
        following: Arc<Following>,
        /// The node's.
        reason: String,
    },
}

/// What arrived, of transfers that stand in blocks, as far as it is not known yet.
pub(super) fn arrivals(blockchain: &str, notes: &Notes, transfers: &[Transfer], height: u64) -> Vec<(Scope, Telling)> {
    let mut told = Vec::new();
    for Transfer { place, hash, movement } in transfers {
        for (scope, watch) in notes.watched.get(&movement.recipient).into_iter().flatten() {
            let arrival = arrival(blockchain, hash, movement);
            let known = notes.seen.get(&arrival.place());
            if known.is_some_and(|known| known.iter().any(|(owner, _)| owner == scope)) {
                continue;
            }
            let sighting = Sighting {
                arrival,
                block: place.height,
                confirmations: watch.confirmations,
                then: watch.then.clone(),
                context: watch.context.clone(),
            };
            told.push((scope.clone(), standing(sighting, confirmations(place.height, height))));
        }
    }
    told
}

/// What has become of what was seen and what is followed. `found`: by hash; what was not asked about is left alone.
pub(super) fn progress(
    notes: &Notes,
    found: &HashMap<String, Option<Transaction>>,
    height: u64,
) -> Vec<(Scope, Telling)> {
    let mut told = Vec::new();
    for (scope, sighting) in notes.seen.values().flatten() {
        let Some(found) = found.get(&sighting.arrival.hash) else { continue };
        told.extend(sighted(sighting, found.as_ref(), height).map(|telling| (scope.clone(), telling)));
    }
    for (hash, followers) in &notes.followed {
        let Some(Some(transaction)) = found.get(hash) else { continue };
        for (scope, following) in followers {
            let ended =
                transaction.state != State::Waiting && transaction.confirmations >= u64::from(following.confirmations);
            if ended {
                let (following, transaction) = (following.clone(), Box::new(transaction.clone()));
                told.push((scope.clone(), Telling::Ended { following, transaction }));
            }
        }
    }
    told
}

fn sighted(sighting: &Arc<Sighting>, found: Option<&Transaction>, height: u64) -> Option<Telling> {
    let standing_at = found.filter(|transaction| transaction.state == State::Done).and_then(|transaction| {
        let at = transaction.movements.iter().find(|movement| movement.position == sighting.arrival.position)?;
        (arrival(&sighting.arrival.blockchain, &transaction.hash, at) == sighting.arrival).then_some(transaction.block?)
    });
    let Some(block) = standing_at else { return Some(Telling::Gone { sighting: sighting.clone() }) };
    let confirmations = confirmations(block, height);
    let has_moved = block != sighting.block;
    (has_moved || confirmations >= u64::from(sighting.confirmations))
        .then(|| standing(Sighting { block, ..Sighting::clone(sighting) }, confirmations))
}

fn standing(sighting: Sighting, confirmations: u64) -> Telling {
    if confirmations >= u64::from(sighting.confirmations) {
        Telling::Final { sighting, confirmations }
    } else {
        Telling::Seen { sighting, confirmations }
    }
}

/// Its own block counts.
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
    use tenon_chains::Place;

    use crate::changes::chain::{ChainNote, Watch};

    const OWNER: &str = "0xOwner";

    fn scope() -> Scope {
        Scope::new("notes".into(), "acme/test".into()).unwrap()
    }

    /// Somebody watches the address, and calls three confirmations final.
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
        Transfer { place: Place { height, index: 0 }, hash: "0x1".into(), movement: movement(recipient) }
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

    fn words(told: &[(Scope, Telling)]) -> Vec<String> {
        let word = |telling: &Telling| match telling {
            Telling::Seen { sighting, confirmations } => format!("seen {} {confirmations}", sighting.block),
            Telling::Final { sighting, confirmations } => format!("final {} {confirmations}", sighting.block),
            Telling::Gone { sighting } => format!("gone {}", sighting.block),
            Telling::Ended { transaction, .. } => format!("{:?} {}", transaction.state, transaction.confirmations),
            Telling::Dropped { reason, .. } => format!("dropped {reason}"),
        };
        told.iter().map(|(_, telling)| word(telling)).collect()
    }

    /// As the watcher does it: what is told is noted.
    fn note(notes: &mut Notes, told: &[(Scope, Telling)]) {
        for (owner, telling) in told {
            if let Telling::Seen { sighting, .. } = telling {
                notes.put(owner, ChainNote::Sighting(sighting.clone()));
            }
        }
    }

    fn found(transaction: Option<Transaction>) -> HashMap<String, Option<Transaction>> {
        [("0x1".to_owned(), transaction)].into()
    }

    #[test]
    fn what_arrives_is_seen_once_and_final_when_it_is_deep_enough() {
        let mut notes = notes();
        let told = arrivals("base", &notes, &[transfer(OWNER, 10), transfer("0xOther", 10)], 10);
        assert_eq!(words(&told), ["seen 10 1"]);
        note(&mut notes, &told);
        assert!(arrivals("base", &notes, &[transfer(OWNER, 10)], 10).is_empty(), "it is known");
        assert!(progress(&notes, &found(Some(transaction(10, 11))), 11).is_empty(), "two are not three");
        assert_eq!(words(&progress(&notes, &found(Some(transaction(10, 12))), 12)), ["final 10 3"]);
    }

    #[test]
    fn what_is_read_late_is_final_at_once() {
        assert_eq!(words(&arrivals("base", &notes(), &[transfer(OWNER, 10)], 40)), ["final 10 31"]);
    }

    #[test]
    fn what_stands_in_another_block_is_seen_again_and_what_stands_in_none_is_gone() {
        let mut notes = notes();
        let told = arrivals("base", &notes, &[transfer(OWNER, 10)], 10);
        note(&mut notes, &told);
        assert_eq!(words(&progress(&notes, &found(Some(transaction(11, 11))), 11)), ["seen 11 1"]);
        let waiting = Transaction { state: State::Waiting, block: None, movements: vec![], ..transaction(11, 11) };
        let other = Transaction { movements: vec![movement("0xOther")], ..transaction(11, 11) };
        for lost in [None, Some(waiting), Some(other)] {
            assert_eq!(words(&progress(&notes, &found(lost), 11)), ["gone 10"]);
        }
    }

    #[test]
    fn the_end_of_a_transaction_is_told_when_it_is_deep_enough_also_where_it_failed() {
        let mut notes = notes();
        follow(&mut notes);
        assert!(progress(&notes, &found(Some(transaction(10, 11))), 11).is_empty());
        let failed = Transaction { state: State::Failed, movements: vec![], ..transaction(10, 12) };
        assert_eq!(words(&progress(&notes, &found(Some(failed)), 12)), ["Failed 3"]);
        assert_eq!(words(&progress(&notes, &found(Some(transaction(10, 12))), 12)), ["Done 3"]);
        assert!(progress(&notes, &HashMap::new(), 12).is_empty(), "nobody has asked");
    }
}
