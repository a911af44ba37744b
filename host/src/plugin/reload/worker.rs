//! The task that swaps: processes one message after another. Only this task changes the serving generations.
//!
//! Waits only for short steps: the journal, the admission to the data, the table, the settings, and the pruning of
//! folders. Long work runs beside it and ends with a message.

mod confirming;
mod files;
mod first_loads;
mod overtaking;
mod publishing;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use super::{
    AllowedChanges, DeployOptions, PluginStatus, ReloadParts, SwapError, SwapReport,
    journal::{self, SwapAction, SwapEntry},
    prepare::{Ready, Source},
    settle::{Content, FileState},
    slot::{Change, FileChecker, Slot},
    stopping,
};
use crate::{
    config::PluginConfig,
    limits,
    plugin::{load::Steps, watch},
};

pub type ResultSender = oneshot::Sender<Result<SwapReport, SwapError>>;

pub enum Message {
    Deploy {
        plugin: Arc<str>,
        content: Content,
        options: DeployOptions,
        reply: ResultSender,
    },
    Rollback {
        plugin: Arc<str>,
        actor: String,
        /// Hash of a stored component. `None` selects the component that served before.
        to: Option<Arc<str>>,
        reply: ResultSender,
    },
    Status {
        reply: oneshot::Sender<Vec<PluginStatus>>,
    },
    ReloadAll {
        reply: oneshot::Sender<Result<Vec<PluginStatus>, SwapError>>,
    },
    /// Replied to once the first loads of all plugins have ended, or count as ended after a stall.
    FirstLoads {
        reply: oneshot::Sender<()>,
    },
    Shutdown {
        reply: oneshot::Sender<()>,
    },
    /// The check of a component's file has ended.
    ComponentChecked {
        plugin: Arc<str>,
        state: FileState,
        steps: Steps,
    },
    ConfigChecked {
        state: FileState,
    },
    Prepared(Box<Prepared>),
    Drained {
        plugin: Arc<str>,
        generation: u64,
    },
}

/// Cause of a swap.
#[derive(Clone)]
pub struct Cause {
    pub action: SwapAction,
    pub actor: String,
}

impl Cause {
    fn of_host(action: SwapAction) -> Cause {
        let actor = match action {
            SwapAction::File => "file watch",
            SwapAction::Config | SwapAction::Remove => "plugins.toml",
            _ => "host",
        };
        Cause { action, actor: actor.into() }
    }
}

/// The source of a new generation, and the cause of the swap.
#[derive(Clone)]
pub struct Intent {
    pub source: Source,
    pub allowed: AllowedChanges,
    pub cause: Cause,
}

impl Intent {
    /// Returns true if an operator has requested the change and waits for its result.
    pub fn is_command(&self) -> bool {
        matches!(self.cause.action, SwapAction::Deploy | SwapAction::Rollback)
    }

    /// Returns true if the change loads the component that the journal names.
    pub fn is_start(&self) -> bool {
        self.cause.action == SwapAction::Start
    }
}

/// The result of a preparation.
pub struct Prepared {
    plugin: Arc<str>,
    ticket: u64,
    outcome: Result<Ready, SwapError>,
    steps: Steps,
}

pub struct Worker {
    parts: Arc<ReloadParts>,
    inbox: mpsc::Receiver<Message>,
    /// For work beside the task. Weak, so that the task ends when the last handle is dropped.
    messages: mpsc::WeakSender<Message>,
    slots: BTreeMap<Arc<str>, Slot>,
    config_checker: FileChecker,
    config_file: PathBuf,
    watch: watch::Watch,
    tickets: u64,
    /// Prepared changes that wait for first loads of other plugins.
    held: BTreeMap<Arc<str>, Prepared>,
    /// Unwritten journal lines about overtaken changes.
    overtaken: Vec<SwapEntry>,
    settle_waiters: Vec<oneshot::Sender<Vec<PluginStatus>>>,
    load_waiters: Vec<oneshot::Sender<()>>,
}

impl Worker {
    pub fn new(parts: ReloadParts, inbox: mpsc::Receiver<Message>, messages: mpsc::WeakSender<Message>) -> Worker {
        Worker {
            config_file: watch::absolute(&parts.config_file),
            parts: Arc::new(parts),
            inbox,
            messages,
            slots: BTreeMap::new(),
            config_checker: FileChecker::default(),
            watch: watch::Watch::start(),
            tickets: 0,
            held: BTreeMap::new(),
            overtaken: Vec::new(),
            settle_waiters: Vec::new(),
            load_waiters: Vec::new(),
        }
    }

    pub async fn run(mut self, plugins: BTreeMap<Arc<str>, PluginConfig>) {
        self.config_checker.known = files::hash_of(&self.config_file).await;
        for (plugin, config) in plugins {
            self.add_plugin(plugin, config).await;
        }
        self.watch_files();
        let changes = self.watch.changes();
        let mut confirm_timer = confirming::ConfirmTimer::default();
        let mut stall_timer = first_loads::StallTimer::default();
        loop {
            if self.inbox.is_empty() || self.overtaken.len() >= limits::OVERTAKEN_LINES_MAX {
                self.record_overtaken().await;
            }
            self.answer_loaded().await;
            self.answer_settled();
            let confirm_at = confirm_timer.ends_at(self.has_unconfirmed());
            let retry_at = self.slots.values().filter_map(|slot| slot.retry.due()).min();
            let stalls_at = stall_timer.ends_at(self.first_loads_ended());
            tokio::select! {
                message = self.inbox.recv() => match message {
                    Some(Message::Shutdown { reply }) => {
                        self.stop().await;
                        let _gone = reply.send(());
                        return;
                    }
                    Some(message) => self.handle(message).await,
                    None => return self.stop().await,
                },
                files = changes.next() => self.check_files(&files),
                () = confirming::wait_until(confirm_at) => {
                    confirm_timer = confirming::ConfirmTimer::default();
                    self.confirm_journal().await;
                }
                () = confirming::wait_until(retry_at) => self.retry_due(),
                () = confirming::wait_until(stalls_at) => {
                    stall_timer = first_loads::StallTimer::default();
                    self.note_stall();
                }
            }
        }
    }

    async fn stop(&mut self) {
        self.record_overtaken().await;
        for plugin in self.slots.keys().cloned().collect::<Vec<_>>() {
            self.refuse_unpublished(&plugin, stopping).await;
        }
    }

    /// Refuses the changes of a plugin that are being prepared or wait. Records in the journal the changes that an
    /// operator requested.
    async fn refuse_unpublished(&mut self, plugin: &Arc<str>, error: fn() -> SwapError) {
        let Some(slot) = self.slots.get_mut(plugin) else { return };
        let waiting = slot.waiting.take();
        let preparing = slot.preparing.take().map(|preparing| {
            preparing.task.abort();
            Change::new(preparing.intent, Steps::start(), preparing.reply)
        });
        for change in preparing.into_iter().chain(waiting) {
            if change.intent.is_command() {
                let (to, cause) = (change.hash().clone(), change.intent.cause.clone());
                self.record_refused(plugin, Some(to), &cause, &error(), &Steps::start()).await;
            }
            change.reject(error());
        }
    }

    async fn handle(&mut self, message: Message) {
        match message {
            Message::Deploy { plugin, content, options, reply } => self.deploy(plugin, content, options, reply),
            Message::Rollback { plugin, actor, to, reply } => self.rollback(plugin, actor, to, reply).await,
            Message::Status { reply } => drop(reply.send(self.status())),
            Message::FirstLoads { reply } => self.load_waiters.push(reply),
            Message::ReloadAll { reply } => self.reload_all(reply).await,
            Message::ComponentChecked { plugin, state, steps } => self.on_component_checked(plugin, state, steps),
            Message::ConfigChecked { state } => self.on_config_checked(state).await,
            Message::Prepared(prepared) => self.prepared(*prepared).await,
            Message::Drained { plugin, generation } => self.drained(&plugin, generation),
            // Handled by `run`, which ends the loop.
            Message::Shutdown { reply } => drop(reply),
        }
    }

    fn status(&self) -> Vec<PluginStatus> {
        self.slots.iter().map(|(name, slot)| slot.status(name)).collect()
    }

    fn answer_settled(&mut self) {
        if self.settle_waiters.is_empty() || self.config_checker.is_running() || self.slots.values().any(Slot::is_busy)
        {
            return;
        }
        let status = self.status();
        for reply in self.settle_waiters.drain(..) {
            let _gone = reply.send(status.clone());
        }
    }

    fn deploy(&mut self, plugin: Arc<str>, content: Content, options: DeployOptions, reply: ResultSender) {
        if !self.slots.contains_key(&plugin) {
            let _gone = reply.send(Err(unknown(&plugin)));
            return;
        }
        let cause = Cause { action: SwapAction::Deploy, actor: options.actor };
        let intent = Intent { source: Source::Content(content), allowed: options.allowed, cause };
        self.request(&plugin, Change::new(intent, Steps::start(), Some(reply)));
    }

    /// Requests a rollback. Breaking differences are allowed, because a rollback removes the changes of the newer
    /// version. The data must still be readable.
    async fn rollback(&mut self, plugin: Arc<str>, actor: String, to: Option<Arc<str>>, reply: ResultSender) {
        let cause = Cause { action: SwapAction::Rollback, actor };
        match self.find_rollback(&plugin, to).await {
            Ok(source) => {
                let intent = Intent { source, allowed: AllowedChanges::BREAKING, cause };
                let change = Change::new(intent, Steps::start(), Some(reply));
                // The component that the journal names serves or is refused first.
                let serves = self.slots.get(&plugin).is_some_and(|slot| slot.serving.is_some());
                if serves { self.request_now(&plugin, change) } else { self.request(&plugin, change) }
            }
            Err(swap_error) => {
                if self.slots.contains_key(&plugin) {
                    self.record_refused(&plugin, None, &cause, &swap_error, &Steps::start()).await;
                }
                let _gone = reply.send(Err(swap_error));
            }
        }
    }

    async fn find_rollback(&self, plugin: &Arc<str>, to: Option<Arc<str>>) -> Result<Source, SwapError> {
        let slot = self.slots.get(plugin).ok_or_else(|| unknown(plugin))?;
        let serving = slot.serving.as_ref().map(|serving| &serving.generation.hash);
        if let Some(to) = to {
            let is_serving = serving == Some(&to);
            return if is_serving {
                Err(SwapError::new("this component serves already"))
            } else {
                Ok(Source::Kept(to))
            };
        }
        let nothing = || SwapError::new(format!("there is no earlier version of {plugin} to go back to"));
        let serving = serving.ok_or_else(nothing)?;
        if let Some(parked) = &slot.parked {
            return Ok(Source::Kept(parked.hash.clone()));
        }
        let published = self.parts.journal.find_published(plugin, limits::SWAP_HISTORY_MAX).await;
        let published = published.map_err(SwapError::new)?;
        journal::predecessor(&published, serving).map(Source::Kept).ok_or_else(nothing)
    }

    fn drained(&mut self, plugin: &Arc<str>, generation: u64) {
        if let Some(slot) = self.slots.get_mut(plugin) {
            slot.draining.retain(|old| old.facts.generation != generation);
            tracing::debug!(plugin = &**plugin, generation, "the last call on a generation has ended");
        }
    }
}

fn unknown(plugin: &str) -> SwapError {
    SwapError::new(format!("there is no plugin {plugin}: add a section [plugins.{plugin}] to plugins.toml"))
}
