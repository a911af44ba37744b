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

/// Bytes that are to be given to a node again, since none has them.
pub(super) fn lost<'a>(notes: &'a Notes, found: &HashMap<String, Option<Transaction>>) -> Vec<&'a str> {
    let is_lost = |hash: &&String| matches!(found.get(*hash), Some(None));
    let followings = notes.followed.iter().filter(|(hash, _)| is_lost(hash)).flat_map(|(_, followers)| followers);
    followings.filter_map(|(_, following)| following.raw.as_deref()).collect()
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
fn confirmations(block: u64, height: u64) -> u64 {
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
