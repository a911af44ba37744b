//! Reports events to plugins: schedules a task and updates the chain note of each event. A commit contains at most
//! `CHAIN_EVENTS_PER_COMMIT` events, all of one plugin and tenant.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Parts,
    events::ChainEvent,
    note_cache::NoteCache,
    service::{digits, movement_text, state_text},
    wire::MovementText,
};
use crate::{
    changes::{
        chain::{ChainNote, Following, Sighting},
        scope::Scope,
    },
    commit::{
        draft::{Draft, DraftError},
        own::{Change, Host, OwnError},
    },
    limits::CHAIN_EVENTS_PER_COMMIT,
};

/// Reports events. Returns those whose commit failed.
pub(super) async fn report(
    parts: &Parts,
    cache: &NoteCache,
    events: Vec<(Scope, ChainEvent)>,
) -> Vec<(Scope, ChainEvent)> {
    let mut by_scope: BTreeMap<Scope, Vec<ChainEvent>> = BTreeMap::new();
    for (scope, event) in events {
        by_scope.entry(scope).or_default().push(event);
    }
    let chunks =
        by_scope.iter().flat_map(|(scope, all)| all.chunks(CHAIN_EVENTS_PER_COMMIT).map(move |chunk| (scope, chunk)));
    let unreported = join_all(chunks.map(|(scope, chunk)| async move {
        match write(parts, scope, chunk).await {
            Ok(()) => {
                // The commit notification arrives later. Until then no poll may use the outdated notes.
                chunk.iter().for_each(|event| update_cache(cache, scope, event));
                Vec::new()
            }
            Err(error) => {
                tracing::error!(tenant = &**scope.tenant(), "failed to report blockchain events; retrying: {error}");
                chunk.iter().map(|event| (scope.clone(), event.clone())).collect()
            }
        }
    }));
    unreported.await.into_iter().flatten().collect()
}

async fn write(parts: &Parts, scope: &Scope, events: &[ChainEvent]) -> Result<(), OwnError> {
    let host = Host::new(&parts.committer, scope, parts.clock.now())?;
    host.apply(&Report { events, now: parts.clock.now() }).await.map(|_| ())
}

fn update_cache(cache: &NoteCache, scope: &Scope, event: &ChainEvent) {
    match event {
        ChainEvent::Seen { sighting, .. } => {
            let note = ChainNote::Sighting(sighting.clone());
            let body = serde_json::to_string(&note).unwrap_or_default();
            cache.apply(scope, &note.id(), Some(&body));
        }
        ChainEvent::Final { sighting, .. } => cache.apply(scope, &sighting.id(), None),
        ChainEvent::Gone { sighting } => cache.apply(scope, &sighting.id(), None),
        ChainEvent::Ended { following, .. } | ChainEvent::Dropped { following, .. } => {
            cache.apply(scope, &Following::id(&following.blockchain, &following.hash), None);
        }
    }
}

struct Report<'a> {
    events: &'a [ChainEvent],
    now: u64,
}

impl Change for Report<'_> {
    type Output = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        for event in self.events {
            match event {
                ChainEvent::Seen { sighting, confirmations } => {
                    draft.put_chain_note(&ChainNote::Sighting(sighting.clone())).await?;
                    self.arrived(draft, sighting, "seen", *confirmations)?;
                }
                ChainEvent::Final { sighting, confirmations } => {
                    draft.remove_chain_note(&sighting.id()).await?;
                    self.arrived(draft, sighting, "final", *confirmations)?;
                }
                ChainEvent::Gone { sighting } => {
                    if draft.remove_chain_note(&sighting.id()).await? {
                        self.arrived(draft, sighting, "gone", 0)?;
                    }
                }
                ChainEvent::Ended { following, transaction } => {
                    let ended = Ended {
                        block: transaction.block,
                        confirmations: transaction.confirmations,
                        fee: digits(transaction.fee),
                        movements: transaction.movements.iter().map(movement_text).collect(),
                        ..Ended::without_block(following, state_text(transaction.state))
                    };
                    self.ended(draft, following, &ended).await?;
                }
                ChainEvent::Dropped { following, reason } => {
                    let ended = Ended { reason: Some(reason), ..Ended::without_block(following, "dropped") };
                    self.ended(draft, following, &ended).await?;
                }
            }
        }
        Ok(Some(()))
    }
}

impl Report<'_> {
    /// Schedules the task of a followed transaction, unless it is no longer followed.
    async fn ended(&self, draft: &mut Draft, following: &Following, ended: &Ended<'_>) -> Result<(), DraftError> {
        let id = Following::id(&following.blockchain, &following.hash);
        if draft.remove_chain_note(&id).await? {
            draft.schedule(&following.then, &following.key, self.now, text(ended))?;
        }
        Ok(())
    }

    fn arrived(
        &self,
        draft: &mut Draft,
        sighting: &Sighting,
        state: &str,
        confirmations: u64,
    ) -> Result<(), DraftError> {
        let arrival = &sighting.arrival;
        let payload = Arrived {
            context: context(&sighting.context),
            blockchain: &arrival.blockchain,
            address: &arrival.address,
            state,
            hash: &arrival.hash,
            position: arrival.position,
            sender: &arrival.sender,
            token: arrival.token.as_deref(),
            amount: &arrival.amount,
            block: sighting.block,
            confirmations,
        };
        draft.schedule(&sighting.then, &arrival.key(), self.now, text(&payload))
    }
}

/// Payload as documented for `watch` in `wit/chains.wit`.
#[derive(Serialize)]
struct Arrived<'a> {
    context: Box<RawValue>,
    blockchain: &'a str,
    address: &'a str,
    state: &'a str,
    hash: &'a str,
    position: u32,
    sender: &'a str,
    token: Option<&'a str>,
    amount: &'a str,
    block: u64,
    confirmations: u64,
}

/// Payload as documented for `follow` in `wit/chains.wit`.
#[derive(Serialize)]
struct Ended<'a> {
    context: Box<RawValue>,
    blockchain: &'a str,
    hash: &'a str,
    state: &'a str,
    block: Option<u64>,
    confirmations: u64,
    fee: String,
    movements: Vec<MovementText>,
    /// Reason of a dropped transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Ended<'a> {
    /// Returns the payload for a transaction that is in no block.
    fn without_block(following: &'a Following, state: &'a str) -> Ended<'a> {
        Ended {
            context: context(&following.context),
            blockchain: &following.blockchain,
            hash: &following.hash,
            state,
            block: None,
            confirmations: 0,
            fee: "0".to_owned(),
            movements: Vec::new(),
            reason: None,
        }
    }
}

/// Converts a stored context, which is valid JSON.
fn context(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn text<T: Serialize>(payload: &T) -> String {
    // Serializing plain structs of strings and numbers cannot fail.
    serde_json::to_string(payload).unwrap_or_default()
}
