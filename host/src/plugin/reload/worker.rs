//! The task itself: takes one message after the other, and is the only one that changes what serves.
//!
//! Waits only for the journal and for folders to be listed; everything long runs beside it and comes back as a message.

mod confirming;
mod files;
mod first_loads;
mod overtaking;
mod publishing;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use super::{
    DeployOptions, Passing, PluginStatus, ReloadParts, SwapRefusal, SwapReport,
    journal::{self, SwapAction, SwapEntry},
    prepare::{Ready, Source},
    settle::{Content, Look},
    slot::{Change, Looker, Slot},
    stopping,
};
use crate::{
    config::PluginConfig,
    limits,
    plugin::{load::Steps, watch},
};

pub type Reply = oneshot::Sender<Result<SwapReport, SwapRefusal>>;

pub enum Message {
    Deploy {
        plugin: Arc<str>,
        content: Content,
        options: DeployOptions,
        reply: Reply,
    },
    Rollback {
        plugin: Arc<str>,
        who: String,
        reply: Reply,
    },
    Status {
        reply: oneshot::Sender<Vec<PluginStatus>>,
    },
    ReloadAll {
        reply: oneshot::Sender<Result<Vec<PluginStatus>, SwapRefusal>>,
    },
    /// Answered once each plugin has served or was refused.
    FirstLoads {
        reply: oneshot::Sender<()>,
    },
    Shutdown {
        reply: oneshot::Sender<()>,
    },
    /// A look at a component's file came back.
    Looked {
        plugin: Arc<str>,
        look: Look,
        steps: Steps,
    },
    LookedAtConfig {
        look: Look,
    },
    Prepared(Box<Prepared>),
    Drained {
        plugin: Arc<str>,
        generation: u64,
    },
}

/// Why a swap is made.
#[derive(Clone)]
pub struct Cause {
    pub action: SwapAction,
    pub who: String,
}

impl Cause {
    fn of_the_host(action: SwapAction) -> Cause {
        let who = match action {
            SwapAction::File => "file watch",
            SwapAction::Config | SwapAction::Remove => "plugins.toml",
            _ => "host",
        };
        Cause { action, who: who.into() }
    }
}

/// What is to become a generation, and why.
#[derive(Clone)]
pub struct Intent {
    pub source: Source,
    pub passing: Passing,
    pub cause: Cause,
}

impl Intent {
    /// An operator has asked for it, and waits for what comes of it.
    pub fn is_command(&self) -> bool {
        matches!(self.cause.action, SwapAction::Deploy | SwapAction::Rollback)
    }

    /// The component that the journal names is loaded after a start.
    pub fn is_start(&self) -> bool {
        self.cause.action == SwapAction::Start
    }
}

/// A preparation that came to its end.
pub struct Prepared {
    plugin: Arc<str>,
    ticket: u64,
    outcome: Result<Ready, SwapRefusal>,
    steps: Steps,
}

pub struct Worker {
    parts: Arc<ReloadParts>,
    inbox: mpsc::Receiver<Message>,
    /// For what runs beside the task. Weak: the task ends when nobody holds a handle any more.
    messages: mpsc::WeakSender<Message>,
    slots: BTreeMap<Arc<str>, Slot>,
    config_looker: Looker,
    config_file: PathBuf,
    watch: watch::Watch,
    tickets: u64,
    /// Prepared changes that wait for first loads of other plugins.
    held: BTreeMap<Arc<str>, Prepared>,
    /// Lines about changes that were overtaken, not written yet.
    overtaken: Vec<SwapEntry>,
    settling: Vec<oneshot::Sender<Vec<PluginStatus>>>,
    loading: Vec<oneshot::Sender<()>>,
}

impl Worker {
    pub fn new(parts: ReloadParts, inbox: mpsc::Receiver<Message>, messages: mpsc::WeakSender<Message>) -> Worker {
        Worker {
            config_file: watch::absolute(&parts.config_file),
            parts: Arc::new(parts),
            inbox,
            messages,
            slots: BTreeMap::new(),
            config_looker: Looker::default(),
            watch: watch::Watch::start(),
            tickets: 0,
            held: BTreeMap::new(),
            overtaken: Vec::new(),
            settling: Vec::new(),
            loading: Vec::new(),
        }
    }

    pub async fn run(mut self, plugins: BTreeMap<Arc<str>, PluginConfig>) {
        self.config_looker.known = files::hash_of(&self.config_file).await;
        for (plugin, config) in plugins {
            self.add_plugin(plugin, config).await;
        }
        self.watch_files();
        let changes = self.watch.changes();
        let mut pause = confirming::Pause::default();
        let mut patience = first_loads::Patience::default();
        loop {
            if self.inbox.is_empty() || self.overtaken.len() >= limits::OVERTAKEN_LINES_MAX {
                self.record_overtaken().await;
            }
            self.answer_loaded().await;
            self.answer_settled();
            let confirm_at = pause.ends_at(self.is_in_doubt());
            let retry_at = self.slots.values().filter_map(|slot| slot.retry.due()).min();
            let stalls_at = patience.ends_at(self.first_loads_ended());
            tokio::select! {
                message = self.inbox.recv() => match message {
                    Some(Message::Shutdown { reply }) => {
                        self.stop();
                        let _gone = reply.send(());
                        return;
                    }
                    Some(message) => self.handle(message).await,
                    None => return self.stop(),
                },
                files = changes.next() => self.look_at(&files),
                () = confirming::wait_until(confirm_at) => {
                    pause = confirming::Pause::default();
                    self.confirm_journal().await;
                }
                () = confirming::wait_until(retry_at) => self.retry_due(),
                () = confirming::wait_until(stalls_at) => {
                    patience = first_loads::Patience::default();
                    self.note_stall();
                }
            }
        }
    }

    fn stop(&mut self) {
        for slot in self.slots.values_mut() {
            if let Some(preparing) = slot.preparing.take() {
                preparing.abandon(stopping());
            }
            if let Some(change) = slot.waiting.take() {
                change.answer(stopping());
            }
        }
    }

    async fn handle(&mut self, message: Message) {
        match message {
            Message::Deploy { plugin, content, options, reply } => self.deploy(plugin, content, options, reply),
            Message::Rollback { plugin, who, reply } => self.rollback(plugin, who, reply).await,
            Message::Status { reply } => drop(reply.send(self.status())),
            Message::FirstLoads { reply } => self.loading.push(reply),
            Message::ReloadAll { reply } => self.reload_all(reply).await,
            Message::Looked { plugin, look, steps } => self.looked(plugin, look, steps),
            Message::LookedAtConfig { look } => self.looked_at_config(look).await,
            Message::Prepared(prepared) => self.prepared(*prepared).await,
            Message::Drained { plugin, generation } => self.drained(&plugin, generation),
            // Handled where the loop can end.
            Message::Shutdown { reply } => drop(reply),
        }
    }

    fn status(&self) -> Vec<PluginStatus> {
        self.slots.iter().map(|(name, slot)| slot.status(name)).collect()
    }

    fn answer_settled(&mut self) {
        if self.settling.is_empty() || self.config_looker.is_running() || self.slots.values().any(Slot::is_busy) {
            return;
        }
        let status = self.status();
        for reply in self.settling.drain(..) {
            let _gone = reply.send(status.clone());
        }
    }

    fn deploy(&mut self, plugin: Arc<str>, content: Content, options: DeployOptions, reply: Reply) {
        if !self.slots.contains_key(&plugin) {
            let _gone = reply.send(Err(unknown(&plugin)));
            return;
        }
        let cause = Cause { action: SwapAction::Deploy, who: options.who };
        let intent = Intent { source: Source::Content(content), passing: options.passing, cause };
        self.request(&plugin, Change::new(intent, Steps::start(), Some(reply)));
    }

    /// Callers lose what the newer version brought; that is what a rollback is for. Data still has to be readable.
    async fn rollback(&mut self, plugin: Arc<str>, who: String, reply: Reply) {
        let cause = Cause { action: SwapAction::Rollback, who };
        match self.find_rollback(&plugin).await {
            Ok(source) => {
                let intent = Intent { source, passing: Passing::BREAKING, cause };
                self.request_now(&plugin, Change::new(intent, Steps::start(), Some(reply)));
            }
            Err(refusal) => {
                if self.slots.contains_key(&plugin) {
                    self.record_refusal(&plugin, None, &cause, &refusal, &Steps::start()).await;
                }
                let _gone = reply.send(Err(refusal));
            }
        }
    }

    async fn find_rollback(&self, plugin: &Arc<str>) -> Result<Source, SwapRefusal> {
        let slot = self.slots.get(plugin).ok_or_else(|| unknown(plugin))?;
        let nothing = || SwapRefusal::because(format!("there is no earlier version of {plugin} to go back to"));
        let serving = slot.serving.as_ref().ok_or_else(nothing)?;
        if let Some(parked) = &slot.parked {
            return Ok(Source::Kept(parked.hash.clone()));
        }
        let published = self.parts.journal.find_published(plugin, limits::SWAP_HISTORY_MAX).await;
        let published = published.map_err(SwapRefusal::because)?;
        let earlier = journal::predecessor(&published, &serving.generation.hash);
        earlier.map(Source::Kept).ok_or_else(nothing)
    }

    fn drained(&mut self, plugin: &Arc<str>, generation: u64) {
        if let Some(slot) = self.slots.get_mut(plugin) {
            slot.draining.retain(|old| old.facts.generation != generation);
            tracing::debug!(plugin = &**plugin, generation, "the last call on it has ended");
        }
    }
}

fn unknown(plugin: &str) -> SwapRefusal {
    SwapRefusal::because(format!("there is no plugin {plugin}: add a section [plugins.{plugin}] to plugins.toml"))
}
