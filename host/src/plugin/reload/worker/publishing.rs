//! The end of a swap: publishes or refuses the change, writes the journal, logs the result, and parks the old
//! generation.

use std::{collections::HashSet, sync::Arc};

use tokio::task::spawn_blocking;

use super::{Cause, Message, Prepared, Worker};
use crate::{
    metrics,
    plugin::{
        generation::Generation,
        load::{Steps, SwapError},
        registry::PublishNow,
        reload::{
            SwapReport, Version, announce,
            journal::{SwapAction, SwapEntry, SwapOutcome},
            prepare::{PANICKED, Ready},
            retry::Retry,
            slot::{Slot, version_of},
        },
    },
};

impl Worker {
    pub(super) async fn prepared(&mut self, prepared: Prepared) {
        // `None`: the change was overtaken while the message was queued.
        let Some(preparing) = self.find_preparing(&prepared) else { return };
        if prepared.outcome.is_ok() && self.waits_for_others(&prepared.plugin, preparing.intent.cause.action) {
            return self.hold(prepared);
        }
        let Prepared { plugin, outcome, mut steps, .. } = prepared;
        let Some(slot) = self.slots.get_mut(&plugin) else { return };
        let Some(preparing) = slot.end_preparing() else { return };
        let (hash, cause) = (preparing.hash().clone(), preparing.intent.cause);
        let mut published = match outcome {
            Ok(ready) => self.publish(&plugin, ready, &cause, &mut steps).await,
            Err(swap_error) => Err(swap_error),
        };
        match &mut published {
            Ok(report) => announce::published(report),
            Err(swap_error) => self.refuse(&plugin, hash, &cause, swap_error, &steps).await,
        }
        if let Some(reply) = preparing.reply {
            let _gone = reply.send(published);
        }
        self.resume_after(&plugin, cause.action);
    }

    /// Builds the table, admits the generation to the data, writes the journal, and publishes the table. This order
    /// ensures that the journal contains every serving generation, and that a serving generation can read all data.
    async fn publish(
        &mut self,
        plugin: &Arc<str>,
        ready: Ready,
        cause: &Cause,
        steps: &mut Steps,
    ) -> Result<SwapReport, SwapError> {
        let Ready { generation, notes } = ready;
        steps.resume();
        let publish_now = self.build_table(self.serving_with(plugin, Some(&generation))).await?;
        let from = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref()).map(|old| old.generation.clone());
        self.parts.data.admit(plugin, &generation.manifest).await?;
        let first_after_start = cause.action == SwapAction::Start;
        if !first_after_start {
            let from_hash = from.as_ref().map(|old| old.hash.clone());
            let entry = self.entry(plugin, cause, (from_hash, Some(generation.hash.clone())), SwapOutcome::Published);
            let version = Some(generation.manifest.version.clone());
            let entry = SwapEntry { version, steps_ms: steps.taken.clone(), ..entry };
            if let Err(swap_error) = self.record_published(entry).await {
                self.admit_again(plugin, from.as_deref()).await;
                return Err(swap_error);
            }
            steps.end("journal");
            self.parts.loader.metrics().count_swap(plugin, metrics::SwapOutcome::Published);
        }
        publish_now();
        steps.end("publish");
        self.install(plugin, &generation, cause.action);
        self.prune().await;
        Ok(SwapReport {
            plugin: plugin.clone(),
            action: cause.action,
            from: from.as_deref().map(version_of),
            to: version_of(&generation),
            generation: generation.facts.generation,
            notes,
            steps_ms: steps.taken.clone(),
        })
    }

    /// Builds the table beside this task, so that a panic there refuses one change and does not end the task.
    async fn build_table(&self, serving: Vec<Arc<Generation>>) -> Result<PublishNow, SwapError> {
        let registry = self.parts.registry.clone();
        let built = spawn_blocking(move || registry.prepare(&serving)).await;
        built.map_err(|_panic| SwapError::new(PANICKED))?.map_err(SwapError::from)
    }

    /// Admits the serving generation to the data again: it keeps serving, so it must be able to write.
    async fn admit_again(&self, plugin: &Arc<str>, serving: Option<&Generation>) {
        let Some(serving) = serving else { return };
        if let Err(reasons) = self.parts.data.admit(plugin, &serving.manifest).await {
            tracing::error!(plugin = &**plugin, "the serving generation cannot write: {}", reasons.join("; "));
        }
    }

    /// Returns all serving generations, with that of one plugin replaced or left out.
    fn serving_with(&self, plugin: &Arc<str>, instead: Option<&Arc<Generation>>) -> Vec<Arc<Generation>> {
        let others = self.slots.iter().filter(|(name, _)| *name != plugin);
        let others = others.filter_map(|(_, slot)| slot.serving.as_ref().map(|serving| serving.generation.clone()));
        others.chain(instead.cloned()).collect()
    }

    fn install(&mut self, plugin: &Arc<str>, generation: &Arc<Generation>, action: SwapAction) {
        let since = (self.parts.clock)();
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if action != SwapAction::Config {
            slot.pending_file = None;
            slot.retry = Retry::default();
        }
        if let Some(old) = slot.replace(generation.clone(), since) {
            self.notify_when_drained(plugin.clone(), old);
        }
    }

    fn notify_when_drained(&self, plugin: Arc<str>, old: Arc<Generation>) {
        let messages = self.messages.clone();
        tokio::spawn(async move {
            old.drained().await;
            if let Some(messages) = messages.upgrade() {
                let drained = Message::Drained { plugin, generation: old.facts.generation };
                let _stopped = messages.send(drained).await;
            }
        });
    }

    /// Logs and records a refused change. `to` is absent if a rollback has no target.
    pub(super) async fn record_refused(
        &mut self,
        plugin: &Arc<str>,
        to: Option<Arc<str>>,
        cause: &Cause,
        swap_error: &SwapError,
        steps: &Steps,
    ) {
        let serving = self.find_serving(plugin);
        announce::refused(plugin, cause.action, serving.as_ref(), &swap_error.reasons, &steps.taken);
        self.parts.loader.metrics().count_swap(plugin, metrics::SwapOutcome::Refused);
        let from = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref()).map(|old| old.generation.hash.clone());
        let entry = self.entry(plugin, cause, (from, to), SwapOutcome::Refused);
        let entry = SwapEntry { reasons: swap_error.reasons.clone(), steps_ms: steps.taken.clone(), ..entry };
        self.record_overtaken().await;
        if let Err(error) = self.parts.journal.record(vec![entry]).await {
            tracing::error!(plugin = &**plugin, "failed to write the journal of swaps: {error}");
        }
    }

    async fn refuse(
        &mut self,
        plugin: &Arc<str>,
        to: Arc<str>,
        cause: &Cause,
        swap_error: &mut SwapError,
        steps: &Steps,
    ) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        // Planned before the line of the journal is written, because it may add a reason.
        let pause = slot.plan_retry(cause.action, &to, swap_error);
        self.record_refused(plugin, Some(to.clone()), cause, swap_error, steps).await;
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        slot.reasons = swap_error.reasons.clone();
        // Another version may serve, so the status must name the refused one.
        if let Some(first) = slot.reasons.first_mut() {
            *first = format!("refused ({} of {}): {first}", cause.action.name(), announce::short_hash(&to));
        }
        if let Some(pause) = pause {
            tracing::info!(plugin = &**plugin, "{plugin}: the next attempt is in {} seconds", pause.as_secs());
        }
        let file_waits = slot.waiting.as_ref().is_some_and(|change| change.intent.cause.action == SwapAction::File);
        let is_of_file = slot.checker.known.as_ref() == Some(&to) && !slot.retry.is_given_up(&to);
        if cause.action == SwapAction::Start && !file_waits && is_of_file {
            // The file had the component that the journal names when it was last read, and may still have it. Any other
            // unchanged file has an older version, which does not replace a version that was published after it.
            slot.checker.known = None;
        }
    }

    fn find_serving(&self, plugin: &Arc<str>) -> Option<Version> {
        self.slots.get(plugin)?.serving.as_ref().map(|serving| version_of(&serving.generation))
    }

    /// Removes a plugin that is no longer in plugins.toml.
    pub(super) async fn remove_plugin(&mut self, plugin: &Arc<str>) {
        let publish_now = match self.build_table(self.serving_with(plugin, None)).await {
            Ok(publish_now) => publish_now,
            Err(SwapError { reasons, .. }) => {
                let serving = self.find_serving(plugin);
                return announce::refused(plugin, SwapAction::Remove, serving.as_ref(), &reasons, &[]);
            }
        };
        let from = self.slots.get(plugin).and_then(|slot| slot.serving.as_ref()).map(|old| old.generation.hash.clone());
        let cause = Cause::of_host(SwapAction::Remove);
        let entry = self.entry(plugin, &cause, (from, None), SwapOutcome::Published);
        if let Err(SwapError { reasons, .. }) = self.record_published(entry).await {
            let serving = self.find_serving(plugin);
            return announce::refused(plugin, SwapAction::Remove, serving.as_ref(), &reasons, &[]);
        }
        publish_now();
        if let Some(slot) = self.slots.get_mut(plugin) {
            slot.serving = None;
        }
        let removed = || SwapError::new("the plugin was removed from plugins.toml meanwhile");
        self.refuse_unpublished(plugin, removed).await;
        self.slots.remove(plugin);
        announce::removed(plugin);
    }

    pub(super) fn entry(
        &self,
        plugin: &Arc<str>,
        cause: &Cause,
        (from, to): (Option<Arc<str>>, Option<Arc<str>>),
        outcome: SwapOutcome,
    ) -> SwapEntry {
        SwapEntry {
            at: (self.parts.clock)(),
            actor: cause.actor.clone(),
            plugin: plugin.clone(),
            action: cause.action,
            from,
            to,
            version: None,
            file_hash: self.slots.get(plugin).and_then(|slot| slot.checker.known.clone()),
            outcome,
            reasons: Vec::new(),
            steps_ms: Vec::new(),
        }
    }

    /// Removes components that are not needed. Skipped while a file is checked or a change is prepared: the next
    /// publication removes them. Awaited, so that no preparation writes to the folders meanwhile.
    async fn prune(&self) {
        // Components about to be loaded are known once the files were read: code that was compiled ahead of a start
        // stays.
        if self.slots.values().any(Slot::is_busy) {
            return;
        }
        let needed: HashSet<Arc<str>> = self.slots.values().flat_map(|slot| slot.needed()).collect();
        let plugins: HashSet<Arc<str>> = self.slots.keys().cloned().collect();
        let loader = self.parts.loader.clone();
        let pruned = spawn_blocking(move || loader.components().prune(loader.engine(), &needed, &plugins)).await;
        if let Ok(Err(error)) = pruned {
            tracing::warn!(%error, "failed to remove old components from the data folder");
        }
    }
}
