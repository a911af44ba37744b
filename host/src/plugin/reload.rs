//! The one task that swaps: what asks for a swap, what comes of it, and the handle that everybody else holds.
//!
//! All swaps of a host pass through one task, so that they are decided one after the other. Preparing (settle … compare)
//! happens beside it, for several plugins at once, though only one component is compiled at a time; of one plugin the
//! newest wins, and a preparation that was overtaken is dropped. New settings drop no deploy and no rollback, but have it
//! prepared again. Invariants: nothing is published that the journal does not hold; whatever fails leaves what serves as it
//! was, and says why; settings take effect, or it is said why not, whatever overtook them.

#![expect(clippy::disallowed_methods, reason = "the task that swaps and its preparations; `shutdown` ends them")]

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
pub use super::load::SwapRefusal;
use super::{components, load::Loader, registry::Publish};
use crate::manifest::Manifest;
use crate::{config::PluginConfig, limits};

/// The `[plugins.*]` sections as they are now; every mistake at once where the file is wrong.
pub type ReadPlugins = Arc<dyn Fn() -> Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>> + Send + Sync>;

/// What the data says to a new generation. Reasons are sentences for the operator.
pub trait DataGate: Send + Sync + 'static {
    /// Whether it can read what was written and its indexes can be built; changes nothing. Returns notes (cost).
    fn check<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        passing: Passing,
    ) -> BoxFuture<'a, Result<Vec<String>, Vec<String>>>;
    /// Makes its tables and indexes. What an older generation uses stays.
    fn prepare<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        passing: Passing,
    ) -> BoxFuture<'a, Result<(), Vec<String>>>;
    /// Immediately before it is published: asks once more whether it can read what was written, and sees to it that from
    /// now on nothing else is written, by whatever generation.
    fn admit<'a>(&'a self, plugin: &'a Arc<str>, manifest: &'a Manifest) -> BoxFuture<'a, Result<(), Vec<String>>>;
}

/// What the task works with.
pub struct ReloadParts {
    pub loader: Arc<Loader>,
    pub registry: Arc<dyn Publish>,
    pub journal: Arc<dyn SwapJournal>,
    pub data: Arc<dyn DataGate>,
    pub read_plugins: ReadPlugins,
    /// plugins.toml, to be watched; reading it is for `read_plugins`.
    pub config_file: PathBuf,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// What may pass because somebody said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Differences that break callers of today.
    pub breaking: bool,
    /// Indexes that stop all writes for longer than `limits::INDEX_SECONDS_MAX`.
    pub slow_indexes: bool,
}

impl Passing {
    pub const COMPATIBLE: Passing = Passing { breaking: false, slow_indexes: false };
    pub const BREAKING: Passing = Passing { breaking: true, slow_indexes: false };
}

#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// For the journal.
    pub who: String,
    pub passing: Passing,
}

/// A version of a plugin, as people and as machines name it.
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
    /// Differences that an operator should know of.
    pub notes: Vec<String>,
    /// Milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginState {
    Serving,
    /// Serving, while calls still run on an older generation.
    Draining,
    /// The next generation is being prepared; what serves, serves.
    Preparing,
    /// Nothing was ever published.
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingStatus {
    pub version: Version,
    /// Build profile of the component, by its manifest; empty if the manifest has none.
    pub build: String,
    pub generation: u64,
    /// Milliseconds since 1970.
    pub since: u64,
    /// Calls on it, and on older generations that drain.
    pub in_flight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginStatus {
    pub name: Arc<str>,
    pub mount: String,
    pub state: PluginState,
    /// Why the last attempt was refused; empty where all is well.
    pub reasons: Vec<String>,
    pub serving: Option<ServingStatus>,
    /// What a rollback would publish without loading anything.
    pub parked: Option<Version>,
    /// Hash of what a rollback would load from the data folder, where nothing is parked: as after a restart.
    pub kept: Option<Arc<str>>,
}

/// The way to the task that swaps. Cheap to clone; when the last one is gone, the task ends.
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

    /// Publishes a component that an operator sends, whatever its file says.
    pub async fn deploy(&self, plugin: &str, bytes: Bytes, options: DeployOptions) -> Result<SwapReport, SwapRefusal> {
        let hash = components::hash(&bytes);
        let content = settle::Content { bytes, hash };
        let message = |reply| Message::Deploy { plugin: plugin.into(), content, options, reply };
        self.ask(message).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// Publishes what served before. Twice is there and back again.
    pub async fn rollback(&self, plugin: &str, who: &str) -> Result<SwapReport, SwapRefusal> {
        let message = |reply| Message::Rollback { plugin: plugin.into(), who: who.into(), reply };
        self.ask(message).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// Empty where the task has ended.
    pub async fn status(&self) -> Vec<PluginStatus> {
        self.ask(|reply| Message::Status { reply }).await.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Reads plugins.toml and all components again. Returns when nothing is being read or prepared: each plugin serves, or
    /// its status has the reasons.
    pub async fn reload_all(&self) -> Result<Vec<PluginStatus>, SwapRefusal> {
        self.ask(|reply| Message::ReloadAll { reply }).await?.unwrap_or_else(|_| Err(stopping()))
    }

    /// True if the task has ended: nothing is swapped any more.
    pub fn has_ended(&self) -> bool {
        self.messages.is_closed()
    }

    /// Returns when each plugin has served or was refused once, also while newer versions are being prepared.
    pub async fn wait_for_first_loads(&self) {
        let _ended = self.ask(|reply| Message::FirstLoads { reply }).await;
    }

    /// Ends the task; what serves goes on serving. What is being prepared is dropped.
    pub async fn shutdown(&self) {
        let _ended = self.ask(|reply| Message::Shutdown { reply }).await;
    }

    async fn ask<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> Message,
    ) -> Result<Result<T, oneshot::error::RecvError>, SwapRefusal> {
        let (reply, answer) = oneshot::channel();
        self.messages.send(message(reply)).await.map_err(|_| stopping())?;
        Ok(answer.await)
    }
}

fn stopping() -> SwapRefusal {
    SwapRefusal::because("the host is stopping")
}

#[cfg(test)]
mod tests;
