//! Builds the host top to bottom, stops it in reverse.
//!
//! Owns the order of things and nothing else: what each room does is its own business.
//!
//! - `progress`: how far the plugins have come.
//! - `rooms`: what is opened, and what connects it. `greeting`: what is printed then. `process`: signals and descriptors.
//! - `serving`: the routes and the calls, as HTTP sees them. `performing`: the tasks of writing calls. `operations`: requests of
//!   operators; `webhooks` and `tasks`: parts of it. `backups`: the one that is being written.
//!   `seeds`, `chains`: parts of it, too. `networks`: the blockchains that there are.
//!   `audit`: the tenants' journal; `clients`: what they ask of OAuth; `oauth`: what that is made of.
//! - `outside`: what runs plugins, at once and later.
//! - `stores`: what rooms ask of the database. `development`: the demo key. `upkeep`: what runs beside requests.
//!   `folder`: what the data folder has lost. `examine`: `tenon db check`. `encryption`: TLS inwards and outwards.

#![expect(clippy::disallowed_methods, reason = "the place where tasks are started; `stop` ends them")]

mod allocator;
pub mod audit;
mod backups;
mod chains;
mod check;
mod clients;
mod development;
mod encryption;
mod examine;
mod folder;
mod greeting;
mod networks;
mod oauth;
mod operations;
mod outside;
mod performing;
mod process;
mod progress;
mod rooms;
mod seeds;
mod serving;
mod stores;
mod tasks;
mod upkeep;
mod webhooks;

use std::{
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    admin::token,
    budget::machine,
    chains::Watching,
    clock::Clock,
    config::{Config, ConfigError, Environment, memory_plan::Plan},
    db::apply::Failpoint,
    delivery::Delivery,
    destinations::Destinations,
    feed::Feeds,
    http,
    limits::STOP_GRACE_MS,
    plugin::{call::Calls, compile::Program, native::Natives, registry::Registry},
    stop::told,
    tasks::Tasks,
};

pub use allocator::return_freed_memory;
use backups::Backups;
pub use backups::report as backup_report;
pub use check::{check_component, check_plugins, compile_components};
use encryption::load_tls;
pub use examine::{CheckLine, CheckRemedy, CheckState, Examination, ExaminationReport, Pages, examine};
use performing::{Ongoing, Performer};
use process::{HostSignals, survive_file_size_limit};
pub use process::{disable_huge_pages, raise_descriptor_limit, signalled};
use rooms::{Owners, Rooms, open_rooms};
use serving::Serving;
pub use serving::Table;
use upkeep::Upkeep;

/// What the command line has prepared.
pub struct Start {
    pub config: Config,
    /// Bound already, so that a taken port is named together with its flag.
    pub interfaces: TcpListener,
    pub operators: TcpListener,
    /// Plugins that are compiled in; `tenon` has none.
    pub natives: Natives,
    /// Compiles components.
    pub compiler: Program,
    /// Reads plugins.toml again, with the same flags and variables.
    pub reload: Reload,
}

/// Reads the configuration again.
pub type Reload = Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;

/// A host that runs.
pub struct Host {
    /// Of the interfaces, of the operators.
    addresses: (SocketAddr, SocketAddr),
    demo_key: Option<(String, PathBuf)>,
    calls: Arc<Calls>,
    ongoing: Ongoing,
    stop: watch::Sender<bool>,
    /// Ends the operators' listener, with the time at which it cuts what still runs.
    stop_operators: oneshot::Sender<Instant>,
    http: JoinHandle<http::Stopped>,
    admin: JoinHandle<http::Stopped>,
    upkeep: Upkeep,
    delivery: Delivery,
    /// Tasks that call plugins without a request: `None` until the plugins are loaded.
    tasks: Option<Tasks>,
    watching: Option<Watching>,
    stopped: watch::Receiver<bool>,
    feed: JoinHandle<()>,
    backups: Backups,
    rooms: Rooms,
    owners: Owners,
}

/// Runs until the process is told to stop; a second signal ends it at once.
pub async fn serve(start: Start) -> anyhow::Result<()> {
    survive_file_size_limit()?;
    let mut signals = HostSignals::listen()?;
    let mut host = tokio::select! {
        biased;
        host = open(start, Clock::system()) => host?,
        // Nothing was answered yet, so nothing has to be finished.
        () = signals.next() => return Ok(()),
    };
    let loaded = tokio::select! {
        loaded = host.load() => Some(loaded),
        () = signals.next() => None,
    };
    let ended = match loaded {
        Some(Ok(())) => {
            // The host serves also if its output cannot be written: a closed terminal, a full disk.
            let _unread = io::stdout().write_all(host.describe().await.as_bytes());
            tokio::select! {
                () = signals.next() => Ok(()),
                why = end_of_swaps(&mut host.owners.swaps) => Err(anyhow::anyhow!("{why}")),
            }
        }
        // Plugins serve already: their requests finish as well.
        Some(Err(error)) => Err(error.context("starting timers and effects")),
        None => Ok(()),
    };
    tracing::info!("stopping: running requests finish first; a second signal ends at once");
    tokio::select! {
        () = host.stop() => ended,
        () = signals.next() => anyhow::bail!("ended by a second signal; what was acknowledged is safe"),
    }
}

/// Opens everything and loads the plugins. A plugin that does not load does not keep the others from serving: `tenon plugin
/// list` says why.
pub async fn start(start: Start, clock: Clock) -> anyhow::Result<Host> {
    let mut host = open(start, clock).await?;
    host.load().await?;
    Ok(host)
}

/// Opens everything. Both listeners answer from then on, and each plugin serves as soon as it is ready.
async fn open(start: Start, clock: Clock) -> anyhow::Result<Host> {
    let Start { config, interfaces, operators, natives, compiler, reload } = start;
    let addresses = (interfaces.local_addr()?, operators.local_addr()?);
    let oauth = oauth::settings(&config, addresses.0)?;
    let plan = Plan::of(&config, machine::memory_bytes());
    for warning in plan.warnings(&config) {
        tracing::warn!("{warning}");
    }
    let (rooms, owners) = open_rooms(Arc::new(config), (natives, compiler), (reload, oauth), clock).await?;
    // A destination may be a plugin of this host behind its public address; loops between them end by the count of hops.
    rooms.client.refuse_listeners(vec![addresses.1]);
    rooms.webhook_client.refuse_listeners(vec![addresses.0, addresses.1]);
    let token = token::load_or_create(&rooms.config.data_dir)?;
    let tls = load_tls(&rooms.config)?;
    let (stop, stopped) = watch::channel(false);
    let delivery = Delivery::start(rooms.delivery(), stopped.clone()).await?;
    let upkeep = Upkeep::start(upkeep::Parts {
        database: rooms.database.clone(),
        keys: rooms.keys.clone(),
        config: rooms.config.clone(),
        clock: rooms.clock.clone(),
        webhooks: rooms.metrics.delivery(),
        tasks: rooms.metrics.tasks(),
        tls: tls.clone(),
        stopped: stopped.clone(),
    });
    let demo_key = development::demo_key(&rooms.config, &rooms.keys, rooms.clock.now()).await?;
    let calls = rooms.calls(upkeep.disk());
    let backups = rooms.backups();
    let beside = (upkeep.disk(), delivery.views(), backups.clone(), tls.clone());
    let router = rooms.operators(token, beside, stopped.clone());
    let settings = rooms.config.http.clone();
    let (stop_operators, operators_stopped) = oneshot::channel();
    let admin = tokio::spawn(http::serve_router(operators, settings, router, async move {
        operators_stopped.await.unwrap_or_else(|_host_is_gone| Instant::now())
    }));
    let (feeds, feed) = Feeds::start(rooms.database.clone(), rooms.budget.clone(), &rooms.committer, stopped.clone());
    let ongoing = Ongoing::default();
    let performer = Performer { registry: rooms.registry.clone(), calls: calls.clone() };
    let service = rooms.service(
        Serving { performer, ongoing: ongoing.clone(), configured: rooms.configured.clone(), feeds },
        addresses.0,
    );
    rooms.neighbours.open(serving::visits(&service, rooms.registry.clone()));
    let http = tokio::spawn(http::serve(interfaces, tls, service, stopping(stopped.clone())));
    Ok(Host {
        addresses,
        demo_key,
        calls,
        ongoing,
        stop,
        stop_operators,
        http,
        admin,
        upkeep,
        delivery,
        tasks: None,
        watching: None,
        stopped,
        feed,
        backups,
        rooms,
        owners,
    })
}

impl Host {
    /// Returns when each plugin has served or was refused once. Timers and effects run from then on: what they call is there.
    async fn load(&mut self) -> anyhow::Result<()> {
        progress::follow(&self.rooms.reloader, self.rooms.loader.progress()).await;
        folder::report_lost_components(&self.rooms.config, &self.rooms.database).await;
        // Each is stored at once: a stop awaits what has started, also where this ends between the two.
        self.tasks = Some(Tasks::start(self.rooms.tasks(self.calls.clone()), self.stopped.clone()).await?);
        self.watching = Some(Watching::start(self.rooms.watching(), self.stopped.clone()).await?);
        Ok(())
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses.0
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.addresses.1
    }

    /// What requests run through, for those who measure it.
    pub fn calls(&self) -> (&Arc<Calls>, &Arc<Registry<Table>>) {
        (&self.calls, &self.rooms.registry)
    }

    /// What calls to the outside run through.
    pub fn destinations(&self) -> &Destinations {
        &self.rooms.destinations
    }

    /// Lets the next batch go wrong, for tests.
    #[doc(hidden)]
    pub fn fail_next_batch(&self, failpoint: Failpoint) {
        *self.owners.failpoints.0.lock() = Some(failpoint);
    }

    /// In reverse: requests finish, nothing new is swapped, what was accepted becomes durable, the file is closed. Operators and probes
    /// are answered until requests have finished.
    pub async fn stop(self) {
        let until = Instant::now() + Duration::from_millis(self.rooms.config.http.shutdown_ms);
        let _ = self.stop.send(true);
        let cut = match self.http.await {
            Ok(http::Stopped { cut }) => cut,
            Err(error) => {
                tracing::error!("the listener failed: {error}");
                0
            }
        };
        if !self.ongoing.end(until).await {
            tracing::warn!("calls that took longer than http.shutdown-ms were cut");
        }
        self.backups.stop().await;
        self.rooms.reloader.shutdown().await;
        if let Some(swaps) = self.owners.swaps {
            let _ = swaps.await;
        }
        let last_answers = Instant::now() + Duration::from_millis(STOP_GRACE_MS);
        let _ended = self.stop_operators.send(until.max(last_answers));
        let _ = self.admin.await;
        self.upkeep.stop().await;
        let _ = self.feed.await;
        if let Some(watching) = self.watching {
            watching.stop().await;
        }
        if let Some(tasks) = self.tasks {
            tasks.stop().await;
        }
        self.delivery.stop().await;
        self.owners.committer.shutdown().await;
        networks::close(self.rooms.simulated.as_deref()).await;
        if let Err(error) = self.rooms.database.close().await {
            tracing::warn!("the database was not closed in order, which harms nothing: {error}");
        }
        match cut {
            0 => tracing::info!("stopped cleanly: every request finished, the database is closed"),
            cut => tracing::warn!("stopped; {cut} connections were cut: they took longer than http.shutdown-ms"),
        }
    }
}

/// Returns when the task that swaps ends though the host does not stop: nothing can be deployed any more. The reason is a sentence.
async fn end_of_swaps(swaps: &mut Option<JoinHandle<()>>) -> String {
    let Some(task) = swaps else { return std::future::pending().await };
    let ended = task.await;
    // A handle is awaited once.
    *swaps = None;
    let why = ended.err().map_or("it returned".to_owned(), |error| error.to_string());
    format!("the task that swaps plugins has ended ({why}); the host stops, so that it is started again")
}

fn as_function(clock: &Clock) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

/// The same for who keeps it.
async fn stopping(mut stopped: watch::Receiver<bool>) {
    told(&mut stopped).await;
}

/// Development prints what production would not.
fn is_development(config: &Config) -> bool {
    config.environment == Environment::Development
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_the_task_that_swaps_ends_the_host() {
        let mut swaps = Some(tokio::spawn(async { panic!("in a test") }));
        let why = end_of_swaps(&mut swaps).await;
        assert!(why.contains("panicked"), "{why}");
        assert!(swaps.is_none(), "stopping the host does not await it again");
    }
}
