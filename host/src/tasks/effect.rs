//! One attempt of an outgoing call, or the telling of its outcome.
//!
//! The start of an attempt is on disk before the attempt is made. After a crash, such an attempt counts as one that may have happened.
//! Its outcome is on disk before anything follows from it, or in the same commit.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::sleep;

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};

use super::{
    Shared,
    line::{self, Worked},
    slots::{Rank, TenantSlots},
};
use crate::clock::Timestamp;
use crate::{
    changes::{
        effect::{AttemptEnd, Effect, Step, TOO_LONG},
        outgoing::OutgoingAnswer,
        timer::TaskPlace,
    },
    commit::{
        draft::{Draft, DraftError},
        own::{Change, Host, OwnError},
    },
    destinations::Certainty,
    limits::{EFFECT_ANSWER_BYTES_MAX, EFFECT_ATTEMPT_MS_MAX, TASK_PAUSE_MS},
    outbound::retry_after_ms,
    plugin::call::SettledEffect,
};

pub(super) async fn work(shared: &Shared, slots: &TenantSlots, place: &TaskPlace, rank: Rank) -> Worked {
    let free = slots.effects.try_acquire(rank).and_then(|own| Some((own, shared.slots.try_acquire(rank)?)));
    let (own, slot) = match free {
        Some(slots) => slots,
        // A settled effect needs no slot, because reporting its outcome calls no server.
        None => match is_settled(shared, place).await {
            Ok(false) => match (slots.effects.acquire(rank).await, shared.slots.acquire(rank).await) {
                (Ok(own), Ok(slot)) => (own, slot),
                _ => return Worked::Postponed,
            },
            Ok(true) => return line::run(shared, slots, place).await,
            Err(error) => return failed(place, &error),
        },
    };
    // While the effect waited, the host may have begun to stop, or its plugin may have gone, and its destinations with it.
    if shared.stopping.load(Ordering::Relaxed) || (shared.parts.serving)(place.scope.plugin()).is_none() {
        return Worked::Postponed;
    }
    match begin(shared, place).await {
        Ok(None) => Worked::NotDue,
        Ok(Some((Step::Tell, _))) => {
            drop((slot, own));
            line::run(shared, slots, place).await
        }
        Ok(Some((Step::Attempt, effect))) => {
            let ended = attempt(shared, place, &effect).await;
            drop((slot, own));
            conclude(shared, slots, place, &effect, &ended).await
        }
        Err(error) => failed(place, &error),
    }
}

/// Writes how the attempt ended. If the effect is settled, its task runs at once, and the commit of that run writes the outcome as
/// well. If the run does not end the task, the outcome is written first.
async fn conclude(
    shared: &Shared,
    slots: &TenantSlots,
    place: &TaskPlace,
    begun: &Effect,
    ended: &AttemptEnd,
) -> Worked {
    let mut effect = begun.clone();
    effect.end(ended.clone(), shared.parts.clock.now());
    if effect.outcome.is_some() {
        let settled = SettledEffect { begun: begun.progress.clone(), effect };
        if line::run_settled(shared, slots, place, &settled).await {
            return Worked::Settled;
        }
    }
    // The task runs at once: a search would find it due.
    if note_end(shared, place, begun, ended).await { line::run(shared, slots, place).await } else { Worked::Settled }
}

fn failed(place: &TaskPlace, error: &OwnError) -> Worked {
    tracing::error!(effect = &*place.id, "an outgoing call cannot begin: {error}");
    Worked::Postponed
}

/// Whether an outcome is to be told. Which way to go rests on it, and nothing else: what is done is decided anew.
async fn is_settled(shared: &Shared, place: &TaskPlace) -> Result<bool, OwnError> {
    let host = Host::new(&shared.parts.committer, &place.scope, shared.parts.clock.now())?;
    Ok(host.find_effect(&place.id).await?.is_some_and(|effect| effect.outcome.is_some()))
}

/// Until it is written: what was answered must not be asked again. Whether there is an outcome to be told.
async fn note_end(shared: &Shared, place: &TaskPlace, begun: &Effect, ended: &AttemptEnd) -> bool {
    loop {
        match end(shared, place, begun, ended).await {
            Ok(is_settled) => return is_settled,
            Err(error) => {
                tracing::error!(effect = &*place.id, "how an outgoing call ended cannot be written yet: {error}");
                sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
            }
        }
    }
}

/// What is to be done with it, noted before it is done.
struct Begin<'a> {
    place: &'a TaskPlace,
    now: Timestamp,
}

impl Change for Begin<'_> {
    type Made = (Step, Effect);

    /// `None`: it is gone, or not due any more.
    async fn make(&self, draft: &mut Draft) -> Result<Option<(Step, Effect)>, DraftError> {
        let found = draft.find_effect(&self.place.id).await?;
        let due = found.filter(|found| found.value.due.is_some_and(|due| due <= self.now));
        let Some(mut effect) = due.map(|found| found.value) else { return Ok(None) };
        let was_settled = effect.outcome.is_some();
        let step = effect.begin(self.now);
        if !was_settled {
            draft.put_effect(&self.place.id, &effect).await?;
        }
        Ok(Some((step, effect)))
    }
}

/// How the attempt ended; unless an operator has taken it out of the way meanwhile.
struct End<'a> {
    place: &'a TaskPlace,
    begun: &'a Effect,
    ended: &'a AttemptEnd,
    now: Timestamp,
}

impl Change for End<'_> {
    /// Whether it has an outcome.
    type Made = bool;

    async fn make(&self, draft: &mut Draft) -> Result<Option<bool>, DraftError> {
        let found = draft.find_effect(&self.place.id).await?;
        let same = found.filter(|found| found.value.progress == self.begun.progress);
        let Some(mut effect) = same.map(|found| found.value) else { return Ok(None) };
        effect.end(self.ended.clone(), self.now);
        draft.put_effect(&self.place.id, &effect).await?;
        Ok(Some(effect.outcome.is_some()))
    }
}

async fn begin(shared: &Shared, place: &TaskPlace) -> Result<Option<(Step, Effect)>, OwnError> {
    let now = shared.parts.clock.now();
    Host::new(&shared.parts.committer, &place.scope, now)?.apply(&Begin { place, now }).await
}

async fn end(shared: &Shared, place: &TaskPlace, begun: &Effect, ended: &AttemptEnd) -> Result<bool, OwnError> {
    let now = shared.parts.clock.now();
    let host = Host::new(&shared.parts.committer, &place.scope, now)?;
    Ok(host.apply(&End { place, begun, ended, now }).await?.unwrap_or(false))
}

async fn attempt(shared: &Shared, place: &TaskPlace, effect: &Effect) -> AttemptEnd {
    let within = Duration::from_millis(EFFECT_ATTEMPT_MS_MAX);
    let key = effect.idempotency_key();
    let metrics = &shared.parts.metrics;
    match shared.parts.destinations.call(&place.scope, &effect.call, Some(&key), within).await {
        Ok(answer) if answer.content.bytes().len() > EFFECT_ANSWER_BYTES_MAX => {
            metrics.count_attempt(TOO_LONG);
            AttemptEnd::TooLong
        }
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
                Certainty::Unknown if failure.class == TOO_LONG => AttemptEnd::TooLong,
                Certainty::Unknown => AttemptEnd::Unknown(why),
            }
        }
    }
}

fn pause_of(answer: &OutgoingAnswer, now: u64) -> Option<u64> {
    let (_, value) = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(RETRY_AFTER.as_str()))?;
    retry_after_ms(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::try_from(value).ok()?)]), now)
}
