//! The task that swaps generations, its outcomes, and the handle for its callers.
//!
//! One task performs all swaps of a host, one after the other. Readings of files and preparations (*settle* to *store*)
//! run beside it, for several plugins at once. `compile` limits how many components are compiled at once. The newest
//! change of a plugin wins, and an overtaken preparation is dropped. New settings never drop a deploy or a rollback,
//! but restart its preparation. Invariants: nothing is published that is not in the journal. A failed change leaves the
//! serving generations unchanged and reports its reasons. Settings take effect, or the reasons why they were refused
//! are reported, whatever change overtook them.

#![expect(clippy::disallowed_methods, reason = "starts the task that swaps and its preparations; `shutdown` ends them")]

mod announce;
pub mod check;
pub mod journal;
mod prepare;
mod retry;
pub mod settle;
mod slot;
mod worker;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use self::{
    journal::{SwapAction, SwapJournal},
    worker::{Message, Worker},
};
pub use super::load::SwapError;
use super::{components, load::Loader, registry::Publish};
use crate::manifest::Manifest;
use crate::{config::PluginConfig, limits};

/// Reads the `[plugins.*]` sections. The error contains all mistakes of the file.
pub type ReadPlugins = Arc<dyn Fn() -> Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>> + Send + Sync>;

/// Checks and prepares the data for a new generation. Reasons are sentences for operators.
pub trait DataMigrator: Send + Sync + 'static {
    /// Checks that the generation can read the stored data and that its indexes can be built. Changes nothing. Returns
    /// notes on the cost of the preparation.
    fn check<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        allowed: AllowedChanges,
    ) -> BoxFuture<'a, Result<Vec<String>, Vec<String>>>;
    /// Creates the tables and indexes of the generation. Those of an older generation stay.
    fn prepare<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        allowed: AllowedChanges,
    ) -> BoxFuture<'a, Result<(), Vec<String>>>;
    /// Checks again, immediately before the publication, that the generation can read the stored data. From then on,
    /// rejects data that the generation could not read, whichever generation writes it.
    fn admit<'a>(&'a self, plugin: &'a Arc<str>, manifest: &'a Manifest) -> BoxFuture<'a, Result<(), Vec<String>>>;
}

/// Dependencies of the task.
pub struct ReloadParts {
    pub loader: Arc<Loader>,
    pub registry: Arc<dyn Publish>,
    pub journal: Arc<dyn SwapJournal>,
    pub data: Arc<dyn DataMigrator>,
    pub read_plugins: ReadPlugins,
    /// plugins.toml, to be watched. `read_plugins` reads it.
    pub config_file: PathBuf,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Changes that an operator allows explicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowedChanges {
    /// Differences of the severity `Breaking` (see `compare`).
    pub breaking: bool,
    /// Indexes that stop all writes for longer than `limits::INDEX_SECONDS_MAX`.
    pub slow_indexes: bool,
}

impl AllowedChanges {
    pub const COMPATIBLE: AllowedChanges = AllowedChanges { breaking: false, slow_indexes: false };
    pub const BREAKING: AllowedChanges = AllowedChanges { breaking: true, slow_indexes: false };
}

#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// Name of the operator for the journal.
    pub actor: String,
    pub allowed: AllowedChanges,
}

/// A version of a plugin: its version number, and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub version: String,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
}

/// A swap that was published.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapReport {
    pub plugin: Arc<str>,
    pub action: SwapAction,
    pub from: Option<Version>,
    pub to: Version,
    pub generation: u64,
    /// Differences that operators should know.
    pub notes: Vec<String>,
    /// Milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginState {
    Serving,
    /// Serving, while calls still run on an older generation.
    Draining,
    /// The next generation is being prepared. The current one, if any, keeps serving.
    Preparing,
    /// No generation serves.
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingStatus {
    pub version: Version,
    /// Build profile of the component, according to its manifest. Empty if the manifest has none.
    pub build: String,
    pub generation: u64,
    /// Milliseconds since 1970.
    pub since: u64,
    /// Calls on this generation and on draining ones.
    pub in_flight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    pub name: Arc<str>,
    pub mount: String,
    pub state: PluginState,
    /// Reasons why the last change was refused, or why the file cannot be read. Empty if neither applies.
    pub reasons: Vec<String>,
    pub serving: Option<ServingStatus>,
    /// The parked version that a rollback would publish without loading.
    pub parked: Option<Version>,
    /// Hash of the component that a rollback would load from the data folder. Present only if no version is parked, as
    /// after a restart.
    pub kept: Option<Arc<str>>,
}

/// Handle of the task that swaps. Cheap to clone. The task ends when the last handle is dropped.
#[derive(Clone)]
pub struct Reloader {
    messages: mpsc::Sender<Message>,
}

impl Reloader {
    /// Starts the task with these plugins and begins to load them. [`Reloader::wait_for_first_loads`] waits for them.
    pub fn start(parts: ReloadParts, plugins: BTreeMap<Arc<str>, PluginConfig>) -> (Reloader, JoinHandle<()>) {
        let (messages, inbox) = mpsc::channel(limits::RELOAD_QUEUE);
        let worker = Worker::new(parts, inbox, messages.downgrade());
        let task = tokio::spawn(worker.run(plugins));
        (Reloader { messages }, task)
    }

    /// Publishes a component that an operator sends, whatever the file contains.
    pub async fn deploy(&self, plugin: &str, bytes: Bytes, options: DeployOptions) -> Result<SwapReport, SwapError> {
        let hash = components::hash(&bytes);
        let content = settle::Content { bytes, hash };
        let message = |reply| Message::Deploy { plugin: plugin.into(), content, options, reply };
        self.request(message).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// Publishes the version that served before, or the stored component with the hash `to`. A second rollback without
    /// `to` undoes the first.
    pub async fn rollback(&self, plugin: &str, actor: &str, to: Option<Arc<str>>) -> Result<SwapReport, SwapError> {
        let message = |reply| Message::Rollback { plugin: plugin.into(), actor: actor.into(), to, reply };
        self.request(message).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// Returns the status of all plugins; empty if the task has ended.
    pub async fn status(&self) -> Vec<PluginStatus> {
        self.request(|reply| Message::Status { reply }).await.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Reads plugins.toml and all components again. Returns when nothing is being read or prepared: each plugin serves,
    /// or its status contains the reasons.
    pub async fn reload_all(&self) -> Result<Vec<PluginStatus>, SwapError> {
        self.request(|reply| Message::ReloadAll { reply }).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// Returns true if the task has ended.
    pub fn has_ended(&self) -> bool {
        self.messages.is_closed()
    }

    /// Returns once each plugin has served or was refused, even if newer versions are still being prepared.
    pub async fn wait_for_first_loads(&self) {
        let _ended = self.request(|reply| Message::FirstLoads { reply }).await;
    }

    /// Ends the task. Serving generations keep serving, and preparations are dropped.
    pub async fn shutdown(&self) {
        let _ended = self.request(|reply| Message::Shutdown { reply }).await;
    }

    async fn request<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<Result<T, oneshot::error::RecvError>, SwapError> {
        let (reply, response) = oneshot::channel();
        self.messages.send(message(reply)).await.map_err(|_| stopping())?;
        Ok(response.await)
    }
}

fn stopping() -> SwapError {
    SwapError::new("the host is stopping")
}

#[cfg(test)]
mod tests;
