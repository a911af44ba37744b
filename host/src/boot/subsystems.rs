//! Opens the subsystems of the host in dependency order and connects them.
//!
//! Only the two tasks of `OwnerTasks` are started here.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::Context;
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use tenon_chains::simulated::Simulated;
use tokio::{sync::watch, task::JoinHandle};

use super::{
    Reload, as_function,
    encryption::new_clients,
    folder, networks, oauth,
    serving::{self, RequestMetrics, Serving, build_table},
};
use crate::{
    admin::{self, RunningActions, Services, backup_task::Backups},
    auth::{Keys, oauth::OAuth},
    budget::Budget,
    capability::{self, Shared},
    chains::Chains,
    clock::Clock,
    commit::committer::{Committer, CommitterSettings, CommitterTask},
    config::{Config, Environment, PluginConfig},
    db::{Database, DbOptions, apply::Failpoints, disk::DiskGauge},
    delivery,
    destinations::{self, Destinations, PluginCalls},
    http::{self, tls::Tls},
    keyring::Keyring,
    limits::ROUTE_BODY_BYTES_MAX,
    metrics::Metrics,
    outbound::{Client, OutboundContext},
    plugin::{
        compile::{Compiler, Program},
        components::ComponentStore,
        engine::ServingEngine,
        load::{HostFeatures, LinkCalls, Loader, LoaderParts},
        native::Natives,
        profile::Profiler,
        registry::{Configured, Registry, Table},
        reload::{ReadPlugins, ReloadParts, Reloader},
    },
    secrets::{MasterKeys, MissingKey, SealingRoot, SecretText, private_file},
    stores::Stores,
};

/// Opened subsystems, shared by all running parts of the host.
pub struct Subsystems {
    pub(super) config: Arc<Config>,
    pub(super) clock: Clock,
    pub(super) database: Database,
    pub(super) stores: Stores,
    pub(super) metrics: Metrics,
    pub(super) budget: Arc<Budget>,
    pub(super) connections: Arc<http::ConnectionCounts>,
    pub(super) committer: Committer,
    pub(super) keys: Arc<Keys>,
    pub(super) oauth: Arc<OAuth>,
    pub(super) master_keys: Arc<MasterKeys>,
    pub(super) registry: Arc<Registry<Table>>,
    /// The plugin sections of plugins.toml, as last read.
    pub(super) configured: Configured,
    pub(super) loader: Arc<Loader>,
    pub(super) outbound_context: Arc<OutboundContext>,
    pub(super) keyring: Arc<Keyring>,
    pub(super) chains: Chains,
    pub(super) simulated: Option<Arc<Simulated>>,
    pub(super) client: Arc<Client>,
    /// Sends webhooks. Tenants choose the addresses, so it may connect to fewer networks than `client`.
    pub(super) webhook_client: Arc<Client>,
    pub(super) destinations: Destinations,
    pub(super) plugin_calls: PluginCalls,
    pub(super) reloader: Reloader,
}

/// The tasks with exclusive access to a resource: the committer owns the writer of the database, the reloader owns
/// swaps.
pub struct OwnerTasks {
    pub(super) committer: CommitterTask,
    pub(super) swaps: Option<JoinHandle<()>>,
    /// Failpoints of the committer.
    pub(super) failpoints: Failpoints,
}

pub async fn open_subsystems(
    config: Arc<Config>,
    (natives, compiler): (Natives, Program),
    (reload, oauth): (Reload, crate::auth::oauth::Settings),
    clock: Clock,
) -> anyhow::Result<(Subsystems, OwnerTasks)> {
    private_file::create_folder(&config.data_dir)?;
    let (database, master_keys) = open_sealed_database(&config).await?;
    let metrics = Metrics::new().context("metrics")?;
    let budget = Budget::new(&config.memory);
    let failpoints = Failpoints::default();
    let (committer, committer_task) = start_committer(&database, &failpoints, &metrics).await?;
    let stores = Stores::new(database.clone()).with_committer(committer.clone());
    let sealing = stores.sealing_root(&master_keys).await.with_context(|| folder::master_key_source(&config))?;
    let sealing = Arc::new(sealing);
    let keys = open_keys(&stores, &master_keys, &sealing, &committer);
    let registry = open_registry()?;
    let signing = stores.signing_root(&master_keys).await?;
    let (client, webhook_client) = new_clients(&config)?;
    let rows = oauth::OAuthRows { database: database.clone(), master_keys: master_keys.clone() };
    let oauth = Arc::new(OAuth::open(oauth, Arc::new(rows), client.clone(), clock.now()).await?);
    let outbound_context = Arc::new(OutboundContext { signing, sealing, addresses: config.outbound.clone() });
    let keyring = Arc::new(Keyring::new(Arc::new(stores.clone()), master_keys.clone()));
    let opened = (&metrics, &outbound_context, &keyring);
    let loading = open_loading(&config, (&database, &clock), (natives, compiler), opened).await?;
    let (reloader, swaps) = start_reloader(&config, &loading, (&registry, &stores), reload, &clock);
    let Loading { chains, simulated, loader, configured } = loading;
    let plugin_calls = PluginCalls::default();
    let destinations = Destinations::new(destinations::Parts {
        client: client.clone(),
        outbound_context: outbound_context.clone(),
        database: database.clone(),
        clock: clock.clone(),
        chains: chains.clone(),
        operator_destinations: serving::operator_destinations(registry.clone()),
        plugin_calls: plugin_calls.clone(),
    });
    let subsystems = Subsystems {
        config,
        clock,
        database,
        stores,
        metrics,
        budget,
        connections: Arc::default(),
        committer,
        keys,
        oauth,
        master_keys,
        registry,
        configured,
        loader,
        outbound_context,
        keyring,
        chains,
        simulated,
        client,
        webhook_client,
        destinations,
        plugin_calls,
        reloader,
    };
    Ok((subsystems, OwnerTasks { committer: committer_task, swaps: Some(swaps), failpoints }))
}

/// Opens the database and loads the master keys of its secrets.
///
/// Existing keys are loaded before the database is opened and migrated, so that a start that fails because of its keys
/// leaves the database unchanged. Only new keys are created afterwards.
async fn open_sealed_database(config: &Config) -> anyhow::Result<(Database, Arc<MasterKeys>)> {
    let missing_key = folder::find_missing_key(config);
    let known_keys = match missing_key {
        Some(_) => None,
        None => Some(load_master_keys(config)?),
    };
    let database = open_database(config, missing_key).await?;
    let keys = known_keys.map_or_else(|| load_master_keys(config), Ok)?;
    Ok((database, keys))
}

/// The plugin loader and the dependencies of generations.
struct Loading {
    chains: Chains,
    simulated: Option<Arc<Simulated>>,
    loader: Arc<Loader>,
    configured: Configured,
}

async fn open_loading(
    config: &Config,
    (database, clock): (&Database, &Clock),
    (natives, compiler): (Natives, Program),
    (metrics, outbound_context, keyring): (&Metrics, &Arc<OutboundContext>, &Arc<Keyring>),
) -> anyhow::Result<Loading> {
    let (chains, simulated) = networks::open(config, database, clock).await?;
    let shared =
        Shared { outbound_context: outbound_context.clone(), keyring: keyring.clone(), chains: chains.clone() };
    let loader = Arc::new(new_loader(config, compiler, metrics.clone(), shared)?.with_natives(natives));
    let configured = Configured::new(ArcSwap::from_pointee(config.plugins.clone()));
    Ok(Loading { chains, simulated, loader, configured })
}

/// Starts the task that swaps plugins.
fn start_reloader(
    config: &Arc<Config>,
    loading: &Loading,
    (registry, stores): (&Arc<Registry<Table>>, &Stores),
    reload: Reload,
    clock: &Clock,
) -> (Reloader, JoinHandle<()>) {
    let parts = ReloadParts {
        loader: loading.loader.clone(),
        registry: registry.clone(),
        journal: Arc::new(stores.clone()),
        data: Arc::new(stores.clone()),
        read_plugins: plugins_reader(config, &loading.configured, reload),
        config_file: config.file.clone(),
        clock: as_function(clock),
    };
    Reloader::start(parts, config.plugins.clone())
}

async fn start_committer(
    database: &Database,
    failpoints: &Failpoints,
    metrics: &Metrics,
) -> anyhow::Result<(Committer, CommitterTask)> {
    let writer = database.writer_with(failpoints.clone());
    let settings = CommitterSettings { metrics: Some(metrics.batches()), ..CommitterSettings::default() };
    Ok(Committer::start(database.clone(), writer, settings).await?)
}

fn open_registry() -> anyhow::Result<Arc<Registry<Table>>> {
    let registry = Registry::<Table>::new(build_table);
    Ok(Arc::new(registry.map_err(|conflicts| anyhow::anyhow!(conflicts.join("; ")))?))
}

/// Opens the API keys. The committer reports keys that plugins issue or revoke, so that these changes take effect at
/// the commit.
fn open_keys(
    stores: &Stores,
    master_keys: &Arc<MasterKeys>,
    sealing: &Arc<SealingRoot>,
    committer: &Committer,
) -> Arc<Keys> {
    let keys = Arc::new(Keys::new(Arc::new(stores.clone()), master_keys.clone(), sealing.clone()));
    let listener = keys.clone();
    committer.set_credential_listener(Arc::new(move |change| listener.on_credential_change(change)));
    keys
}

impl Subsystems {
    /// Creates the HTTP service of the interfaces. `address` is the bound address of `listen`.
    pub fn service(&self, backend: Serving, address: SocketAddr) -> Arc<http::Service<Serving>> {
        Arc::new(http::Service::new(http::service::ServiceParts {
            backend,
            keys: self.keys.clone(),
            oauth: self.oauth.clone(),
            metrics: Arc::new(RequestMetrics),
            clock: as_function(&self.clock),
            settings: self.config.http.clone(),
            budget: self.budget.clone(),
            tenant_percent: self.config.memory.tenant_percent,
            connections: self.connections.clone(),
            environment: self.config.environment,
            link_base: self.config.link_base(address),
            access_log: self.config.access_log,
        }))
    }

    /// Returns the dependencies of webhook delivery. The policy of a plugin that does not serve is its section in
    /// plugins.toml. The policy of a plugin that was removed from plugins.toml is the default.
    pub fn delivery(&self) -> delivery::DeliveryParts {
        let (registry, configured) = (self.registry.clone(), self.configured.clone());
        let policies = move |plugin: &str| {
            let table = registry.current();
            let mounted = table.find_plugin(plugin);
            let served = mounted.map(|mounted| mounted.config.webhooks.clone());
            let section = || configured.load().get(plugin).map(|section| section.webhooks.clone());
            served.or_else(section).unwrap_or_default()
        };
        delivery::DeliveryParts {
            database: self.database.clone(),
            committer: self.committer.clone(),
            client: self.webhook_client.clone(),
            outbound_context: self.outbound_context.clone(),
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

    pub fn backups(&self) -> Backups {
        Backups::new(self.database.clone(), self.stores.clone(), self.config.clone(), self.clock.clone())
    }

    /// Creates the router of the operators' listener.
    pub fn operators(
        &self,
        token: SecretText,
        (disk, views, (backups, actions), tls): (
            DiskGauge,
            delivery::QueueViews,
            (Backups, RunningActions),
            Option<Arc<Tls>>,
        ),
        stopped: watch::Receiver<bool>,
    ) -> axum::Router {
        let services = Arc::new(Services {
            reloader: self.reloader.clone(),
            loader: self.loader.clone(),
            profiler: Profiler::default(),
            configured: self.configured.clone(),
            registry: self.registry.clone(),
            keys: self.keys.clone(),
            oauth: self.oauth.clone(),
            stores: self.stores.clone(),
            database: self.database.clone(),
            views,
            backups,
            actions,
            metrics: self.metrics.clone(),
            budget: self.budget.clone(),
            connections: self.connections.clone(),
            committer: self.committer.clone(),
            master_keys: self.master_keys.clone(),
            keyring: self.keyring.clone(),
            chains: self.chains.clone(),
            simulated: self.simulated.clone(),
            disk,
            tls,
            started_at: self.clock.now(),
            clock: self.clock.clone(),
            stopped,
        });
        admin::router(services, admin::Guard::new(token, self.config.admin_hosts.clone()))
    }
}

fn load_master_keys(config: &Config) -> anyhow::Result<Arc<MasterKeys>> {
    let if_missing = match config.environment {
        Environment::Development => MissingKey::Create,
        Environment::Production => MissingKey::Fail,
    };
    Ok(Arc::new(MasterKeys::load(config.master_key.as_ref(), &config.data_dir, if_missing)?))
}

async fn open_database(config: &Config, missing_key: Option<PathBuf>) -> anyhow::Result<Database> {
    let trace = folder::find_trace_of_database(&config.data_dir);
    let options = DbOptions { trace, missing_key, ..DbOptions::default() };
    Ok(Database::open(&config.database_url, &options).await?)
}

pub fn new_loader(config: &Config, compiler: Program, metrics: Metrics, shared: Shared) -> anyhow::Result<Loader> {
    let calls: usize = config.plugins.values().map(|plugin| plugin.limits.calls).sum();
    let engine = Arc::new(ServingEngine::start(calls)?);
    let source = Arc::downgrade(&engine);
    metrics.pool().set_source(Box::new(move || source.upgrade().map(|engine| engine.read_pool()).unwrap_or_default()));
    let components = Arc::new(ComponentStore::open(&config.data_dir)?);
    let link: LinkCalls = Arc::new(|linker, grants| {
        capability::link_ungranted(linker)?;
        grants.iter().try_for_each(|grant| capability::link(linker, grant))
    });
    let body_bytes_max = config.http.body_bytes_max.max(ROUTE_BODY_BYTES_MAX);
    let features = HostFeatures { body_bytes_max, link_base: config.link_base(config.listen).is_some() };
    let compiler = Compiler::new(compiler, config.compile, metrics.compile());
    Ok(Loader::new(LoaderParts { engine, components, compiler, link, metrics, shared, features }))
}

/// Returns a function that reads the plugin sections of plugins.toml and stores them in `configured`.
fn plugins_reader(config: &Arc<Config>, configured: &Configured, reload: Reload) -> ReadPlugins {
    let (config, configured) = (config.clone(), configured.clone());
    Arc::new(move || {
        let plugins = read_plugins(&config, &reload)?;
        configured.store(Arc::new(plugins.clone()));
        Ok(plugins)
    })
}

/// Reads the plugin sections. Other changes take effect only at the next start, and are logged.
fn read_plugins(running: &Config, reload: &Reload) -> Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>> {
    let next = reload().map_err(|error| error.lines())?;
    let pending = running.needs_restart(&next);
    if !pending.is_empty() {
        tracing::warn!("{} changed in {}: takes effect at the next start", pending.join(", "), next.file.display());
    }
    Ok(next.plugins)
}
