//! `tenon plugin check`: everything up to *publish* for one component, without a server. Changes nothing but the cache
//! of compiled code. And what `tenon config check` learns from components: whether their settings fit.

use std::{fs, sync::Arc};

use bytes::Bytes;

use super::{operations::steps, rooms::new_loader, stores::Stores};
use crate::{
    admin::wire::CheckReport,
    capability::Shared,
    chains::Chains,
    config::Config,
    db::{Database, DbOptions},
    keyring::Keyring,
    metrics::Metrics,
    outbound::Outside,
    plugin::{
        components,
        load::{Candidate, Loader, Steps},
        manifest::Manifest,
        reload::{DataGate, Passing, check, journal},
    },
    secrets::{SealingRoot, SigningRoot},
};

/// `plugin` has a section in `config`.
pub async fn check_component(config: &Config, plugin: &str, component: Vec<u8>) -> anyhow::Result<CheckReport> {
    let Some(section) = config.plugins.get(plugin) else {
        anyhow::bail!("{} has no [plugins.{plugin}]", config.file.display());
    };
    let loader = closed_loader(config)?;
    // A host may hold the file, or none may have made it yet: then there is nothing to compare with.
    let stores = Database::open_read_only(&config.database_url, &DbOptions::default()).await.ok().map(Stores::new);
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
    Ok(CheckReport {
        plugin: report.plugin.to_string(),
        passed: report.passed(),
        hash: report.hash.to_string(),
        version: report.version,
        reasons: report.reasons,
        notes: report.notes,
        steps: steps(report.steps_ms),
    })
}

/// Why plugins that have settings would be refused with them, by their own components. A component that is not there is not
/// asked. Uses the cache of compiled code where the data folder exists; where it does not, a folder that is removed again.
pub async fn check_settings(config: &Config) -> anyhow::Result<Vec<String>> {
    // Its name cannot be foreseen: whoever could prepare the cache would choose what runs.
    let scratch = tempfile::tempdir()?;
    let with_folder = match config.data_dir.exists() {
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
    new_loader(config, Metrics::new()?, shared)
}

/// The manifest of what the journal says was served last.
async fn find_serving(loader: &Loader, stores: &Stores, config: &Config, plugin: &Arc<str>) -> Option<Arc<Manifest>> {
    let published = journal::SwapJournal::find_published(stores, plugin, 1).await.ok()?;
    let (hash, _) = journal::last_served(&published)?;
    let bytes = Bytes::from(loader.components().find(&hash)?);
    let config = Arc::new(config.plugins.get(plugin)?.clone());
    let candidate = Candidate { plugin: plugin.clone(), bytes, hash, config };
    let generation = loader.load(&candidate, &mut Steps::start()).await.ok()?;
    Some(generation.manifest.clone())
}
