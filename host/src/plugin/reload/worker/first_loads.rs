//! The first loads after a start: which publications wait for them, and who is notified of their end.
//!
//! Invariant: until the components that the journal names serve or are refused, only those are published. Any other
//! component is compared with all of them, so that it cannot take addresses of a plugin that loads more slowly.

use std::sync::Arc;

use super::{Prepared, Worker};
use crate::plugin::reload::{journal::SwapAction, slot::{Preparing, Slot}};

impl Worker {
    /// Publishes what waited for first loads that have ended, and notifies those that wait for all of them.
    pub(super) async fn answer_loaded(&mut self) {
        loop {
            self.slots.values_mut().for_each(Slot::note_load);
            let Some(prepared) = self.take_publishable() else { break };
            self.prepared(prepared).await;
        }
        if self.slots.values().all(|slot| slot.has_loaded) {
            for reply in self.loading.drain(..) {
                let _gone = reply.send(());
            }
        }
    }

    /// True if a publication of `plugin` waits for first loads of other plugins. Where the journal's component of `plugin`
    /// itself was refused, another one takes its place, and waits only for the journal's components of the others.
    pub(super) fn waits_for_others(&self, plugin: &Arc<str>, action: SwapAction) -> bool {
        if action == SwapAction::Start {
            return false;
        }
        let is_owed = self.slots.get(plugin).is_some_and(Slot::is_owed);
        let mut others = self.slots.iter().filter(|(name, _)| *name != plugin);
        others.any(|(_, slot)| slot.is_restoring() || !is_owed && slot.is_owed())
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

    /// What its slot knows of a preparation; `None` if it was overtaken.
    pub(super) fn find_preparing(&self, prepared: &Prepared) -> Option<&Preparing> {
        let preparing = self.slots.get(&prepared.plugin)?.preparing.as_ref()?;
        (preparing.ticket == prepared.ticket).then_some(preparing)
    }
}
