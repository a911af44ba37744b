//! One attempt of an outgoing call, or the telling of its outcome.
//!
//! That an attempt begins is on disk before it is made, so that who comes after a crash knows that it may have happened;
//! how it ended is on disk before anything follows from it.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};

use super::{
    Shared,
    line::{self, Worked},
    note::{Host, NoteError},
};
use crate::{
    changes::{
        effect::{AttemptEnd, Effect, Step},
        outgoing::OutgoingAnswer,
        timer::TaskPlace,
    },
    destinations::Certainty,
    limits::EFFECT_ATTEMPT_MS_MAX,
    outbound::retry_after_ms,
};

pub(super) async fn work(shared: &Shared, place: &TaskPlace) -> Worked {
    match begin(shared, place).await {
        Ok(None) => Worked::Settled,
        Ok(Some((Step::Tell, _))) => line::run(shared, place).await,
        Ok(Some((Step::Attempt, effect))) => {
            let Ok(slot) = shared.effects.acquire().await else { return Worked::Postponed };
            let ended = attempt(shared, place, &effect).await;
            drop(slot);
            match end(shared, place, &effect, ended).await {
                Ok(()) => Worked::Settled,
                Err(error) => failed(place, &error),
            }
        }
        Err(error) => failed(place, &error),
    }
}

/// `None`: it is gone, or not due any more.
async fn begin(shared: &Shared, place: &TaskPlace) -> Result<Option<(Step, Effect)>, NoteError> {
    let parts = &shared.parts;
    let now = parts.clock.now();
    let begun = Host::new(&parts.committer, &place.scope, now)?.apply(async |draft| {
        let found = draft.find_effect(&place.id).await?;
        let due = found.filter(|found| found.value.due.is_some_and(|due| due <= now));
        let Some(mut effect) = due.map(|found| found.value) else { return Ok(None) };
        let was_settled = effect.outcome.is_some();
        let step = effect.begin(now);
        if !was_settled {
            draft.put_effect(&place.id, &effect).await?;
        }
        Ok(Some((step, effect)))
    });
    begun.await
}

async fn attempt(shared: &Shared, place: &TaskPlace, effect: &Effect) -> AttemptEnd {
    let within = Duration::from_millis(EFFECT_ATTEMPT_MS_MAX);
    let key = effect.idempotency_key();
    let metrics = &shared.parts.metrics;
    match shared.parts.destinations.call(&place.scope, &effect.call, Some(&key), within).await {
        Ok(answer) => {
            metrics.count_attempt("answered");
            let pause_ms = pause_of(&answer, shared.parts.clock.now());
            AttemptEnd::Answered { answer, pause_ms }
        }
        Err(failure) => {
            metrics.count_attempt(failure.class);
            let (plugin, effect) = (&**place.scope.plugin(), &*place.id);
            tracing::info!(plugin, effect, "an outgoing call has no answer: {}", failure.words);
            let why = failure.class.to_owned();
            match failure.certainty {
                Certainty::NotSent => AttemptEnd::NotSent(why),
                Certainty::Unknown => AttemptEnd::Unknown(why),
            }
        }
    }
}

/// Unless an operator has taken it out of the way meanwhile.
async fn end(shared: &Shared, place: &TaskPlace, begun: &Effect, ended: AttemptEnd) -> Result<(), NoteError> {
    let parts = &shared.parts;
    let now = parts.clock.now();
    let noted = Host::new(&parts.committer, &place.scope, now)?.apply(async |draft| {
        let found = draft.find_effect(&place.id).await?.filter(|found| found.value.progress == begun.progress);
        let Some(mut effect) = found.map(|found| found.value) else { return Ok(None) };
        effect.end(ended.clone(), now);
        draft.put_effect(&place.id, &effect).await.map(Some)
    });
    noted.await.map(|_| ())
}

fn pause_of(answer: &OutgoingAnswer, now: u64) -> Option<u64> {
    let (_, value) = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(RETRY_AFTER.as_str()))?;
    retry_after_ms(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::try_from(value).ok()?)]), now)
}

fn failed(place: &TaskPlace, error: &NoteError) -> Worked {
    tracing::error!(effect = &*place.id, "an outgoing call cannot go on: {error}");
    Worked::Postponed
}
