//! Handles changes of files: components, and plugins.toml with its plugins.

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
        load::{Steps, SwapError},
        reload::{
            AllowedChanges, PluginStatus,
            journal::SwapAction,
            prepare::Source,
            settle::{self, FileState},
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

    pub(super) fn check_files(&mut self, files: &[PathBuf]) {
        self.watch_files();
        if files.contains(&self.config_file) {
            self.check_config();
        }
        let changed = self.slots.iter().filter(|(_, slot)| files.contains(&slot.file));
        let changed: Vec<Arc<str>> = changed.map(|(plugin, _)| plugin.clone()).collect();
        for plugin in changed {
            self.check_component(&plugin);
        }
    }

    fn check_component(&mut self, plugin: &Arc<str>) {
        let (Some(slot), Some(messages)) = (self.slots.get_mut(plugin), self.messages.upgrade()) else { return };
        if !slot.checker.begin() {
            return;
        }
        let (plugin, file, known) = (plugin.clone(), slot.file.clone(), slot.known_content());
        tokio::spawn(async move {
            let mut steps = Steps::start();
            let state = settle::check_file(&file, known.as_deref()).await;
            steps.end("settle");
            let _stopped = messages.send(Message::ComponentChecked { plugin, state, steps }).await;
        });
    }

    fn check_config(&mut self) {
        let Some(messages) = self.messages.upgrade() else { return };
        if !self.config_checker.begin() {
            return;
        }
        let (file, known) = (self.config_file.clone(), self.config_checker.known.clone());
        tokio::spawn(async move {
            let state = settle::check_file(&file, known.as_deref()).await;
            let _stopped = messages.send(Message::ConfigChecked { state }).await;
        });
    }

    pub(super) fn on_component_checked(&mut self, plugin: Arc<str>, state: FileState, steps: Steps) {
        let Some(slot) = self.slots.get_mut(&plugin) else { return };
        if slot.checker.end() {
            slot.note_overtaken_check(&state);
            return self.check_component(&plugin);
        }
        slot.unread = None;
        match state {
            FileState::Unchanged => {}
            FileState::Changed(content) => {
                slot.checker.known = Some(content.hash.clone());
                let serves = slot.serving.as_ref().is_some_and(|serving| serving.generation.hash == content.hash);
                if serves && slot.preparing.is_none() {
                    slot.pending_file = None;
                    slot.reasons.clear();
                } else {
                    slot.pending_file = Some(content.hash.clone());
                    let cause = Cause::of_host(SwapAction::File);
                    let intent =
                        Intent { source: Source::Content(content), allowed: AllowedChanges::COMPATIBLE, cause };
                    self.request(&plugin, Change::new(intent, steps, None));
                }
            }
            FileState::Missing if slot.serving.is_some() => {}
            FileState::Missing => {
                let reason = format!("{} does not exist; it is loaded when it appears", slot.file.display());
                tracing::warn!(plugin = &*plugin, "waiting for the component of {plugin}: {reason}");
                slot.unread = Some(reason);
            }
            FileState::Unreadable(reason) => {
                tracing::warn!(plugin = &*plugin, "failed to read the component of {plugin}: {reason}");
                slot.unread = Some(reason);
            }
        }
    }

    pub(super) async fn on_config_checked(&mut self, state: FileState) {
        if self.config_checker.end() {
            return self.check_config();
        }
        match state {
            FileState::Changed(content) => {
                self.config_checker.known = Some(content.hash);
                if let Err(swap_error) = self.apply_config().await {
                    tracing::error!("rejected plugins.toml; nothing changed: {swap_error}");
                }
            }
            FileState::Unchanged => {}
            FileState::Missing => {
                tracing::warn!("keeping the last content of plugins.toml, because the file is missing")
            }
            FileState::Unreadable(reason) => tracing::warn!("failed to read plugins.toml: {reason}"),
        }
    }

    pub(super) async fn reload_all(&mut self, reply: oneshot::Sender<Result<Vec<PluginStatus>, SwapError>>) {
        if let Err(swap_error) = self.apply_config().await {
            let _gone = reply.send(Err(swap_error));
            return;
        }
        self.check_files(&self.slots.values().map(|slot| slot.file.clone()).collect::<Vec<_>>());
        let (settled, status) = oneshot::channel();
        self.settle_waiters.push(settled);
        tokio::spawn(async move {
            let status = status.await.map_err(|_| SwapError::new("the host is stopping"));
            let _gone = reply.send(status);
        });
    }

    /// Applies plugins.toml: removes, changes and adds plugins.
    async fn apply_config(&mut self) -> Result<(), SwapError> {
        let read = self.parts.read_plugins.clone();
        let mut sections: BTreeMap<Arc<str>, PluginConfig> =
            spawn_blocking(move || read()).await.map_err(|_| SwapError::new("failed to read plugins.toml"))??;
        let removed: Vec<Arc<str>> =
            self.slots.keys().filter(|plugin| !sections.contains_key(*plugin)).cloned().collect();
        for plugin in removed {
            self.remove_plugin(&plugin).await;
        }
        for plugin in self.slots.keys().cloned().collect::<Vec<_>>() {
            if let Some(config) = sections.remove(&plugin) {
                self.change_plugin(&plugin, config);
            }
        }
        for (plugin, config) in sections {
            self.add_plugin(plugin, config).await;
        }
        self.watch_files();
        Ok(())
    }

    /// Adds a plugin. The version that the journal names serves first. The file is checked afterwards, as after any
    /// change.
    pub(super) async fn add_plugin(&mut self, plugin: Arc<str>, config: PluginConfig) {
        let mut slot = Slot::new(Arc::new(config));
        let published = self.parts.journal.find_published(&plugin, limits::SWAP_HISTORY_MAX).await;
        let last = match published {
            Ok(published) => slot.restore(&published),
            Err(error) => {
                tracing::error!(plugin = &*plugin, "failed to read the journal of swaps, so the file decides: {error}");
                None
            }
        };
        self.slots.insert(plugin.clone(), slot);
        match last {
            Some(hash) => self.load_journaled(&plugin, hash),
            None => self.check_component(&plugin),
        }
    }

    /// Prepares the component that the journal names. The file is checked afterwards.
    fn load_journaled(&mut self, plugin: &Arc<str>, hash: Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        slot.check_next = true;
        let cause = Cause::of_host(SwapAction::Start);
        let intent = Intent { source: Source::Kept(hash), allowed: AllowedChanges::BREAKING, cause };
        self.request_now(plugin, Change::new(intent, Steps::start(), None));
    }

    /// Applies new settings to a plugin. A file that was refused may be valid now, so it is checked again.
    fn change_plugin(&mut self, plugin: &Arc<str>, config: PluginConfig) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if *slot.config == config {
            return;
        }
        slot.file = watch::absolute(&config.component);
        let moved = slot.config.component != config.component;
        slot.config = Arc::new(config);
        slot.settings_pending = true;
        if moved || slot.pending_file.is_some() {
            slot.checker.known = None;
        }
        if let Some(preparing) = slot.preparing.take_if(|preparing| preparing.intent.is_start()) {
            self.prepare_under_new_settings(plugin, preparing);
        } else if let Some(delayed) = slot.preparing.take_if(|preparing| preparing.is_delayed()) {
            self.prepare_under_new_settings(plugin, delayed);
        } else if let Some(change) = slot.waiting.take() {
            // The waiting change is newer than the one that is being prepared. It takes effect under the current
            // settings.
            self.request_now(plugin, change);
        } else if let Some(preparing) = slot.preparing.take_if(|preparing| preparing.intent.is_command()) {
            slot.check_next = true;
            self.prepare_under_new_settings(plugin, preparing);
        } else if slot.serving.is_some() {
            self.prepare_settings(plugin);
        } else if let Some(hash) = slot.journaled.clone() {
            // The journaled component was refused under the old settings. It has precedence over the file, as at a
            // start.
            self.load_journaled(plugin, hash);
        } else {
            slot.checker.known = None;
            self.check_component(plugin);
        }
    }

    /// Prepares the serving component under the current settings.
    fn prepare_settings(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        let Some(serving) = &slot.serving else { return };
        let source = Source::Kept(serving.generation.hash.clone());
        slot.check_next = true;
        let cause = Cause::of_host(SwapAction::Config);
        let intent = Intent { source, allowed: AllowedChanges::COMPATIBLE, cause };
        self.request_now(plugin, Change::new(intent, Steps::start(), None));
    }

    /// Continues after a preparation: begins the waiting change, or else prepares pending settings and performs a
    /// deferred check of the file.
    pub(super) fn resume_after(&mut self, plugin: &Arc<str>, ended: SwapAction) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if let Some(serving) = &slot.serving {
            slot.settings_pending &= ended != SwapAction::Config && *serving.generation.config != *slot.config;
        }
        if !self.begin_waiting(plugin) {
            self.prepare_pending_settings(plugin);
            self.check_if_deferred(plugin);
        }
    }

    /// Prepares a change of settings again after the change that overtook it was refused.
    fn prepare_pending_settings(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if !slot.settings_pending || slot.serving.is_none() {
            return;
        }
        if slot.pending_file.is_some() {
            // The file may be valid under the new settings. If not, the status must report it again.
            slot.checker.known = None;
        }
        self.prepare_settings(plugin);
    }

    /// Prepares refused changes again if their next attempt is due (see `retry`).
    pub(super) fn retry_due(&mut self) {
        let now = Instant::now();
        let due = self.slots.iter().filter(|(_, slot)| slot.retry.due().is_some_and(|due| due <= now));
        for plugin in due.map(|(plugin, _)| plugin.clone()).collect::<Vec<_>>() {
            self.retry(&plugin);
        }
    }

    /// Prepares the journaled version if none serves, or the serving version if its settings changed, and then the
    /// file. Skips components that were given up.
    fn retry(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if slot.is_busy() || slot.waiting.is_some() {
            return slot.retry.postpone();
        }
        slot.retry.begin();
        if slot.awaits_retry_of_file() {
            slot.checker.known = None;
        }
        let is_down = slot.serving.is_none();
        let settings_pending = slot.serving.as_ref().is_some_and(|Serving { generation, .. }| {
            *generation.config != *slot.config && !slot.retry.is_given_up(&generation.hash)
        });
        match slot.journaled.clone().filter(|hash| !slot.retry.is_given_up(hash)) {
            Some(hash) if is_down => self.load_journaled(plugin, hash),
            _ if settings_pending => self.prepare_settings(plugin),
            _ => self.check_component(plugin),
        }
    }

    fn check_if_deferred(&mut self, plugin: &Arc<str>) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        if std::mem::take(&mut slot.check_next) {
            self.check_component(plugin);
        }
    }
}

/// Returns the hash of a file, or `None` if the file cannot be read.
pub async fn hash_of(file: &Path) -> Option<Arc<str>> {
    let file = file.to_owned();
    spawn_blocking(move || settle::hash_file(&file)).await.ok()?.ok()
}
