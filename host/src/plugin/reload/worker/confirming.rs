//! Finds out whether a line of the journal is durable after writing it failed, and corrects a line that should not be.
//!
//! The journal decides what serves after a restart. A commit that reports an error may still be durable, so the journal is
//! read before a swap is reported as refused.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Cause, Worker};
use crate::{
    limits,
    plugin::{
        load::SwapRefusal,
        reload::journal::{SwapAction, SwapEntry, SwapOutcome},
    },
};

impl Worker {
    /// Writes the line of a publication. On an error the line is not in the journal, or `is_unconfirmed` is set.
    pub(super) async fn record_published(&mut self, entry: SwapEntry) -> Result<(), SwapRefusal> {
        self.record_overtaken().await;
        let plugin = entry.plugin.clone();
        let Err(error) = self.parts.journal.record(vec![entry.clone()]).await else {
            // This line is the newest one: the state of older lines no longer matters.
            self.set_unconfirmed(&plugin, false);
            return Ok(());
        };
        let refusal = SwapRefusal::transient(format!("the journal of swaps cannot be written: {error}"));
        for _ in 0..limits::OUTCOME_TRIES_MAX {
            match self.parts.journal.find_published(&plugin, 1).await {
                Ok(lines) if lines.first().is_some_and(|line| is_same(line, &entry)) => {
                    tracing::warn!(plugin = &*plugin, "a line of the journal of swaps is durable in spite of: {error}");
                    return Ok(());
                }
                Ok(_) => return Err(refusal),
                Err(_) => tokio::time::sleep(Duration::from_millis(limits::OUTCOME_RETRY_MS)).await,
            }
        }
        self.set_unconfirmed(&plugin, true);
        Err(refusal)
    }

    fn set_unconfirmed(&mut self, plugin: &Arc<str>, is_unconfirmed: bool) {
        if let Some(slot) = self.slots.get_mut(plugin) {
            slot.is_unconfirmed = is_unconfirmed;
        }
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.slots.values().any(|slot| slot.is_unconfirmed)
    }

    /// Reads the newest line of each plugin in doubt, and corrects it where it names what does not serve.
    pub(super) async fn confirm_journal(&mut self) {
        let in_doubt = self.slots.iter().filter(|(_, slot)| slot.is_unconfirmed);
        for plugin in in_doubt.map(|(plugin, _)| plugin.clone()).collect::<Vec<_>>() {
            match self.correct_line(&plugin).await {
                Ok(()) => self.set_unconfirmed(&plugin, false),
                Err(error) => tracing::error!(plugin = &*plugin, "the journal of swaps is still in doubt: {error}"),
            }
        }
    }

    async fn correct_line(&self, plugin: &Arc<str>) -> Result<(), String> {
        let newest = self.parts.journal.find_published(plugin, 1).await?;
        let named = newest.first().and_then(|line| line.to.clone());
        let serving = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref());
        let serving = serving.map(|serving| serving.generation.hash.clone());
        if named == serving {
            return Ok(());
        }
        let action = if serving.is_some() { SwapAction::Rollback } else { SwapAction::Remove };
        let entry = self.entry(plugin, &Cause::of_the_host(action), (named, serving), SwapOutcome::Published);
        let reason = "the line before this one names a version that was refused: writing it had failed";
        self.parts.journal.record(vec![SwapEntry { reasons: vec![reason.to_owned()], ..entry }]).await
    }
}

/// Pause between two reads of a journal in doubt. Messages do not extend it.
#[derive(Debug, Default)]
pub(super) struct Pause(Option<Instant>);

impl Pause {
    /// When the journal is read; `None` where nothing is in doubt.
    pub(super) fn ends_at(&mut self, is_in_doubt: bool) -> Option<Instant> {
        let pause = Duration::from_millis(limits::JOURNAL_CONFIRM_MS);
        self.0 = is_in_doubt.then(|| self.0.unwrap_or_else(|| Instant::now() + pause));
        self.0
    }
}

/// Never returns where there is no such time.
pub(super) async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn is_same(line: &SwapEntry, written: &SwapEntry) -> bool {
    (line.at, &line.who, line.action, &line.from, &line.to)
        == (written.at, &written.who, written.action, &written.from, &written.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_do_not_put_off_reading_a_journal_in_doubt() {
        let mut pause = Pause::default();
        let first = pause.ends_at(true);
        tokio::time::advance(Duration::from_millis(limits::JOURNAL_CONFIRM_MS - 1)).await;
        assert_eq!(pause.ends_at(true), first);
        assert_eq!(pause.ends_at(false), None);
        assert!(pause.ends_at(true) > first);
    }
}
