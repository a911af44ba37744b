//! Determines whether a line of the journal is durable after an error of its write. Corrects a durable line of a
//! publication that was refused.
//!
//! The journal decides what serves after a restart. A commit that reports an error may still be durable, so the journal
//! is read before a swap is reported as refused.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Cause, Worker};
use crate::{
    limits,
    plugin::{
        load::SwapError,
        reload::journal::{SwapAction, SwapEntry, SwapOutcome},
    },
};

impl Worker {
    /// Writes the line of a publication. After an error the line is not in the journal, or `is_unconfirmed` is set.
    pub(super) async fn record_published(&mut self, entry: SwapEntry) -> Result<(), SwapError> {
        self.record_overtaken().await;
        let plugin = entry.plugin.clone();
        let Err(error) = self.parts.journal.record(vec![entry.clone()]).await else {
            // This line is the newest one: the state of older lines no longer matters.
            self.set_unconfirmed(&plugin, false);
            return Ok(());
        };
        let swap_error = SwapError::transient(format!("failed to write the journal of swaps: {error}"));
        for _ in 0..limits::OUTCOME_TRIES_MAX {
            match self.parts.journal.find_published(&plugin, 1).await {
                Ok(lines) if lines.first().is_some_and(|line| is_same(line, &entry)) => {
                    tracing::warn!(
                        plugin = &*plugin,
                        "a line of the journal of swaps is durable in spite of an error: {error}"
                    );
                    return Ok(());
                }
                Ok(_) => return Err(swap_error),
                Err(_) => tokio::time::sleep(Duration::from_millis(limits::OUTCOME_RETRY_MS)).await,
            }
        }
        self.set_unconfirmed(&plugin, true);
        Err(swap_error)
    }

    fn set_unconfirmed(&mut self, plugin: &Arc<str>, is_unconfirmed: bool) {
        if let Some(slot) = self.slots.get_mut(plugin) {
            slot.is_unconfirmed = is_unconfirmed;
        }
    }

    pub(super) fn has_unconfirmed(&self) -> bool {
        self.slots.values().any(|slot| slot.is_unconfirmed)
    }

    /// Reads the newest line of each unconfirmed plugin, and corrects it if it names a component that does not serve.
    pub(super) async fn confirm_journal(&mut self) {
        let unconfirmed = self.slots.iter().filter(|(_, slot)| slot.is_unconfirmed);
        for plugin in unconfirmed.map(|(plugin, _)| plugin.clone()).collect::<Vec<_>>() {
            match self.correct_line(&plugin).await {
                Ok(()) => self.set_unconfirmed(&plugin, false),
                Err(error) => {
                    tracing::error!(plugin = &*plugin, "failed to confirm a line of the journal of swaps: {error}")
                }
            }
        }
    }

    async fn correct_line(&self, plugin: &Arc<str>) -> Result<(), String> {
        let newest = self.parts.journal.find_published(plugin, 1).await?;
        let named = newest.first().and_then(|line| line.to.clone());
        let serving = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref());
        let version = serving.map(|serving| serving.generation.manifest.version.clone());
        let serving = serving.map(|serving| serving.generation.hash.clone());
        if named == serving {
            return Ok(());
        }
        let action = if serving.is_some() { SwapAction::Rollback } else { SwapAction::Remove };
        let entry = self.entry(plugin, &Cause::of_host(action), (named, serving), SwapOutcome::Published);
        let entry = SwapEntry { version, ..entry };
        let reason = "the line before this one names a version that was refused: writing it had failed";
        self.parts.journal.record(vec![SwapEntry { reasons: vec![reason.to_owned()], ..entry }]).await
    }
}

/// Pause between two reads of an unconfirmed journal. Messages do not extend it.
#[derive(Debug, Default)]
pub(super) struct ConfirmTimer(Option<Instant>);

impl ConfirmTimer {
    /// Returns when the journal is read next. Returns `None` if all lines are confirmed.
    pub(super) fn ends_at(&mut self, has_unconfirmed: bool) -> Option<Instant> {
        let pause = Duration::from_millis(limits::JOURNAL_CONFIRM_MS);
        self.0 = has_unconfirmed.then(|| self.0.unwrap_or_else(|| Instant::now() + pause));
        self.0
    }
}

/// Waits until a time. Never returns for `None`.
pub(super) async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn is_same(line: &SwapEntry, written: &SwapEntry) -> bool {
    (line.at, &line.actor, line.action, &line.from, &line.to)
        == (written.at, &written.actor, written.action, &written.from, &written.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_do_not_delay_reading_an_unconfirmed_journal() {
        let mut timer = ConfirmTimer::default();
        let first = timer.ends_at(true);
        tokio::time::advance(Duration::from_millis(limits::JOURNAL_CONFIRM_MS - 1)).await;
        assert_eq!(timer.ends_at(true), first);
        assert_eq!(timer.ends_at(false), None);
        assert!(timer.ends_at(true) > first);
    }
}
