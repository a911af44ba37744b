//! Builds the host top to bottom, stops it in reverse.
//!
//! Owns the order of things and nothing else: what each room does is its own business.
//!
//! - `serving`: the routes and the calls, as HTTP sees them. `operations`: what operators ask for, connected.
//! - `stores`: what rooms ask of the database. `development`: the demo key. `upkeep`: what runs beside requests.

mod check;
mod development;
mod operations;
mod serving;
mod stores;
mod upkeep;

use std::{
    future::Future,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};

use anyhow::Context;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::{
    admin::{self, token},
    auth::Keys,
    capability,
    changes::committer::{Committer, CommitterSettings, CommitterTask},
    cli::banner,
    clock::Clock,
    config::{Config, ConfigError, Environment, PluginConfig},
    db::{Database, DbOptions},
    http,
    metrics::Metrics,
    plugin::{
        components::ComponentStore,
        call::Calls,
        engine::ServingEngine,
        load::{LinkCalls, Loader},
        native::Natives,
        registry::Registry,
        reload::{ReloadParts, Reloader},
    },
    secrets::{MasterKeys, private_file},
};

pub use check::check_component;
use operations::Connected;
pub use serving::Table;
use serving::{RequestMetrics, Serving, build_table};
use stores::Stores;
use upkeep::Upkeep;

/// What the command line has prepared.
pub struct Start {
    pub config: Config,
    /// Bound already, so that a taken port is named together with its flag.
    pub interfaces: TcpListener,
    pub operators: TcpListener,
    /// Plugins that are compiled in; `tenon` has none.
    pub natives: Natives,
    /// Reads plugins.toml again, with the same flags and variables.
    pub reload: Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>,
}

/// A host that runs.
pub struct Host {
    interfaces: SocketAddr,
    operators: SocketAddr,
    data_dir: PathBuf,
    demo_key: Option<(String, PathBuf)>,
    calls: Arc<Calls>,
    registry: Arc<Registry<Table>>,
    reloader: Reloader,
    stop: watch::Sender<bool>,
    http: JoinHandle<http::Stopped>,
    admin: JoinHandle<http::Stopped>,
    upkeep: Upkeep,
    swaps: JoinHandle<()>,
    committer: CommitterTask,
    database: Database,
}

/// Runs until the process is told to stop; a second signal ends it at once.
pub async fn serve(start: Start) -> anyhow::Result<()> {
    let examples: Vec<String> = start.config.plugins.values().flat_map(|plugin| plugin.examples.clone()).collect();
    let host = self::start(start, Clock::system()).await?;
    print!("{}", host.describe(&examples).await);
    signalled().await?;
    tracing::info!("stopping: running requests finish first; a second signal ends at once");
    tokio::select! {
        () = host.stop() => Ok(()),
        _ = signalled() => anyhow::bail!("ended by a second signal; what was acknowledged is safe"),
    }
}

/// Opens everything, loads the plugins, and answers requests when it returns. A plugin that does not load does not keep
/// the others from serving: `tenon plugin list` says why.
pub async fn start(start: Start, clock: Clock) -> anyhow::Result<Host> {
    let Start { config, interfaces, operators, natives, reload } = start;
    private_file::create_folder(&config.data_dir)?;
    let master_keys = MasterKeys::load(config.master_key.as_ref(), &config.data_dir, config.environment)?;
    let config = Arc::new(config);
    let database = open_database(&config).await?;
    let metrics = Metrics::new().context("metrics")?;
    let (committer, committer_task) = Committer::start(database.clone(), CommitterSettings::default()).await?;
    let stores = Stores::new(database.clone()).with_committer(committer.clone());
    let keys = Arc::new(Keys::new(Arc::new(stores.clone())));
    let registry = Arc::new(Registry::<Table>::new(build_table).map_err(|clashes| anyhow::anyhow!(clashes.join("; ")))?);
    let loader = Arc::new(new_loader(&config, metrics.clone())?.with_natives(natives));
    let (reloader, swaps) = Reloader::start(
        ReloadParts {
            loader: loader.clone(),
            registry: registry.clone(),
            journal: Arc::new(stores.clone()),
            data: Arc::new(stores.clone()),
            read_plugins: Arc::new(move || read_plugins(&reload)),
            config_file: config.file.clone(),
            clock: as_function(&clock),
        },
        config.plugins.clone(),
    );
    reloader.settle().await;
    let (stop, stopped) = watch::channel(false);
    let upkeep = Upkeep::start(upkeep::Parts {
        database: database.clone(),
        keys: keys.clone(),
        config: config.clone(),
        clock: clock.clone(),
        stopped: stopped.clone(),
    });
    let demo_key = development::demo_key(&config, &keys, clock.now()).await?;
    let addresses = (interfaces.local_addr()?, operators.local_addr()?);
    let calls = Arc::new(Calls::new(committer.clone(), clock.clone(), upkeep.disk(), loader.engine().slots().clone()));
    let service = Arc::new(http::Service::new(http::service::Parts {
        calls: Serving { registry: registry.clone(), calls: calls.clone() },
        keys: keys.clone(),
        metrics: Arc::new(RequestMetrics),
        clock: as_function(&clock),
        settings: config.http.clone(),
    }));
    let connected = Arc::new(Connected {
        reloader: reloader.clone(),
        keys,
        stores: stores.clone(),
        metrics,
        committer,
        master_keys: Arc::new(master_keys),
        disk: upkeep.disk(),
        clock,
        stopped: stopped.clone(),
    });
    let guard = admin::Guard::new(token::load_or_create(&config.data_dir)?, config.admin_hosts.clone());
    let router = admin::router(connected, guard);
    let admin = tokio::spawn(http::serve_router(operators, config.http.clone(), router, stopping(stopped.clone())));
    let http = tokio::spawn(http::serve(interfaces, service, stopping(stopped)));
    Ok(Host {
        interfaces: addresses.0,
        operators: addresses.1,
        data_dir: config.data_dir.clone(),
        demo_key,
        calls,
        registry,
        reloader,
        stop,
        http,
        admin,
        upkeep,
        swaps,
        committer: committer_task,
        database,
    })
}

impl Host {
    pub fn address(&self) -> SocketAddr {
        self.interfaces
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.operators
    }

    /// What requests run through, for those who measure it.
    pub fn calls(&self) -> (&Arc<Calls>, &Arc<Registry<Table>>) {
        (&self.calls, &self.registry)
    }

    /// In reverse: requests finish, nothing new is swapped, what was accepted becomes durable, the file is closed.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        match self.http.await {
            Ok(http::Stopped { cut: 0 }) => {}
            Ok(http::Stopped { cut }) => tracing::warn!("{cut} connections were cut: they took longer than http.shutdown-ms"),
            Err(error) => tracing::error!("the listener failed: {error}"),
        }
        self.reloader.shutdown().await;
        let _ = self.swaps.await;
        let _ = self.admin.await;
        self.upkeep.stop().await;
        self.committer.shutdown().await;
        if let Err(error) = self.database.close().await {
            tracing::warn!("the database was not closed in order, which harms nothing: {error}");
        }
    }

    /// What a person at the terminal wants to know first.
    async fn describe(&self, examples: &[String]) -> String {
        let status = self.reloader.status().await;
        let plugins = status.iter().map(|plugin| {
            let state = match &plugin.serving {
                Some(serving) => Ok(&*serving.version.version),
                None => Err(plugin.reasons.first().map_or("it was never published", String::as_str)),
            };
            (&*plugin.name, state)
        });
        banner::render(&banner::Banner {
            interfaces: self.interfaces,
            operators: self.operators,
            data_dir: &self.data_dir,
            demo_key: self.demo_key.as_ref().map(|(key, file)| (key.as_str(), file.as_path())),
            plugins: plugins.collect(),
            examples: examples.iter().map(String::as_str).collect(),
        })
    }
}

async fn open_database(config: &Config) -> anyhow::Result<Database> {
    Ok(Database::open(&config.database_url, &DbOptions::default()).await?)
}

fn new_loader(config: &Config, metrics: Metrics) -> anyhow::Result<Loader> {
    let calls: usize = config.plugins.values().map(|plugin| plugin.limits.calls).sum();
    let engine = Arc::new(ServingEngine::start(calls)?);
    let components = Arc::new(ComponentStore::open(&config.data_dir)?);
    let link: LinkCalls = Arc::new(|linker, grants| {
        capability::link_ungranted(linker)?;
        grants.iter().try_for_each(|grant| capability::link(linker, grant))
    });
    Ok(Loader::new(engine, components, link, metrics, config.http.body_bytes_max))
}

fn read_plugins(
    reload: &(dyn Fn() -> Result<Config, ConfigError> + Send + Sync),
) -> Result<std::collections::BTreeMap<Arc<str>, PluginConfig>, Vec<String>> {
    reload().map(|config| config.plugins).map_err(|error| error.lines())
}

fn as_function(clock: &Clock) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

/// Ready once the host is told to stop.
fn stopping(mut stopped: watch::Receiver<bool>) -> impl Future<Output = ()> + Send {
    async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
}

/// Control-C or SIGTERM.
async fn signalled() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

/// Development prints what production would not.
fn is_development(config: &Config) -> bool {
    config.environment == Environment::Development
}
