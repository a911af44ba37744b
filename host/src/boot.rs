//! Starts the subsystems of the host in dependency order, connects them, and stops them in reverse order.
//!
//! This module implements traits of other modules to connect them, but contains no logic of theirs.
//!
//! - `subsystems`: opens and connects the subsystems. `dependencies`: dependencies of the subsystems that call plugins.
//! - `serving`: connects routes and plugin calls to HTTP. `performing`: runs the calls of requests.
//! - `oauth`: settings and storage of OAuth.
//! - `networks`: opens the blockchain networks. `encryption`: TLS of the listener and of outgoing connections.
//! - `maintenance`: background tasks. `banner`: text after the start.
//! - `folder`: consistency of the data folder. `development`: the demo key. `process`: signals and resource limits.
//! - `check`: `tenon plugin check`, `tenon plugin compile` and `tenon config check`. `examine`: `tenon db check`.
//! - `allocator`: settings of the memory allocators.

#![expect(clippy::disallowed_methods, reason = "long-running tasks are started here; `stop` ends them")]

mod allocator;
mod banner;
mod check;
mod dependencies;
mod development;
mod encryption;
mod examine;
mod folder;
mod maintenance;
mod networks;
mod oauth;
mod performing;
mod process;
mod serving;
mod subsystems;

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
    admin::{RunningActions, backup_task::Backups, token},
    budget::machine,
    chains::ChainWatchers,
    clock::Clock,
    config::{Config, ConfigError, Environment, memory_plan::Plan},
    db::apply::Failpoint,
    delivery::Delivery,
    destinations::Destinations,
    feed::Feeds,
    http,
    limits::STOP_GRACE_MS,
    plugin::{
        call::Calls,
        compile::Program,
        native::Natives,
        progress,
        registry::{Registry, Table},
    },
    shutdown::requested,
    tasks::Tasks,
};

pub use allocator::return_freed_memory;
pub use check::{check_component, check_plugins, compile_components};
use encryption::load_tls;
pub use examine::{CheckLine, CheckRemedy, CheckState, Examination, ExaminationReport, Pages, examine};
use maintenance::Maintenance;
use performing::{DetachedCalls, Performer};
use process::{HostSignals, survive_file_size_limit};
pub use process::{disable_huge_pages, raise_descriptor_limit, shutdown_signal};
use serving::Serving;
use subsystems::{OwnerTasks, Subsystems, open_subsystems};

/// Inputs of a start, prepared by the command line.
pub struct Start {
    pub config: Config,
    /// Already bound, so that the error for a used port names its flag.
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

/// A running host.
pub struct Host {
    /// Addresses of the interfaces and of the operators' listener.
    addresses: (SocketAddr, SocketAddr),
    demo_key: Option<(String, PathBuf)>,
    calls: Arc<Calls>,
    detached_calls: DetachedCalls,
    stop: watch::Sender<bool>,
    /// Stops the operators' listener, with the time at which it cuts running requests.
    stop_operators: oneshot::Sender<Instant>,
    http: JoinHandle<http::ServeOutcome>,
    admin: JoinHandle<http::ServeOutcome>,
    maintenance: Maintenance,
    delivery: Delivery,
    /// Tasks that call plugins without a request. `None` until the plugins are loaded.
    tasks: Option<Tasks>,
    chain_watchers: Option<ChainWatchers>,
    stopped: watch::Receiver<bool>,
    feed: JoinHandle<()>,
    backups: Backups,
    actions: RunningActions,
    subsystems: Subsystems,
    owner_tasks: OwnerTasks,
}

/// Runs the host until the process receives a shutdown signal, or until the task that swaps plugins ends. A second
/// signal ends the host immediately.
pub async fn serve(start: Start) -> anyhow::Result<()> {
    survive_file_size_limit()?;
    let mut signals = HostSignals::listen()?;
    let mut host = tokio::select! {
        biased;
        host = open(start, Clock::system()) => host?,
        // No request was accepted yet, so no request has to finish.
        () = signals.next() => return Ok(()),
    };
    let loaded = tokio::select! {
        loaded = host.load() => Some(loaded),
        () = signals.next() => None,
    };
    let ended = match loaded {
        Some(Ok(())) => {
            // The host serves even if its output cannot be written (closed terminal, full disk).
            let _result = io::stdout().write_all(host.describe().await.as_bytes());
            tokio::select! {
                () = signals.next() => Ok(()),
                reason = end_of_swaps(&mut host.owner_tasks.swaps) => Err(anyhow::anyhow!("{reason}")),
            }
        }
        // Plugins serve already, so the stop below lets their requests finish.
        Some(Err(error)) => Err(error.context("starting timers and effects")),
        None => Ok(()),
    };
    tracing::info!("stopping: running requests finish first; a second signal ends the host immediately");
    tokio::select! {
        () = host.stop() => ended,
        () = signals.next() => anyhow::bail!("ended by a second signal; acknowledged changes are durable"),
    }
}

/// Starts the host and loads the plugins. A plugin that fails to load does not prevent the others from serving. `tenon
/// plugin list` shows the reason.
pub async fn start(start: Start, clock: Clock) -> anyhow::Result<Host> {
    let mut host = open(start, clock).await?;
    host.load().await?;
    Ok(host)
}

/// Opens the subsystems and both listeners. The listeners answer from then on, and each plugin serves as soon as it is
/// ready.
async fn open(start: Start, clock: Clock) -> anyhow::Result<Host> {
    let Start { config, interfaces, operators, natives, compiler, reload } = start;
    let addresses = (interfaces.local_addr()?, operators.local_addr()?);
    let oauth = oauth::settings(&config, addresses.0)?;
    let plan = Plan::of(&config, machine::memory_bytes());
    for warning in plan.warnings(&config) {
        tracing::warn!("{warning}");
    }
    let (subsystems, owner_tasks) =
        open_subsystems(Arc::new(config), (natives, compiler), (reload, oauth), clock).await?;
    // A destination may be a plugin of this host behind its public address. The hop limit ends loops between plugins.
    subsystems.client.block_listeners(vec![addresses.1]);
    subsystems.webhook_client.block_listeners(vec![addresses.0, addresses.1]);
    let token = token::load_or_create(&subsystems.config.data_dir)?;
    let tls = load_tls(&subsystems.config)?;
    let (stop, stopped) = watch::channel(false);
    let delivery = Delivery::start(subsystems.delivery(), stopped.clone()).await?;
    let maintenance = Maintenance::start(maintenance::Parts {
        database: subsystems.database.clone(),
        keys: subsystems.keys.clone(),
        config: subsystems.config.clone(),
        clock: subsystems.clock.clone(),
        webhooks: subsystems.metrics.delivery(),
        tasks: subsystems.metrics.tasks(),
        tls: tls.clone(),
        stopped: stopped.clone(),
    });
    let demo_key = development::demo_key(&subsystems.config, &subsystems.keys, subsystems.clock.now()).await?;
    let calls = subsystems.calls(maintenance.disk());
    let backups = subsystems.backups();
    let actions = RunningActions::default();
    let shared = (maintenance.disk(), delivery.views(), (backups.clone(), actions.clone()), tls.clone());
    let router = subsystems.operators(token, shared, stopped.clone());
    let settings = subsystems.config.http.clone();
    let (stop_operators, operators_stopped) = oneshot::channel();
    let admin = tokio::spawn(http::serve_router(operators, settings, router, async move {
        operators_stopped.await.unwrap_or_else(|_host_is_gone| Instant::now())
    }));
    let (feeds, feed) =
        Feeds::start(subsystems.database.clone(), subsystems.budget.clone(), &subsystems.committer, stopped.clone());
    let detached_calls = DetachedCalls::default();
    let performer = Performer { registry: subsystems.registry.clone(), calls: calls.clone() };
    let service = subsystems.service(
        Serving { performer, detached_calls: detached_calls.clone(), configured: subsystems.configured.clone(), feeds },
        addresses.0,
    );
    subsystems.plugin_calls.set_handler(serving::plugin_call_handler(&service, subsystems.registry.clone()));
    let http = tokio::spawn(http::serve(interfaces, tls, service, stopping(stopped.clone())));
    Ok(Host {
        addresses,
        demo_key,
        calls,
        detached_calls,
        stop,
        stop_operators,
        http,
        admin,
        maintenance,
        delivery,
        tasks: None,
        chain_watchers: None,
        stopped,
        feed,
        backups,
        actions,
        subsystems,
        owner_tasks,
    })
}

impl Host {
    /// Loads the plugins, then starts timers, effects and chain watchers, which call them. Each plugin has served or
    /// was refused by then.
    async fn load(&mut self) -> anyhow::Result<()> {
        progress::follow(&self.subsystems.reloader, self.subsystems.loader.progress()).await;
        folder::report_lost_components(&self.subsystems.config, &self.subsystems.database).await;
        // Each is stored immediately: if this future is dropped between the two, a stop still awaits the first.
        self.tasks = Some(Tasks::start(self.subsystems.tasks(self.calls.clone()), self.stopped.clone()).await?);
        self.chain_watchers = Some(ChainWatchers::start(self.subsystems.chain_watchers(), self.stopped.clone()).await?);
        Ok(())
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses.0
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.addresses.1
    }

    /// Returns the call pipeline, for benchmarks.
    pub fn calls(&self) -> (&Arc<Calls>, &Arc<Registry<Table>>) {
        (&self.calls, &self.subsystems.registry)
    }

    /// Returns the client of destinations.
    pub fn destinations(&self) -> &Destinations {
        &self.subsystems.destinations
    }

    /// Makes the next batch fail, for tests.
    #[doc(hidden)]
    pub fn fail_next_batch(&self, failpoint: Failpoint) {
        *self.owner_tasks.failpoints.0.lock() = Some(failpoint);
    }

    /// Stops the subsystems in reverse order: finishes requests, ends swaps, makes accepted changes durable, closes the
    /// database. The operators' listener answers until requests have finished.
    pub async fn stop(self) {
        let until = Instant::now() + Duration::from_millis(self.subsystems.config.http.shutdown_ms);
        let _ = self.stop.send(true);
        let cut = match self.http.await {
            Ok(http::ServeOutcome { cut }) => cut,
            Err(error) => {
                tracing::error!("the listener failed: {error}");
                0
            }
        };
        if !self.detached_calls.end(until).await {
            tracing::warn!("cut calls that took longer than http.shutdown-ms");
        }
        self.backups.stop().await;
        self.subsystems.reloader.shutdown().await;
        if let Some(swaps) = self.owner_tasks.swaps {
            let _ = swaps.await;
        }
        let grace = Instant::now() + Duration::from_millis(STOP_GRACE_MS);
        let _ended = self.stop_operators.send(until.max(grace));
        let _ = self.admin.await;
        self.actions.end(until.max(grace)).await;
        self.maintenance.stop().await;
        let _ = self.feed.await;
        if let Some(watchers) = self.chain_watchers {
            watchers.stop().await;
        }
        if let Some(tasks) = self.tasks {
            tasks.stop().await;
        }
        self.delivery.stop().await;
        self.owner_tasks.committer.shutdown().await;
        networks::close(self.subsystems.simulated.as_deref()).await;
        if let Err(error) = self.subsystems.database.close().await {
            tracing::warn!("failed to close the database; no data is lost: {error}");
        }
        match cut {
            0 => tracing::info!("stopped cleanly: every request finished, the database is closed"),
            cut => tracing::warn!("stopped; {cut} connections were cut: they took longer than http.shutdown-ms"),
        }
    }
}

/// Waits until the swap task ends although the host is not stopping, and returns the reason. No plugin can be deployed
/// then.
async fn end_of_swaps(swaps: &mut Option<JoinHandle<()>>) -> String {
    let Some(task) = swaps else { return std::future::pending().await };
    let result = task.await;
    // A handle must not be awaited twice.
    *swaps = None;
    let reason = result.err().map_or("it returned".to_owned(), |error| error.to_string());
    format!("the task that swaps plugins has ended ({reason}); the host stops, so that its supervisor restarts it")
}

fn as_function(clock: &Clock) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

/// Waits for the shutdown. The returned future owns its receiver.
async fn stopping(mut stopped: watch::Receiver<bool>) {
    requested(&mut stopped).await;
}

/// Returns true in development, where the host prints the demo key.
fn is_development(config: &Config) -> bool {
    config.environment == Environment::Development
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_of_the_swap_task_is_detected() {
        let mut swaps = Some(tokio::spawn(async { panic!("in a test") }));
        let reason = end_of_swaps(&mut swaps).await;
        assert!(reason.contains("panicked"), "{reason}");
        assert!(swaps.is_none(), "a stop must not await the handle again");
    }
}
