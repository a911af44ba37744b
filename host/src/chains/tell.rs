//! Writes what plugins are told: a task, and the note that it was told, in one commit for each plugin and tenant.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Parts,
    book::Book,
    reading::Telling,
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
    limits::TELLINGS_AT_ONCE,
};

/// What could not be told: for the next time.
pub(super) async fn tell(parts: &Parts, book: &Book, tellings: Vec<(Scope, Telling)>) -> Vec<(Scope, Telling)> {
    let mut by_scope: BTreeMap<Scope, Vec<Telling>> = BTreeMap::new();
    for (scope, telling) in tellings {
        by_scope.entry(scope).or_default().push(telling);
    }
    let chunks = by_scope.iter().flat_map(|(scope, all)| all.chunks(TELLINGS_AT_ONCE).map(move |some| (scope, some)));
    let owed = join_all(chunks.map(|(scope, some)| async move {
        match write(parts, scope, some).await {
            Ok(()) => {
                // The news says the same, later: until then nobody may see what was.
                some.iter().for_each(|telling| note(book, scope, telling));
                Vec::new()
            }
            Err(error) => {
                tracing::error!(
                    tenant = &**scope.tenant(),
                    "what happened on a blockchain cannot be told yet: {error}"
                );
                some.iter().map(|telling| (scope.clone(), telling.clone())).collect()
            }
        }
    }));
    owed.await.into_iter().flatten().collect()
}

async fn write(parts: &Parts, scope: &Scope, tellings: &[Telling]) -> Result<(), OwnError> {
    let host = Host::new(&parts.committer, scope, parts.clock.now())?;
    host.apply(&Tell { tellings, now: parts.clock.now() }).await.map(|_| ())
}

fn note(book: &Book, scope: &Scope, telling: &Telling) {
    match telling {
        Telling::Seen { sighting, .. } => {
            let note = ChainNote::Sighting(sighting.clone());
            let body = serde_json::to_string(&note).unwrap_or_default();
            book.note(scope, &note.id(), Some(&body));
        }
        Telling::Final { sighting, .. } => book.note(scope, &sighting.id(), None),
        Telling::Gone { sighting } => book.note(scope, &sighting.id(), None),
        Telling::Ended { following, .. } | Telling::Dropped { following, .. } => {
            book.note(scope, &Following::id(&following.blockchain, &following.hash), None);
        }
    }
}

struct Tell<'a> {
    tellings: &'a [Telling],
    now: u64,
}

impl Change for Tell<'_> {
    type Made = ();

    async fn make(&self, draft: &mut Draft) -> Result<Option<()>, DraftError> {
        for telling in self.tellings {
            match telling {
                Telling::Seen { sighting, confirmations } => {
                    draft.put_chain_note(&ChainNote::Sighting(sighting.clone())).await?;
                    self.arrived(draft, sighting, "seen", *confirmations)?;
                }
                Telling::Final { sighting, confirmations } => {
                    draft.remove_chain_note(&sighting.id()).await?;
                    self.arrived(draft, sighting, "final", *confirmations)?;
                }
                Telling::Gone { sighting } => {
                    if draft.remove_chain_note(&sighting.id()).await? {
                        self.arrived(draft, sighting, "gone", 0)?;
                    }
                }
                Telling::Ended { following, transaction } => {
                    let ended = Ended {
                        block: transaction.block,
                        confirmations: transaction.confirmations,
                        fee: digits(transaction.fee),
                        movements: transaction.movements.iter().map(movement_text).collect(),
                        ..Ended::of(following, state_text(transaction.state))
                    };
                    self.ended(draft, following, &ended).await?;
                }
                Telling::Dropped { following, reason } => {
                    let ended = Ended { reason: Some(reason), ..Ended::of(following, "dropped") };
                    self.ended(draft, following, &ended).await?;
                }
            }
        }
        Ok(Some(()))
    }
}

impl Tell<'_> {
    /// Unless it is followed no more.
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
        draft.schedule(&sighting.then, &arrival.place(), self.now, text(&payload))
    }
}

/// As `wit/chains.wit` says it, in `watch`.
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

/// As `wit/chains.wit` says it, in `follow`.
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
    /// Of what was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> Ended<'a> {
    /// Of what stands in no block.
    fn of(following: &'a Following, state: &'a str) -> Ended<'a> {
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

/// It was JSON when it was stored.
fn context(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn text<T: Serialize>(payload: &T) -> String {
    // Plain structs of texts and numbers: writing them cannot fail.
    serde_json::to_string(payload).unwrap_or_default()
}
