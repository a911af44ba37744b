//! An attempt of an outgoing call, or the report of its outcome to its task.
//!
//! The start of an attempt is on disk before the attempt is made. After a crash, an attempt without an outcome counts
//! as one that may have happened. The outcome is on disk before anything follows from it, or in the same commit.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::sleep;

use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};

use super::{
    Shared,
    queue::{self, WorkOutcome},
    slots::{Rank, TenantSlots},
};
use crate::{
    changes::{
        effect::{AttemptEnd, Effect, Step, TOO_LONG},
        outgoing::OutgoingResponse,
        timer::TaskKey,
    },
    clock::Timestamp,
    commit::{
        draft::{Draft, DraftError},
        own::{Change, Host, OwnError},
    },
    destinations::Certainty,
    limits::{EFFECT_ATTEMPT_MS_MAX, EFFECT_RESPONSE_BYTES_MAX, TASK_PAUSE_MS},
    outbound::retry_after_ms,
    plugin::call::SettledEffect,
};

/// Takes the next step of an effect: makes an attempt, or reports the outcome.
pub(super) async fn work(shared: &Shared, slots: &TenantSlots, task: &TaskKey, rank: Rank) -> WorkOutcome {
    let free = slots.effects.try_acquire(rank).and_then(|own| Some((own, shared.slots.try_acquire(rank)?)));
    let (own, slot) = match free {
        Some(slots) => slots,
        // A settled effect needs no slot, because reporting its outcome calls no server.
        None => match is_settled(shared, task).await {
            Ok(false) => match (slots.effects.acquire(rank).await, shared.slots.acquire(rank).await) {
                (Ok(own), Ok(slot)) => (own, slot),
                _ => return WorkOutcome::Postponed,
            },
            Ok(true) => return queue::run(shared, slots, task).await,
            Err(error) => return cannot_begin(task, &error),
        },
    };
    // While the effect waited, the host may have begun to stop, or the plugin may have been removed with its
    // destinations.
    if shared.stopping.load(Ordering::Relaxed) || (shared.parts.serving)(task.scope.plugin()).is_none() {
        return WorkOutcome::Postponed;
    }
    match begin(shared, task).await {
        Ok(None) => WorkOutcome::NotDue,
        Ok(Some((Step::Report, _))) => {
            drop((slot, own));
            queue::run(shared, slots, task).await
        }
        Ok(Some((Step::Attempt, effect))) => {
            let ended = attempt(shared, task, &effect).await;
            drop((slot, own));
            record_end(shared, slots, task, &effect, &ended).await
        }
        Err(error) => cannot_begin(task, &error),
    }
}

/// Records the end of the attempt. If the effect is settled, its task runs at once, and the commit of that run writes
/// the outcome as well. If that run does not end the task, the outcome is written in its own commit, and the task runs
/// again.
async fn record_end(
    shared: &Shared,
    slots: &TenantSlots,
    task: &TaskKey,
    begun: &Effect,
    ended: &AttemptEnd,
) -> WorkOutcome {
    let mut effect = begun.clone();
    effect.end(ended.clone(), shared.parts.clock.now());
    if effect.outcome.is_some() {
        let settled = SettledEffect { begun: begun.progress.clone(), effect };
        if queue::run_settled(shared, slots, task, &settled).await {
            return WorkOutcome::Settled;
        }
    }
    // The task runs at once, because a search would find it due anyway.
    if write_end(shared, task, begun, ended).await {
        queue::run(shared, slots, task).await
    } else {
        WorkOutcome::Settled
    }
}

fn cannot_begin(task: &TaskKey, error: &OwnError) -> WorkOutcome {
    tracing::error!(effect = &*task.id, "failed to begin an outgoing call: {error}");
    WorkOutcome::Postponed
}

/// Returns true if the effect has an outcome to report. The result decides only whether a slot is needed. The step
/// itself is decided again when it begins.
async fn is_settled(shared: &Shared, task: &TaskKey) -> Result<bool, OwnError> {
    let host = Host::new(&shared.parts.committer, &task.scope, shared.parts.clock.now())?;
    Ok(host.find_effect(&task.id).await?.is_some_and(|effect| effect.outcome.is_some()))
}

/// Writes the end of the attempt, and retries until it is written, because an answered call must not be repeated.
/// Returns true if the effect has an outcome to report.
async fn write_end(shared: &Shared, task: &TaskKey, begun: &Effect, ended: &AttemptEnd) -> bool {
    loop {
        match end(shared, task, begun, ended).await {
            Ok(is_settled) => return is_settled,
            Err(error) => {
                tracing::error!(
                    effect = &*task.id,
                    "failed to write the end of an outgoing call, trying again: {error}"
                );
                sleep(Duration::from_millis(TASK_PAUSE_MS)).await;
            }
        }
    }
}

/// Decides the next step of an effect. Writes the step before it is taken, unless the effect already had an outcome.
struct BeginAttempt<'a> {
    task: &'a TaskKey,
    now: Timestamp,
}

impl Change for BeginAttempt<'_> {
    type Output = (Step, Effect);

    /// Returns `None` if the effect is gone or no longer due.
    async fn make(&self, draft: &mut Draft) -> Result<Option<(Step, Effect)>, DraftError> {
        let found = draft.find_effect(&self.task.id).await?;
        let due = found.filter(|found| found.value.due.is_some_and(|due| due <= self.now));
        let Some(mut effect) = due.map(|found| found.value) else { return Ok(None) };
        let was_settled = effect.outcome.is_some();
        let step = effect.begin(self.now);
        if !was_settled {
            draft.put_effect(&self.task.id, &effect).await?;
        }
        Ok(Some((step, effect)))
    }
}

/// Writes the end of an attempt, unless an operator has changed or removed the effect since it began.
struct EndAttempt<'a> {
    task: &'a TaskKey,
    begun: &'a Effect,
    ended: &'a AttemptEnd,
    now: Timestamp,
}

impl Change for EndAttempt<'_> {
    /// True if the effect has an outcome.
    type Output = bool;

    async fn make(&self, draft: &mut Draft) -> Result<Option<bool>, DraftError> {
        let found = draft.find_effect(&self.task.id).await?;
        let same = found.filter(|found| found.value.progress == self.begun.progress);
        let Some(mut effect) = same.map(|found| found.value) else { return Ok(None) };
        effect.end(self.ended.clone(), self.now);
        draft.put_effect(&self.task.id, &effect).await?;
        Ok(Some(effect.outcome.is_some()))
    }
}

async fn begin(shared: &Shared, task: &TaskKey) -> Result<Option<(Step, Effect)>, OwnError> {
    let now = shared.parts.clock.now();
    Host::new(&shared.parts.committer, &task.scope, now)?.apply(&BeginAttempt { task, now }).await
}

async fn end(shared: &Shared, task: &TaskKey, begun: &Effect, ended: &AttemptEnd) -> Result<bool, OwnError> {
    let now = shared.parts.clock.now();
    let host = Host::new(&shared.parts.committer, &task.scope, now)?;
    Ok(host.apply(&EndAttempt { task, begun, ended, now }).await?.unwrap_or(false))
}

async fn attempt(shared: &Shared, task: &TaskKey, effect: &Effect) -> AttemptEnd {
    let within = Duration::from_millis(EFFECT_ATTEMPT_MS_MAX);
    let key = effect.idempotency_key();
    let metrics = &shared.parts.metrics;
    match shared.parts.destinations.call(&task.scope, &effect.call, Some(&key), within).await {
        Ok(answer) if answer.content.bytes().len() > EFFECT_RESPONSE_BYTES_MAX => {
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
            let (plugin, effect) = (&**task.scope.plugin(), &*task.id);
            tracing::info!(plugin, effect, "outgoing call failed: {}", failure.message);
            let why = failure.class.to_owned();
            match failure.certainty {
                Certainty::NotSent => AttemptEnd::NotSent(why),
                Certainty::Unknown if failure.class == TOO_LONG => AttemptEnd::TooLong,
                Certainty::Unknown => AttemptEnd::Unknown(why),
            }
        }
    }
}

/// Returns the pause that a Retry-After header requests, in milliseconds.
fn pause_of(answer: &OutgoingResponse, now: u64) -> Option<u64> {
    let (_, value) = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(RETRY_AFTER.as_str()))?;
    retry_after_ms(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::try_from(value).ok()?)]), now)
}
