//! The order of changes of one plugin: one is prepared, one waits, and others are dropped.
//!
//! Invariants: at most one change of a plugin is prepared, and at most one waits. The first change of a burst yields to
//! a newer one, so that no caller waits for an outdated change. The change that replaced it is prepared to its end, so
//! that something is published however fast changes arrive. In a burst, the preparation of a change that waited is
//! delayed ([`Slot::begins_at`]), and a newer change may replace it meanwhile. The newest change serves after two
//! compilations at most. The caller of a dropped change receives its error at once. A dropped file, deploy or rollback
//! is counted and recorded in the journal.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::{Message, Prepared, Worker, unknown};
use crate::{
    limits, metrics,
    plugin::{
        load::{Steps, SwapError},
        reload::{
            announce,
            journal::{SwapAction, SwapEntry, SwapOutcome},
            prepare::{self, Preparation},
            slot::{Change, Preparing},
        },
    },
};

const OVERTAKEN: &str = "a newer change of the same plugin overtook this one";

impl Worker {
    /// Prepares a change now or next.
    pub(super) fn request(&mut self, plugin: &Arc<str>, change: Change) {
        let Some(slot) = self.slots.get_mut(plugin) else { return change.reject(unknown(plugin)) };
        match &slot.preparing {
            Some(preparing) if preparing.is_delayed() => {
                let begins = slot.begins_at(&change);
                self.overtake(plugin);
                self.begin_preparing(plugin, change, begins, false);
            }
            Some(preparing) if !preparing.yields => {
                if let Some(older) = slot.waiting.replace(change) {
                    self.drop_overtaken(plugin, older);
                }
            }
            _ => self.request_now(plugin, change),
        }
    }

    /// Prepares a change now, in place of the change that is being prepared.
    pub(super) fn request_now(&mut self, plugin: &Arc<str>, change: Change) {
        let Some(slot) = self.slots.get_mut(plugin) else { return change.reject(unknown(plugin)) };
        let yields = match change.intent.cause.action {
            // Other plugins are compared with the journal's component: nothing replaces it before it serves or is
            // refused.
            SwapAction::Start => false,
            // Settings are part of every change that follows them.
            SwapAction::Config => true,
            _ => slot.preparing.is_none(),
        };
        self.overtake(plugin);
        self.begin_preparing(plugin, change, Instant::now(), yields);
    }

    /// Drops the change that is being prepared, and the one that waits.
    fn overtake(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        let (running, waiting) = (slot.preparing.take(), slot.waiting.take());
        if let Some(Preparing { intent, task, reply, .. }) = running {
            task.abort();
            self.drop_overtaken(plugin, Change::new(intent, Steps::start(), reply));
        }
        if let Some(waiting) = waiting {
            self.drop_overtaken(plugin, waiting);
        }
    }

    /// Begins to prepare the waiting change. Returns `false` if there is none.
    pub(super) fn begin_waiting(&mut self, plugin: &Arc<str>) -> bool {
        let Some(slot) = self.slots.get_mut(plugin) else { return false };
        let Some(change) = slot.waiting.take() else { return false };
        let begins = slot.begins_at(&change);
        self.begin_preparing(plugin, change, begins, false);
        true
    }

    /// Prepares the change again under the current settings. A delayed change keeps its delay.
    pub(super) fn prepare_under_new_settings(&mut self, plugin: &Arc<str>, preparing: Preparing) {
        let Preparing { intent, task, begins, reply, .. } = preparing;
        task.abort();
        let begins = begins.max(Instant::now());
        self.begin_preparing(plugin, Change::new(intent, Steps::start(), reply), begins, false);
    }

    fn begin_preparing(&mut self, plugin: &Arc<str>, change: Change, begins: Instant, yields: bool) {
        let (Some(slot), Some(messages)) = (self.slots.get_mut(plugin), self.messages.upgrade()) else { return };
        let Change { intent, mut steps, reply, .. } = change;
        self.tickets = self.tickets.saturating_add(1);
        let ticket = self.tickets;
        let preparation = Preparation {
            plugin: plugin.clone(),
            config: slot.config.clone(),
            source: intent.source.clone(),
            parked: slot.find_parked(intent.source.hash()),
            serving: slot.serving.as_ref().map(|serving| serving.generation.manifest.clone()),
            allowed: intent.allowed,
        };
        let (parts, plugin) = (self.parts.clone(), plugin.clone());
        let task = tokio::spawn(async move {
            // A timer rounds up to the next millisecond. A change that begins at once must not wait for that.
            if begins > Instant::now() {
                sleep_until(begins).await;
            }
            steps.resume();
            let outcome = prepare::prepare(&parts.loader, &*parts.data, preparation, &mut steps).await;
            let prepared = Prepared { plugin, ticket, outcome, steps };
            let _stopped = messages.send(Message::Prepared(Box::new(prepared))).await;
        });
        slot.preparing = Some(Preparing { ticket, intent, task: task.abort_handle(), begins, reply, yields });
    }

    /// Drops a change. Changes of settings and starts are not recorded: the change that overtakes them takes effect
    /// under the same settings.
    fn drop_overtaken(&mut self, plugin: &Arc<str>, change: Change) {
        let action = change.intent.cause.action;
        if matches!(action, SwapAction::File | SwapAction::Deploy | SwapAction::Rollback) {
            announce::overtaken(plugin, action, change.hash());
            self.parts.loader.metrics().count_swap(plugin, metrics::SwapOutcome::Overtaken);
            let from = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref());
            let hashes = (from.map(|serving| serving.generation.hash.clone()), Some(change.hash().clone()));
            let entry = self.entry(plugin, &change.intent.cause, hashes, SwapOutcome::Overtaken);
            self.overtaken.push(SwapEntry { reasons: vec![OVERTAKEN.to_owned()], ..entry });
        }
        change.reject(SwapError::new(OVERTAKEN));
    }

    /// Writes the lines about overtaken changes, many in one transaction.
    pub(super) async fn record_overtaken(&mut self) {
        while !self.overtaken.is_empty() {
            let some = self.overtaken.len().min(limits::OVERTAKEN_LINES_MAX);
            let lines: Vec<SwapEntry> = self.overtaken.drain(..some).collect();
            if let Err(error) = self.parts.journal.record(lines).await {
                tracing::error!(
                    "failed to write {some} lines about overtaken changes to the journal of swaps: {error}"
                );
            }
        }
    }
}
