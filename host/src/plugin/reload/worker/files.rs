//! What changes of files come to: components, and plugins.toml with the plugins that it names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{sync::oneshot, task::spawn_blocking, time::Instant};

use super::{Cause, Intent, Message, Worker};
use crate::{
    config::PluginConfig,
    limits,
    plugin::{
        load::{Steps, SwapRefusal},
        reload::{
            Passing, PluginStatus,
            journal::SwapAction,
            prepare::Source,
            settle::{self, Look},
            slot::{Change, Serving, Slot},
        },
        watch,
    },
};

impl Worker {
    pub(super) fn watch_files(&mut self) {
        let files = self.slots.values().map(|slot| slot.file.clone()).chain([self.config_file.clone()]);
        let files: Vec<PathBuf> = files.collect();
        self.watch.set_files(files);
    }

    pub(super) fn look_at(&mut self, files: &[PathBuf]) {
        self.watch_files();
        if files.contains(&self.config_file) {
            self.look_at_config();
        }
        let changed = self.slots.iter().filter(|(_, slot)| files.contains(&slot.file));
        let changed: Vec<Arc<str>> = changed.map(|(plugin, _)| plugin.clone()).collect();
        for plugin in changed {
            self.look_at_component(&plugin);
        }
    }

    fn look_at_component(&mut self, plugin: &Arc<str>) {
        let (Some(slot), Some(messages)) = (self.slots.get_mut(plugin), self.messages.upgrade()) else { return };
        if !slot.looker.begin() {
            return;
        }
        let (plugin, file, known) = (plugin.clone(), slot.file.clone(), slot.known_content());
        tokio::spawn(async move {
            let mut steps = Steps::start();
            let look = settle::look(&file, known.as_deref()).await;
            steps.end("settle");
            let _stopped = messages.send(Message::Looked { plugin, look, steps }).await;
        });
    }

    fn look_at_config(&mut self) {
        let Some(messages) = self.messages.upgrade() else { return };
        if !self.config_looker.begin() {
            return;
        }
        let (file, known) = (self.config_file.clone(), self.config_looker.known.clone());
        tokio::spawn(async move {
            let look = settle::look(&file, known.as_deref()).await;
            let _stopped = messages.send(Message::LookedAtConfig { look }).await;
        });
    }

    pub(super) fn looked(&mut self, plugin: Arc<str>, look: Look, steps: Steps) {
        let Some(slot) = self.slots.get_mut(&plugin) else { return };
        if slot.looker.end() {
            slot.note_overtaken_check(&look);
            return self.look_at_component(&plugin);
        }
        slot.unread = None;
        match look {
            Look::Same => {}
            Look::New(content) => {
                slot.looker.known = Some(content.hash.clone());
                let serves = slot.serving.as_ref().is_some_and(|serving| serving.generation.hash == content.hash);
                if serves && slot.preparing.is_none() {
                    slot.pending_file = None;
                    slot.reasons.clear();
                } else {
                    slot.pending_file = Some(content.hash.clone());
                    let cause = Cause::of_the_host(SwapAction::File);
                    let intent = Intent { source: Source::Content(content), passing: Passing::COMPATIBLE, cause };
                    self.request(&plugin, Change::new(intent, steps, None));
                }
            }
            Look::Missing if slot.serving.is_some() => {}
            Look::Missing => {
                let reason = format!("{} does not exist; it is loaded when it appears", slot.file.display());
                tracing::warn!(plugin = &*plugin, "{plugin}: {reason}");
                slot.unread = Some(reason);
            }
            Look::Unreadable(reason) => {
                tracing::warn!(plugin = &*plugin, "{plugin}: {reason}");
                slot.unread = Some(reason);
            }
        }
    }

    pub(super) async fn looked_at_config(&mut self, look: Look) {
        if self.config_looker.end() {
            return self.look_at_config();
        }
        match look {
            Look::New(content) => {
                self.config_looker.known = Some(content.hash);
                if let Err(refusal) = self.apply_config().await {
                    tracing::error!("plugins.toml is not used as it is now, nothing changed: {refusal}");
                }
            }
            Look::Same => {}
            Look::Missing => tracing::warn!("plugins.toml is gone; what it said last stays in force"),
            Look::Unreadable(reason) => tracing::warn!("{reason}"),
        }
    }

    pub(super) async fn reload_all(&mut self, reply: oneshot::Sender<Result<Vec<PluginStatus>, SwapRefusal>>) {
        if let Err(refusal) = self.apply_config().await {
            let _gone = reply.send(Err(refusal));
            return;
        }
        self.look_at(&self.slots.values().map(|slot| slot.file.clone()).collect::<Vec<_>>());
        let (settled, status) = oneshot::channel();
        self.settling.push(settled);
        tokio::spawn(async move {
            let status = status.await.map_err(|_| SwapRefusal::because("the host is stopping"));
            let _gone = reply.send(status);
        });
    }

    /// Takes plugins.toml over: plugins that left, plugins that came, plugins whose section changed.
    async fn apply_config(&mut self) -> Result<(), SwapRefusal> {
        let read = self.parts.read_plugins.clone();
        let mut wanted: BTreeMap<Arc<str>, PluginConfig> = spawn_blocking(move || read())
            .await
            .map_err(|_| SwapRefusal::because("plugins.toml could not be read"))??;
        let gone: Vec<Arc<str>> = self.slots.keys().filter(|plugin| !wanted.contains_key(*plugin)).cloned().collect();
        for plugin in gone {
            self.remove_plugin(&plugin).await;
        }
        for plugin in self.slots.keys().cloned().collect::<Vec<_>>() {
            if let Some(config) = wanted.remove(&plugin) {
                self.change_plugin(&plugin, config);
            }
        }
        for (plugin, config) in wanted {
            self.add_plugin(plugin, config).await;
        }
        self.watch_files();
        Ok(())
    }

    /// What the journal says serves first; the file is looked at afterwards, as after any change.
    pub(super) async fn add_plugin(&mut self, plugin: Arc<str>, config: PluginConfig) {
        let mut slot = Slot::new(Arc::new(config));
        let published = self.parts.journal.find_published(&plugin, limits::SWAP_HISTORY_MAX).await;
        let last = match published {
            Ok(published) => slot.remember(&published),
            Err(error) => {
                tracing::error!(plugin = &*plugin, "the journal of swaps cannot be read, the file decides: {error}");
                None
            }
        };
        self.slots.insert(plugin.clone(), slot);
        match last {
            Some(hash) => self.load_journaled(&plugin, hash),
            None => self.look_at_component(&plugin),
        }
    }

    /// Prepares the component that the journal names. The file is checked afterwards.
    fn load_journaled(&mut self, plugin: &Arc<str>, hash: Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        slot.then_look = true;
        let cause = Cause::of_the_host(SwapAction::Start);
        let intent = Intent { source: Source::Kept(hash), passing: Passing::BREAKING, cause };
        self.request_now(plugin, Change::new(intent, Steps::start(), None));
    }

    /// The same component under new settings. A file that was refused may pass now, so it is looked at again.
    fn change_plugin(&mut self, plugin: &Arc<str>, config: PluginConfig) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if *slot.config == config {
            return;
        }
        slot.file = watch::absolute(&config.component);
        let moved = slot.config.component != config.component;
        slot.config = Arc::new(config);
        slot.owes_settings = true;
        if moved || slot.pending_file.is_some() {
            slot.looker.known = None;
        }
        if let Some(preparing) = slot.preparing.take_if(|preparing| preparing.intent.is_start()) {
            self.prepare_under_new_settings(plugin, preparing);
        } else if let Some(delayed) = slot.preparing.take_if(|preparing| preparing.is_delayed()) {
            self.prepare_under_new_settings(plugin, delayed);
        } else if let Some(change) = slot.waiting.take() {
            // It is newer than what is being prepared, and takes effect under the settings of now.
            self.request_now(plugin, change);
        } else if let Some(preparing) = slot.preparing.take_if(|preparing| preparing.intent.is_command()) {
            slot.then_look = true;
            self.prepare_under_new_settings(plugin, preparing);
        } else if slot.serving.is_some() {
            self.prepare_settings(plugin);
        } else if let Some(hash) = slot.journaled.clone() {
            // It was refused under the settings before, and precedes the file as after a start.
            self.load_journaled(plugin, hash);
        } else {
            slot.looker.known = None;
            self.look_at_component(plugin);
        }
    }

    /// What serves, under the settings of now.
    fn prepare_settings(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        let Some(serving) = &slot.serving else { return };
        let source = Source::Kept(serving.generation.hash.clone());
        slot.then_look = true;
        let cause = Cause::of_the_host(SwapAction::Config);
        let intent = Intent { source, passing: Passing::COMPATIBLE, cause };
        self.request_now(plugin, Change::new(intent, Steps::start(), None));
    }

    /// Continues after a preparation: with the change that waits, with pending settings, or with a deferred check of the file.
    pub(super) fn resume_after(&mut self, plugin: &Arc<str>, ended: SwapAction) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if let Some(serving) = &slot.serving {
            slot.owes_settings &= ended != SwapAction::Config && *serving.generation.config != *slot.config;
        }
        if !self.begin_waiting(plugin) {
            self.prepare_owed_settings(plugin);
            self.look_if_put_off(plugin);
        }
    }

    /// Prepares a change of settings again after the change that overtook it was refused.
    fn prepare_owed_settings(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if !slot.owes_settings || slot.serving.is_none() {
            return;
        }
        if slot.pending_file.is_some() {
            // The settings may let it pass, and if not, the status has to say so again.
            slot.looker.known = None;
        }
        self.prepare_settings(plugin);
    }

    /// Prepares again what was refused for a cause outside of its component.
    pub(super) fn retry_due(&mut self) {
        let now = Instant::now();
        let due = self.slots.iter().filter(|(_, slot)| slot.retry.due().is_some_and(|due| due <= now));
        for plugin in due.map(|(plugin, _)| plugin.clone()).collect::<Vec<_>>() {
            self.retry(&plugin);
        }
    }

    /// Prepares the version that serves or was journaled first, then the file. Components that were given up are left out.
    fn retry(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if slot.is_busy() || slot.waiting.is_some() {
            return slot.retry.postpone();
        }
        slot.retry.begin();
        if slot.awaits_retry_of_file() {
            slot.looker.known = None;
        }
        let is_down = slot.serving.is_none();
        let owes_settings = slot.serving.as_ref().is_some_and(|Serving { generation, .. }| {
            *generation.config != *slot.config && !slot.retry.is_given_up(&generation.hash)
        });
        match slot.journaled.clone().filter(|hash| !slot.retry.is_given_up(hash)) {
            Some(hash) if is_down => self.load_journaled(plugin, hash),
            _ if owes_settings => self.prepare_settings(plugin),
            _ => self.look_at_component(plugin),
        }
    }

    fn look_if_put_off(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if std::mem::take(&mut slot.then_look) {
            self.look_at_component(plugin);
        }
    }
}

/// Hash of a file as it is; `None` where it cannot be read.
pub async fn hash_of(file: &Path) -> Option<Arc<str>> {
    let file = file.to_owned();
    spawn_blocking(move || settle::hash_file(&file)).await.ok()?.ok()
}
