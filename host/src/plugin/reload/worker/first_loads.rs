//! The first loads after a start: which publications wait for them, and which callers are notified of their end.
//!
//! Invariant: until the components that the journal names serve or are refused, only those are published. Any other
//! component is compared with all of them, so that it cannot take routes of a plugin that loads more slowly.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Prepared, Worker};
use crate::{
    limits,
    plugin::reload::{
        journal::SwapAction,
        slot::{Preparing, Slot},
    },
};

impl Worker {
    /// Publishes changes that no longer wait for first loads of other plugins. Notifies the callers that wait for first
    /// loads once all first loads have ended.
    pub(super) async fn answer_loaded(&mut self) {
        loop {
            self.slots.values_mut().for_each(Slot::note_load);
            let Some(prepared) = self.take_publishable() else { break };
            self.prepared(prepared).await;
        }
        if self.slots.values().all(|slot| slot.has_loaded) {
            for reply in self.load_waiters.drain(..) {
                let _gone = reply.send(());
            }
        }
    }

    /// Returns the number of preparations that have ended. Returns `None` once all first loads have ended.
    pub(super) fn first_loads_ended(&self) -> Option<u64> {
        let are_missing = self.slots.values().any(|slot| !slot.has_loaded);
        are_missing.then(|| self.slots.values().map(|slot| slot.ended).sum())
    }

    /// Called when no preparation has ended for a while. Unless a component is being compiled, the missing first loads
    /// count as ended.
    pub(super) fn note_stall(&mut self) {
        if !self.parts.loader.progress().current().is_empty() {
            return;
        }
        for (plugin, slot) in self.slots.iter_mut().filter(|(_, slot)| !slot.has_loaded) {
            tracing::warn!(plugin = &**plugin, "{plugin} has not loaded: timers and effects no longer wait for it");
            slot.has_loaded = true;
        }
    }

    /// Returns true if a publication of `plugin` waits for first loads of other plugins. If the journal's component of
    /// `plugin` was refused, another one replaces it, and waits only for the journal's components of the others.
    pub(super) fn waits_for_others(&self, plugin: &Arc<str>, action: SwapAction) -> bool {
        if action == SwapAction::Start {
            return false;
        }
        let awaits_journaled = self.slots.get(plugin).is_some_and(Slot::awaits_journaled);
        let mut others = self.slots.iter().filter(|(name, _)| *name != plugin);
        others.any(|(_, slot)| slot.is_restoring() || !awaits_journaled && slot.awaits_journaled())
    }

    /// Keeps a prepared change until it waits for no other plugin. An older one of the same plugin was overtaken.
    pub(super) fn hold(&mut self, prepared: Prepared) {
        self.held.insert(prepared.plugin.clone(), prepared);
    }

    fn take_publishable(&mut self) -> Option<Prepared> {
        let is_free = |held: &Prepared| match self.find_preparing(held) {
            Some(preparing) => !self.waits_for_others(&held.plugin, preparing.intent.cause.action),
            None => true,
        };
        let plugin = self.held.values().find(|held| is_free(held))?.plugin.clone();
        self.held.remove(&plugin)
    }

    /// Returns the state of a preparation in its slot. Returns `None` if the preparation was overtaken.
    pub(super) fn find_preparing(&self, prepared: &Prepared) -> Option<&Preparing> {
        let preparing = self.slots.get(&prepared.plugin)?.preparing.as_ref()?;
        (preparing.ticket == prepared.ticket).then_some(preparing)
    }
}

/// Limit of the time in which first loads make no progress.
#[derive(Debug, Default)]
pub(super) struct StallTimer {
    ends_at: Option<Instant>,
    ended: u64,
}

impl StallTimer {
    /// Returns when the time ends. Returns `None` if nothing is awaited. The time begins again when another preparation
    /// has ended.
    pub(super) fn ends_at(&mut self, ended: Option<u64>) -> Option<Instant> {
        let time = Duration::from_millis(limits::FIRST_LOADS_STALL_MS);
        let before = std::mem::replace(&mut self.ended, ended.unwrap_or_default());
        let ends_at = self.ends_at.filter(|_| before == self.ended);
        self.ends_at = ended.map(|_| ends_at.unwrap_or_else(|| Instant::now() + time));
        self.ends_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_without_progress_begins_again_with_each_preparation_that_ends() {
        let mut stall_timer = StallTimer::default();
        let first = stall_timer.ends_at(Some(0));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(stall_timer.ends_at(Some(0)), first);
        assert!(stall_timer.ends_at(Some(1)) > first);
        assert_eq!(stall_timer.ends_at(None), None);
    }
}
