//! `tenon plugin check`: everything up to *publish* for one component, without a server or in a running one. Changes
//! nothing but the cache of compiled code. `tenon plugin compile`: fills that cache ahead of a start.
//! `tenon config check`: whether the settings of the plugins fit their components.

use std::{fs, sync::Arc};

use bytes::Bytes;

use super::{
    operations::{Connected, failed, steps},
    rooms::new_loader,
    stores::Stores,
};
use crate::{
    admin::{
        Refusal,
        wire::{CheckReport, CompileOutcome, CompileReport, CompileSource},
    },
    capability::Shared,
    chains::Chains,
    config::Config,
    db::{Database, DbOptions},
    keyring::Keyring,
    metrics::Metrics,
    outbound::Outside,
    plugin::{
        compile::Program,
        components,
        load::{Candidate, Loader, Steps},
        manifest::Manifest,
        reload::{DataGate, Passing, check, journal},
        wording::HEADERS_RULE,
    },
    secrets::{SealingRoot, SigningRoot},
};

/// `plugin` has a section in `config`.
pub async fn check_component(config: &Config, plugin: &str, component: Vec<u8>) -> anyhow::Result<CheckReport> {
    let Some(section) = config.plugins.get(plugin) else {
        anyhow::bail!("{} has no [plugins.{plugin}]", config.file.display());
    };
    let (loader, stores) = open_offline(config).await?;
    let name: Arc<str> = plugin.into();
    let serving = match &stores {
        Some(stores) => find_serving(&loader, stores, config, &name).await,
        None => None,
    };
    let against = check::Against {
        plugin: name,
        config: Arc::new(section.clone()),
        serving,
        data: stores.as_ref().map(|stores| stores as &dyn DataGate),
        passing: Passing::COMPATIBLE,
    };
    let compared = against.serving.is_some();
    let mut report = check::check(&loader, Bytes::from(component), against).await;
    if !compared {
        report.notes.push(format!(
            "nothing was published from the data folder {}, so differences that break callers of today are not seen; \
             name the folder of a running Tenon with --data-dir",
            config.data_dir.display()
        ));
    }
    Ok(check_report(report))
}

fn check_report(mut report: check::CheckReport) -> CheckReport {
    report.notes.push(HEADERS_RULE.to_owned());
    CheckReport {
        plugin: report.plugin.to_string(),
        passed: report.passed(),
        hash: report.hash.to_string(),
        version: report.version,
        reasons: report.reasons,
        notes: report.notes,
        steps: steps(report.steps_ms),
    }
}

/// A loader that serves no requests, and the journal of the data folder; a running host may hold the database. `None`: no
/// database was made yet.
async fn open_offline(config: &Config) -> anyhow::Result<(Loader, Option<Stores>)> {
    let loader = closed_loader(config)?;
    let database = Database::open_read_only(&config.database_url, &DbOptions::default()).await;
    Ok((loader, database.ok().map(Stores::new)))
}

impl Connected {
    /// A deploy up to *publish*, against what serves and the data of this host.
    pub(super) async fn check_component(&self, plugin: &str, component: Bytes) -> Result<CheckReport, Refusal> {
        self.find_plugin(plugin).await?;
        let section = self.configured.load().get(plugin).cloned();
        let section = section.ok_or_else(|| failed(format!("plugins.toml has no [plugins.{plugin}] any more")))?;
        let table = self.registry.current();
        let serving = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin);
        let against = check::Against {
            plugin: plugin.into(),
            config: Arc::new(section),
            serving: serving.map(|mounted| mounted.manifest.clone()),
            data: Some(&self.stores as &dyn DataGate),
            passing: Passing::COMPATIBLE,
        };
        drop(table);
        Ok(check_report(check::check(&self.loader, component, against).await))
    }
}

/// Compiles what the next start will load: the component that was published last, and the file of plugins.toml.
pub async fn compile_components(config: &Config) -> anyhow::Result<Vec<CompileReport>> {
    let (loader, stores) = open_offline(config).await?;
    let mut reports = Vec::new();
    for (plugin, section) in &config.plugins {
        let (file, section) = (section.component.clone(), Arc::new(section.clone()));
        let candidate = |bytes: Bytes| {
            let hash = components::hash(&bytes);
            Candidate { plugin: plugin.clone(), bytes, hash, config: section.clone() }
        };
        let published = match &stores {
            Some(stores) => find_published(&loader, stores, plugin).await.map(&candidate),
            None => None,
        };
        let from_file = tokio::fs::read(&file).await.map(|bytes| candidate(bytes.into()));
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
        reasons: loaded.err().map(|refusal| refusal.reasons).unwrap_or_default(),
        steps: steps(taken.taken),
    }
}

/// Returns the reasons why plugins that have settings would be refused with them, by their own components. Missing components
/// are skipped. Uses the cache of compiled code if it is there and this user's; otherwise a folder that is removed again.
/// Invariant: nothing is made in the data folder, and nothing there changes its owner or mode.
pub async fn check_settings(config: &Config) -> anyhow::Result<Vec<String>> {
    if config.plugins.values().all(|section| section.settings.is_empty()) {
        return Ok(Vec::new());
    }
    // Its name cannot be foreseen: a user who could prepare the cache would choose the code that runs.
    let scratch = tempfile::tempdir()?;
    let with_folder = match components::is_ready(&config.data_dir) {
        true => config.clone(),
        false => Config { data_dir: scratch.path().to_owned(), ..config.clone() },
    };
    let loader = closed_loader(&with_folder)?;
    let mut found = Vec::new();
    for (name, section) in config.plugins.iter().filter(|(_, section)| !section.settings.is_empty()) {
        let Ok(bytes) = fs::read(&section.component).map(Bytes::from) else { continue };
        let hash = components::hash(&bytes);
        let candidate = Candidate { plugin: name.clone(), bytes, hash, config: Arc::new(section.clone()) };
        if let Err(refusal) = loader.load(&candidate, &mut Steps::start()).await {
            found
                .extend(refusal.reasons.into_iter().map(|reason| format!("plugin {name} would be refused: {reason}.")));
        }
    }
    Ok(found)
}

/// Makes generations, and signs and seals nothing.
fn closed_loader(config: &Config) -> anyhow::Result<Loader> {
    let signing = SigningRoot::new(Default::default());
    let sealing = Arc::new(SealingRoot::new(Default::default()));
    let outside = Arc::new(Outside { signing, sealing, addresses: config.outbound.clone() });
    let shared = Shared { outside, keyring: Arc::new(Keyring::closed()?), chains: Chains::default() };
    new_loader(config, Program::own()?, Metrics::new()?, shared)
}

/// The manifest of what the journal says was served last.
async fn find_serving(loader: &Loader, stores: &Stores, config: &Config, plugin: &Arc<str>) -> Option<Arc<Manifest>> {
    let bytes = find_published(loader, stores, plugin).await?;
    let config = Arc::new(config.plugins.get(plugin)?.clone());
    let candidate = Candidate { plugin: plugin.clone(), hash: components::hash(&bytes), bytes, config };
    let generation = loader.load(&candidate, &mut Steps::start()).await.ok()?;
    Some(generation.manifest.clone())
}

/// The component that was served last, by the journal.
async fn find_published(loader: &Loader, stores: &Stores, plugin: &Arc<str>) -> Option<Bytes> {
    let published = journal::SwapJournal::find_published(stores, plugin, 1).await.ok()?;
    let (hash, _) = journal::last_served(&published)?;
    Some(Bytes::from(loader.components().find(&hash)?))
}
