//! Checks of components without publishing them.
//!
//! - `tenon plugin check` runs the steps of a deploy up to *compare*, with or without a running host. It changes only
//!   the cache of compiled code.
//! - `tenon plugin compile` fills that cache before a start.
//! - `tenon config check` checks the grants, limits and settings of the plugins against their components.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use tempfile::TempDir;

use super::subsystems::new_loader;
use crate::{
    admin::{
        plugins::{check_report, step_times},
        wire::{CheckReport, CompileOutcome, CompileReport, CompileSource},
    },
    capability::Shared,
    chains::Chains,
    config::Config,
    db::{Database, DbOptions},
    keyring::Keyring,
    limits::ADMIN_COMPONENT_BYTES_MAX,
    manifest::Manifest,
    metrics::Metrics,
    outbound::OutboundContext,
    plugin::{
        compile::Program,
        components,
        generation::Generation,
        load::{Candidate, Loader, Steps, SwapError},
        reload::{AllowedChanges, DataMigrator, check},
    },
    regular_file,
    secrets::{SealingRoot, SigningRoot},
    stores::Stores,
};

/// Checks a component. `plugin` must have a section in `config`.
pub async fn check_component(config: &Config, plugin: &str, component: Vec<u8>) -> anyhow::Result<CheckReport> {
    let Some(section) = config.plugins.get(plugin) else {
        anyhow::bail!("{} has no [plugins.{plugin}]", config.file.display());
    };
    let (offline, stores) = (Offline::open(config)?, open_stores(config).await?);
    let name: Arc<str> = plugin.into();
    let serving = match &stores {
        Some(stores) => find_serving(&offline, stores, &name).await?,
        None => None,
    };
    let baseline = || check::CheckBaseline {
        plugin: name.clone(),
        config: Arc::new(section.clone()),
        serving: serving.clone(),
        data: stores.as_ref().map(|stores| stores as &dyn DataMigrator),
        allowed: AllowedChanges::COMPATIBLE,
    };
    let bytes = Bytes::from(component);
    let mut report = check::check(&offline.loader, bytes.clone(), baseline()).await;
    if !report.passed() && offline.is_missing_in_cache(&report.hash) {
        report = check::check(&offline.new_scratch_loader()?, bytes, baseline()).await;
    }
    if serving.is_none() {
        report.notes.push(format!(
            "the data folder {} has no readable published version, so breaking differences cannot be detected; set the folder of a \
             running Tenon with --data-dir",
            config.data_dir.display()
        ));
    }
    Ok(check_report(report))
}

/// Opens the database of the data folder read-only. A running host may use it, and its schema may be older. Returns
/// `None` if no database exists yet.
async fn open_stores(config: &Config) -> anyhow::Result<Option<Stores>> {
    let path = Database::file_of(&config.database_url)?;
    if !path.try_exists().with_context(|| path.display().to_string())? {
        return Ok(None);
    }
    let database = Database::open_older_read_only(&config.database_url, &DbOptions::default()).await;
    Ok(Some(Stores::new(database.context("failed to open the database")?)))
}

/// A loader for commands that do not serve.
///
/// It uses the cache of compiled code if the folders exist and belong to this user. Otherwise, and if code cannot be
/// stored there, it uses a temporary folder. Invariant: it creates no folders in the data folder, and changes no owner
/// or mode there.
struct Offline<'a> {
    config: &'a Config,
    loader: Loader,
    is_cached: bool,
    /// Temporary folder with an unpredictable name: a user who could prepare the cache would choose the code that runs.
    scratch: TempDir,
}

impl Offline<'_> {
    fn open(config: &Config) -> anyhow::Result<Offline<'_>> {
        let (scratch, is_cached) = (tempfile::tempdir()?, components::is_ready(&config.data_dir));
        let data_dir = if is_cached { config.data_dir.clone() } else { scratch.path().to_owned() };
        let loader = closed_loader(&Config { data_dir, ..config.clone() })?;
        Ok(Offline { config, loader, is_cached, scratch })
    }

    fn new_scratch_loader(&self) -> anyhow::Result<Loader> {
        closed_loader(&Config { data_dir: self.scratch.path().to_owned(), ..self.config.clone() })
    }

    /// Returns true if compiled code is not in the cache: a failure may then be caused by the data folder (full or
    /// read-only disk) instead of the component.
    fn is_missing_in_cache(&self, hash: &str) -> bool {
        self.is_cached && self.loader.components().find_compiled(self.loader.engine(), hash).is_none()
    }

    async fn load(&self, candidate: &Candidate) -> anyhow::Result<Result<Arc<Generation>, SwapError>> {
        let loaded = self.loader.load(candidate, &mut Steps::start()).await;
        match loaded {
            Err(_) if self.is_missing_in_cache(&candidate.hash) => {
                Ok(self.new_scratch_loader()?.load(candidate, &mut Steps::start()).await)
            }
            loaded => Ok(loaded),
        }
    }
}

/// Compiles the components that the next start loads: the last published one, and the file in plugins.toml.
pub async fn compile_components(config: &Config) -> anyhow::Result<Vec<CompileReport>> {
    let (loader, stores) = (closed_loader(config)?, open_stores(config).await?);
    let mut reports = Vec::new();
    for (plugin, section) in &config.plugins {
        let (file, section) = (section.component.clone(), Arc::new(section.clone()));
        let candidate = |bytes: Bytes| {
            let hash = components::hash(&bytes);
            Candidate { plugin: plugin.clone(), bytes, hash, config: section.clone() }
        };
        let published = match &stores {
            Some(stores) => load_served_component(config, stores, plugin).await?.map(&candidate),
            None => None,
        };
        let from_file = regular_file::read(&file, ADMIN_COMPONENT_BYTES_MAX).map(|bytes| candidate(bytes.into()));
        let is_same = |published: &Candidate| from_file.as_ref().is_ok_and(|file| file.hash == published.hash);
        if let Some(published) = published.filter(|published| !is_same(published)) {
            reports.push(compile(&loader, &published, CompileSource::Published).await);
        }
        match from_file {
            Ok(candidate) => reports.push(compile(&loader, &candidate, CompileSource::File).await),
            Err(error) => reports.push(CompileReport {
                plugin: plugin.to_string(),
                source: CompileSource::File,
                hash: String::new(),
                version: None,
                outcome: CompileOutcome::Refused,
                reasons: vec![format!("{} cannot be read: {error}", file.display())],
                steps: Vec::new(),
            }),
        }
    }
    Ok(reports)
}

async fn compile(loader: &Loader, candidate: &Candidate, source: CompileSource) -> CompileReport {
    let mut compiling = loader.progress().subscribe();
    compiling.mark_unchanged();
    let mut taken = Steps::start();
    let loaded = loader.load(candidate, &mut taken).await;
    let was_compiled = compiling.has_changed().unwrap_or_default();
    let outcome = match (&loaded, was_compiled) {
        (Err(_), _) => CompileOutcome::Refused,
        (Ok(_), true) => CompileOutcome::Compiled,
        (Ok(_), false) => CompileOutcome::Cached,
    };
    CompileReport {
        plugin: candidate.plugin.to_string(),
        source,
        hash: candidate.hash.to_string(),
        version: loaded.as_ref().ok().map(|generation| generation.manifest.version.clone()),
        outcome,
        reasons: loaded.err().map(|swap_error| swap_error.reasons).unwrap_or_default(),
        steps: step_times(taken.taken),
    }
}

/// Returns the reasons for which the components in plugins.toml would be refused with their grants, limits and
/// settings.
pub async fn check_plugins(config: &Config) -> anyhow::Result<Vec<String>> {
    if config.plugins.is_empty() {
        return Ok(Vec::new());
    }
    let offline = Offline::open(config)?;
    let mut found = Vec::new();
    for (name, section) in &config.plugins {
        let reasons = match regular_file::read(&section.component, ADMIN_COMPONENT_BYTES_MAX).map(Bytes::from) {
            Err(error) => vec![format!("{} cannot be read: {error}", section.component.display())],
            Ok(bytes) => {
                let hash = components::hash(&bytes);
                let candidate = Candidate { plugin: name.clone(), bytes, hash, config: Arc::new(section.clone()) };
                offline.load(&candidate).await?.err().map(|swap_error| swap_error.reasons).unwrap_or_default()
            }
        };
        found.extend(reasons.into_iter().map(|reason| format!("plugin {name} would be refused: {reason}.")));
    }
    Ok(found)
}

/// Creates a loader without secrets: its generations sign and seal with zeroes, and their keyring has no keys.
fn closed_loader(config: &Config) -> anyhow::Result<Loader> {
    let signing = SigningRoot::new(Default::default());
    let sealing = Arc::new(SealingRoot::new(Default::default()));
    let outbound_context = Arc::new(OutboundContext { signing, sealing, addresses: config.outbound.clone() });
    let shared = Shared { outbound_context, keyring: Arc::new(Keyring::closed()?), chains: Chains::default() };
    new_loader(config, Program::own()?, Metrics::new()?, shared)
}

/// Returns the manifest of the version that, according to the journal, served last.
async fn find_serving(
    offline: &Offline<'_>,
    stores: &Stores,
    plugin: &Arc<str>,
) -> anyhow::Result<Option<Arc<Manifest>>> {
    let Some(section) = offline.config.plugins.get(plugin) else { return Ok(None) };
    let Some(bytes) = load_served_component(offline.config, stores, plugin).await? else { return Ok(None) };
    let (hash, config) = (components::hash(&bytes), Arc::new(section.clone()));
    let loaded = offline.load(&Candidate { plugin: plugin.clone(), hash, bytes, config }).await?;
    Ok(loaded.ok().map(|generation| generation.manifest.clone()))
}

/// Returns the component that, according to the journal, served last.
async fn load_served_component(config: &Config, stores: &Stores, plugin: &Arc<str>) -> anyhow::Result<Option<Bytes>> {
    let hash = stores.find_served_component(plugin).await.map_err(anyhow::Error::msg)?;
    Ok(hash.and_then(|hash| components::read_kept(&config.data_dir, &hash)).map(Bytes::from))
}
