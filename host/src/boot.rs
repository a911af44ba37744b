//! Builds the host top to bottom, stops it in reverse.
//!
//! Owns the order of things and nothing else: what each room does is its own business.
//!
//! - `serving`: the routes and the calls, as HTTP sees them. `operations`: what operators ask for, connected; `webhooks`
//!   and `tasks`: parts of it. `backups`: the one that is being written.
//!   `seeds`, `chains`: parts of it, too. `networks`: the blockchains that there are.
//!   `audit`: the tenants' journal; `clients`: what they ask of OAuth; `oauth`: what that is made of.
//! - `outside`: what runs plugins, at once and later.
//! - `stores`: what rooms ask of the database. `development`: the demo key. `upkeep`: what runs beside requests.
//!   `encryption`: TLS inwards and outwards.

#![expect(clippy::disallowed_methods, reason = "the place where tasks are started; `stop` ends them")]

pub mod audit;
mod backups;
mod chains;
mod check;
mod clients;
mod development;
mod encryption;
mod networks;
mod oauth;
mod operations;
mod outside;
mod seeds;
mod serving;
mod stores;
mod tasks;
mod upkeep;
mod webhooks;

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::Context;
use futures_util::FutureExt;
use tenon_chains::simulated::Simulated;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::{
    admin::{self, token},
    auth::{Keys, oauth::OAuth},
    capability::{self, Shared},
    chains::{Chains, Watching},
    changes::committer::{Committer, CommitterSettings, CommitterTask},
    cli::banner,
    clock::Clock,
    config::{Config, ConfigError, Environment, PluginConfig},
    db::{
        Database, DbOptions,
        apply::{Failpoint, Failpoints},
        disk::DiskGauge,
    },
    delivery::{self, Delivery},
    destinations::{self, Destinations, Neighbours},
    feed::Feeds,
    http,
    keyring::Keyring,
    limits::ROUTE_BODY_BYTES_MAX,
    metrics::Metrics,
    outbound::{Client, Outside},
    plugin::{
        call::Calls,
        components::ComponentStore,
        engine::ServingEngine,
        load::{LinkCalls, Loader},
        native::Natives,
        registry::Registry,
        reload::{ReloadParts, Reloader},
    },
    secrets::{MasterKeys, SealingRoot, SecretText, private_file},
    stop::told,
    tasks::Tasks,
};

use backups::Backups;
pub use backups::report as backup_report;
pub use check::check_component;
use encryption::{load_tls, new_client};
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
    stop: watch::Sender<bool>,
    http: JoinHandle<http::Stopped>,
    admin: JoinHandle<http::Stopped>,
    upkeep: Upkeep,
    delivery: Delivery,
    tasks: Tasks,
    watching: Watching,
    feed: JoinHandle<()>,
    backups: Backups,
    rooms: Rooms,
    owners: Owners,
}

/// Runs until the process is told to stop; a second signal ends it at once.
pub async fn serve(start: Start) -> anyhow::Result<()> {
    let host = self::start(start, Clock::system()).await?;
    print!("{}", host.describe().await);
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
    let addresses = (interfaces.local_addr()?, operators.local_addr()?);
    let oauth = oauth::settings(&config, addresses.0)?;
    let (rooms, owners) = open_rooms(Arc::new(config), natives, (reload, oauth), clock).await?;
    // Before components are waited for: a file that cannot be used is found at once.
    let token = token::load_or_create(&rooms.config.data_dir)?;
    let tls = load_tls(&rooms.config)?;
    rooms.reloader.settle().await;
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
    let tasks = Tasks::start(rooms.tasks(calls.clone()), stopped.clone()).await?;
    let watching = Watching::start(rooms.watching(), stopped.clone()).await?;
    let backups = rooms.backups();
    let beside = (upkeep.disk(), delivery.views(), backups.clone());
    let router = rooms.operators(token, beside, stopped.clone());
    let settings = rooms.config.http.clone();
    let admin = tokio::spawn(http::serve_router(operators, settings, router, stopping(stopped.clone())));
    let (feeds, feed) = Feeds::start(rooms.database.clone(), &rooms.committer, stopped.clone());
    let service = rooms.service(calls.clone(), feeds);
    rooms.neighbours.open(serving::visits(&service, rooms.registry.clone()));
    let http = tokio::spawn(http::serve(interfaces, tls, service, stopping(stopped)));
    Ok(Host {
        addresses,
        demo_key,
        calls,
        stop,
        http,
        admin,
        upkeep,
        delivery,
        tasks,
        watching,
        feed,
        backups,
        rooms,
        owners,
    })
}

/// What is shared by everything that runs.
struct Rooms {
    config: Arc<Config>,
    clock: Clock,
    database: Database,
    stores: Stores,
    metrics: Metrics,
    committer: Committer,
    keys: Arc<Keys>,
    oauth: Arc<OAuth>,
    master_keys: Arc<MasterKeys>,
    registry: Arc<Registry<Table>>,
    loader: Arc<Loader>,
    outside: Arc<Outside>,
    keyring: Arc<Keyring>,
    chains: Chains,
    simulated: Option<Arc<Simulated>>,
    client: Arc<Client>,
    destinations: Destinations,
    neighbours: Neighbours,
    reloader: Reloader,
}

/// The two tasks that own something: the writer of the database, and the swap.
struct Owners {
    committer: CommitterTask,
    swaps: JoinHandle<()>,
    /// Of the first.
    failpoints: Failpoints,
}

async fn open_rooms(
    config: Arc<Config>,
    natives: Natives,
    (reload, oauth): (Reload, crate::auth::oauth::Settings),
    clock: Clock,
) -> anyhow::Result<(Rooms, Owners)> {
    private_file::create_folder(&config.data_dir)?;
    let master_keys = Arc::new(MasterKeys::load(config.master_key.as_ref(), &config.data_dir, config.environment)?);
    let database = open_database(&config).await?;
    let metrics = Metrics::new().context("metrics")?;
    let failpoints = Failpoints::default();
    let writer = database.writer_with(failpoints.clone());
    let (committer, committer_task) = Committer::start(database.clone(), writer, CommitterSettings::default()).await?;
    let stores = Stores::new(database.clone()).with_committer(committer.clone());
    let sealing = Arc::new(stores.sealing_root(&master_keys).await?);
    let keys = open_keys(&stores, &master_keys, &sealing, &committer);
    let registry =
        Arc::new(Registry::<Table>::new(build_table).map_err(|clashes| anyhow::anyhow!(clashes.join("; ")))?);
    let signing = stores.signing_root(&master_keys).await?;
    let client = new_client(&config)?;
    let rows = oauth::OAuthRows { database: database.clone(), master_keys: master_keys.clone() };
    let oauth = Arc::new(OAuth::open(oauth, Arc::new(rows), client.clone(), clock.now()).await?);
    let outside = Arc::new(Outside { signing, sealing, addresses: config.outbound.clone() });
    let keyring = Arc::new(Keyring::new(Arc::new(stores.clone()), master_keys.clone()));
    let (chains, simulated) = networks::open(&config, &clock).await?;
    let shared = Shared { outside: outside.clone(), keyring: keyring.clone(), chains: chains.clone() };
    let loader = Arc::new(new_loader(&config, metrics.clone(), shared)?.with_natives(natives));
    let parts = ReloadParts {
        loader: loader.clone(),
        registry: registry.clone(),
        journal: Arc::new(stores.clone()),
        data: Arc::new(stores.clone()),
        read_plugins: {
            let config = config.clone();
            Arc::new(move || read_plugins(&config, &reload))
        },
        config_file: config.file.clone(),
        clock: as_function(&clock),
    };
    let (reloader, swaps) = Reloader::start(parts, config.plugins.clone());
    let neighbours = Neighbours::default();
    let destinations = Destinations::new(destinations::Parts {
        client: client.clone(),
        outside: outside.clone(),
        database: database.clone(),
        clock: clock.clone(),
        chains: chains.clone(),
        named: serving::named_destinations(registry.clone()),
        neighbours: neighbours.clone(),
    });
    let rooms = Rooms {
        config,
        clock,
        database,
        stores,
        metrics,
        committer,
        keys,
        oauth,
        master_keys,
        registry,
        loader,
        outside,
        keyring,
        chains,
        simulated,
        client,
        destinations,
        neighbours,
        reloader,
    };
    Ok((rooms, Owners { committer: committer_task, swaps, failpoints }))
}

/// Keys that plugins hand out count from their commit.
fn open_keys(
    stores: &Stores,
    master_keys: &Arc<MasterKeys>,
    sealing: &Arc<SealingRoot>,
    committer: &Committer,
) -> Arc<Keys> {
    let keys = Arc::new(Keys::new(Arc::new(stores.clone()), master_keys.clone(), sealing.clone()));
    let told = keys.clone();
    committer.follow_credentials(Arc::new(move |change| told.note_change(change)));
    keys
}

impl Rooms {
    /// What answers requests of the interfaces.
    fn service(&self, calls: Arc<Calls>, feeds: Feeds) -> Arc<http::Service<Serving>> {
        Arc::new(http::Service::new(http::service::Parts {
            calls: Serving { registry: self.registry.clone(), calls, feeds },
            keys: self.keys.clone(),
            oauth: self.oauth.clone(),
            metrics: Arc::new(RequestMetrics),
            clock: as_function(&self.clock),
            settings: self.config.http.clone(),
            environment: self.config.environment,
        }))
    }

    /// What webhooks are made of. A plugin that is not in plugins.toml any more keeps to the defaults.
    fn delivery(&self) -> delivery::Parts {
        let registry = self.registry.clone();
        let policies = move |plugin: &str| {
            let table = registry.current();
            let mounted = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin);
            mounted.map(|mounted| mounted.config.webhooks.clone()).unwrap_or_default()
        };
        delivery::Parts {
            database: self.database.clone(),
            committer: self.committer.clone(),
            client: self.client.clone(),
            outside: self.outside.clone(),
            policies: Arc::new(policies),
            api_keys: self.api_keys(),
            clock: self.clock.clone(),
            metrics: self.metrics.delivery(),
        }
    }

    fn api_keys(&self) -> delivery::ApiKeys {
        let (keys, clock) = (self.keys.clone(), self.clock.clone());
        Arc::new(move |scope, attribute| {
            let (keys, now) = (keys.clone(), clock.now());
            let find = async move {
                let found = keys.find_signing_key(&scope, attribute.as_ref(), now).await;
                found.map_err(|error| error.to_string())
            };
            find.boxed()
        })
    }

    fn backups(&self) -> Backups {
        Backups::new(self.database.clone(), self.stores.clone(), self.config.clone(), self.clock.clone())
    }

    /// What answers operators.
    fn operators(
        &self,
        token: SecretText,
        (disk, views, backups): (DiskGauge, delivery::Views, Backups),
        stopped: watch::Receiver<bool>,
    ) -> axum::Router {
        let connected = Arc::new(Connected {
            reloader: self.reloader.clone(),
            registry: self.registry.clone(),
            keys: self.keys.clone(),
            oauth: self.oauth.clone(),
            stores: self.stores.clone(),
            database: self.database.clone(),
            views,
            backups,
            metrics: self.metrics.clone(),
            committer: self.committer.clone(),
            master_keys: self.master_keys.clone(),
            keyring: self.keyring.clone(),
            chains: self.chains.clone(),
            simulated: self.simulated.clone(),
            disk,
            clock: self.clock.clone(),
            stopped,
        });
        admin::router(connected, admin::Guard::new(token, self.config.admin_hosts.clone()))
    }
}

impl Host {
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

    /// In reverse: requests finish, nothing new is swapped, what was accepted becomes durable, the file is closed.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let cut = match self.http.await {
            Ok(http::Stopped { cut }) => cut,
            Err(error) => {
                tracing::error!("the listener failed: {error}");
                0
            }
        };
        self.backups.stop().await;
        self.rooms.reloader.shutdown().await;
        let _ = self.owners.swaps.await;
        let _ = self.admin.await;
        self.upkeep.stop().await;
        let _ = self.feed.await;
        self.watching.stop().await;
        self.tasks.stop().await;
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

    /// What a person at the terminal wants to know first.
    async fn describe(&self) -> String {
        let config = &self.rooms.config;
        let status = self.rooms.reloader.status().await;
        let plugins = status.iter().map(|plugin| {
            let state = match &plugin.serving {
                Some(serving) => Ok(&*serving.version.version),
                None => Err(plugin.reasons.first().map_or("it was never published", String::as_str)),
            };
            (&*plugin.name, state)
        });
        let serving = status.iter().filter(|plugin| plugin.serving.is_some());
        let examples =
            serving.filter_map(|plugin| config.plugins.get(&plugin.name)).flat_map(|plugin| &plugin.examples);
        // Where it is not known, nobody is told to make a first one.
        let has_keys = self.rooms.keys.list().await.map_or(true, |keys| !keys.is_empty());
        banner::render(&banner::Banner {
            scheme: if config.http.tls.is_some() { "https" } else { "http" },
            interfaces: self.addresses.0,
            operators: self.addresses.1,
            data_dir: &config.data_dir,
            demo_key: self.demo_key.as_ref().map(|(key, file)| (key.as_str(), file.as_path())),
            first_key_for: config.plugins.keys().next().filter(|_| !has_keys).map(|plugin| &**plugin),
            plugins: plugins.collect(),
            examples: examples.map(String::as_str).collect(),
        })
    }
}

async fn open_database(config: &Config) -> anyhow::Result<Database> {
    Ok(Database::open(&config.database_url, &DbOptions::default()).await?)
}

fn new_loader(config: &Config, metrics: Metrics, shared: Shared) -> anyhow::Result<Loader> {
    let calls: usize = config.plugins.values().map(|plugin| plugin.limits.calls).sum();
    let engine = Arc::new(ServingEngine::start(calls)?);
    let components = Arc::new(ComponentStore::open(&config.data_dir)?);
    let link: LinkCalls = Arc::new(|linker, grants| {
        capability::link_ungranted(linker)?;
        grants.iter().try_for_each(|grant| capability::link(linker, grant))
    });
    let body_bytes_max = config.http.body_bytes_max.max(ROUTE_BODY_BYTES_MAX);
    Ok(Loader::new(engine, components, link, (metrics, shared), body_bytes_max))
}

/// Only the sections of plugins take effect while the host runs; what else was changed is named.
fn read_plugins(running: &Config, reload: &Reload) -> Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>> {
    let next = reload().map_err(|error| error.lines())?;
    let waiting = running.needs_restart(&next);
    if !waiting.is_empty() {
        tracing::warn!("{} changed in {}: takes effect at the next start", waiting.join(", "), next.file.display());
    }
    Ok(next.plugins)
}

fn as_function(clock: &Clock) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

/// The same for who keeps it.
async fn stopping(mut stopped: watch::Receiver<bool>) {
    told(&mut stopped).await;
}

/// Connections are descriptors, and most systems start a program with few that it may raise itself.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, `http` says when there are no more.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Control-C or SIGTERM.
pub async fn signalled() -> anyhow::Result<()> {
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
