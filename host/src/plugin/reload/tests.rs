//! A host with real files, real components, and a list as the table of routes.

mod durability;
mod first_loads;
mod overtaking;
mod retries;
mod settings;
mod swaps;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::{
    journal::{SwapEntry, SwapOutcome},
    *,
};
use crate::metrics::Metrics;
use crate::plugin::{
    compile::Compiler,
    components::ComponentStore,
    engine::ServingEngine,
    generation::Generation,
    guest::{self, Guest},
    load::{HostFeatures, LinkCalls, LoaderParts},
    registry::Registry,
};

/// The journal in memory. It survives a restart of the host.
#[derive(Default)]
struct MemoryJournal(Mutex<Vec<SwapEntry>>, Mutex<Disk>);

/// State of the disk when the next lines of the journal are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Disk {
    #[default]
    Works,
    /// The line is written, and writing returns an error.
    FailsAfterWriting,
    /// The line is not written, and writing returns an error.
    FailsBeforeWriting,
    /// The line is written, and both writing and reading return an error.
    FailsAfterWritingAndReading,
    /// The task that writes panics.
    Panics,
}

impl SwapJournal for MemoryJournal {
    fn record(&self, entries: Vec<SwapEntry>) -> BoxFuture<'_, Result<(), String>> {
        let disk = *self.1.lock();
        assert_ne!(disk, Disk::Panics);
        if disk != Disk::FailsBeforeWriting {
            self.0.lock().extend(entries);
        }
        async move { if disk == Disk::Works { Ok(()) } else { Err("no commit".into()) } }.boxed()
    }

    fn find_published<'a>(&'a self, plugin: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<SwapEntry>, String>> {
        if *self.1.lock() == Disk::FailsAfterWritingAndReading {
            return async { Err("no reading".into()) }.boxed();
        }
        let published = |entry: &&SwapEntry| *entry.plugin == *plugin && entry.outcome == SwapOutcome::Published;
        let found = self.0.lock().iter().rev().filter(published).take(limit).cloned().collect();
        async { Ok(found) }.boxed()
    }
}

/// Data that accepts every manifest except for special titles.
#[derive(Default)]
struct Data {
    /// Plugin whose tables are not created until this changes.
    slow: watch::Sender<Option<Arc<str>>>,
    /// Versions whose tables are created or about to be.
    prepared: Mutex<Vec<String>>,
}

impl DataMigrator for Data {
    fn check<'a>(
        &'a self,
        _: &'a Arc<str>,
        manifest: &'a Manifest,
        _: AllowedChanges,
    ) -> BoxFuture<'a, Result<Vec<String>, Vec<String>>> {
        assert_ne!(manifest.title, "panics", "a preparation panics");
        let checked =
            if manifest.title == "unreadable" { Err(vec!["cannot read what was written".into()]) } else { Ok(vec![]) };
        async { checked }.boxed()
    }

    fn prepare<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        _: AllowedChanges,
    ) -> BoxFuture<'a, Result<(), Vec<String>>> {
        self.prepared.lock().push(manifest.version.clone());
        async move {
            let mut slow = self.slow.subscribe();
            slow.wait_for(|slow| slow.as_ref() != Some(plugin)).await.unwrap();
            Ok(())
        }
        .boxed()
    }

    fn admit<'a>(&'a self, _: &'a Arc<str>, _: &'a Manifest) -> BoxFuture<'a, Result<(), Vec<String>>> {
        async { Ok(()) }.boxed()
    }
}

type Table = Vec<Arc<Generation>>;

fn build(serving: &[Arc<Generation>]) -> Result<Table, Vec<String>> {
    assert!(!serving.iter().any(|generation| generation.manifest.title == "panics in the table"));
    let mut paths: Vec<&str> = serving.iter().flat_map(|g| g.manifest.routes.iter().map(|r| r.path.as_str())).collect();
    paths.sort_unstable();
    let conflict = paths.windows(2).find(|pair| pair[0] == pair[1]);
    conflict.map_or_else(|| Ok(serving.to_vec()), |pair| Err(vec![format!("two plugins serve {}", pair[0])]))
}

struct Host {
    folder: PathBuf,
    lines: Arc<MemoryJournal>,
    plugins: Arc<Mutex<Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>>>>,
    registry: Arc<Registry<Table>>,
    loader: Arc<Loader>,
    reloader: Reloader,
    task: JoinHandle<()>,
}

/// A folder with the component file of the plugin "notes" and a data folder.
struct Fixture {
    folder: tempfile::TempDir,
    lines: Arc<MemoryJournal>,
    data: Arc<Data>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { folder: tempfile::tempdir().unwrap(), lines: Arc::default(), data: Arc::default() }
    }

    fn write(&self, bytes: &[u8]) {
        replace(&self.folder.path().join("notes.wasm"), bytes);
    }

    fn config(&self, file: &str) -> PluginConfig {
        PluginConfig { component: self.folder.path().join(file), ..guest::config(&[]) }
    }

    /// Starts a host, as after a restart.
    async fn start(&self) -> Host {
        let host = self.begin(&["notes"]);
        host.reloader.wait_for_first_loads().await;
        host
    }

    /// Starts a host with these plugins and returns while they load.
    fn begin(&self, plugins: &[&str]) -> Host {
        let section = |plugin: &&str| (Arc::from(*plugin), self.config(&format!("{plugin}.wasm")));
        let plugins: BTreeMap<Arc<str>, PluginConfig> = plugins.iter().map(section).collect();
        let engine = Arc::new(ServingEngine::start(1).unwrap());
        let components = Arc::new(ComponentStore::open(&self.folder.path().join("data")).unwrap());
        let link: LinkCalls = Arc::new(|_, _| Ok(()));
        let loader = Arc::new(Loader::new(LoaderParts {
            engine,
            components,
            compiler: Compiler::of_test(),
            link,
            metrics: Metrics::new().unwrap(),
            shared: crate::capability::Shared::bare(),
            features: HostFeatures { body_bytes_max: 1_000, link_base: true },
        }));
        let registry = Arc::new(Registry::new(build as fn(&[Arc<Generation>]) -> _).unwrap());
        let sections = Arc::new(Mutex::new(Ok(plugins.clone())));
        let read = sections.clone();
        let parts = ReloadParts {
            loader: loader.clone(),
            registry: registry.clone(),
            journal: self.lines.clone(),
            data: self.data.clone(),
            read_plugins: Arc::new(move || read.lock().clone()),
            config_file: self.folder.path().join("plugins.toml"),
            clock: Arc::new(|| 1_000),
        };
        let (reloader, task) = Reloader::start(parts, plugins);
        let folder = self.folder.path().to_owned();
        Host { folder, lines: self.lines.clone(), plugins: sections, registry, loader, reloader, task }
    }
}

/// Replaces a file by rename, as a build does.
fn replace(file: &Path, bytes: &[u8]) {
    let beside = file.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, file).unwrap();
}

impl Host {
    /// Returns the versions that serve, in the order of the plugins' names.
    fn serves(&self) -> Vec<String> {
        let mut serving = self.registry.current().to_vec();
        serving.sort_by_key(|generation| generation.plugin().clone());
        serving.iter().map(|generation| generation.manifest.version.clone()).collect()
    }

    async fn put(&self, bytes: &[u8]) -> PluginStatus {
        replace(&self.folder.join("notes.wasm"), bytes);
        self.reloader.reload_all().await.unwrap().remove(0)
    }

    /// Waits until nothing is being read or prepared.
    async fn settle(&self) {
        self.reloader.reload_all().await.unwrap();
    }

    async fn deploy(&self, bytes: Vec<u8>, allowed: AllowedChanges) -> Result<SwapReport, SwapError> {
        self.reloader.deploy("notes", bytes.into(), DeployOptions { actor: "operator".into(), allowed }).await
    }

    fn journal(&self) -> Vec<(SwapAction, SwapOutcome)> {
        self.lines.0.lock().iter().map(|entry| (entry.action, entry.outcome)).collect()
    }

    fn set_config(&self, change: impl FnOnce(&mut BTreeMap<Arc<str>, PluginConfig>)) {
        change(self.plugins.lock().as_mut().unwrap());
    }
}

fn notes(version: &str) -> Vec<u8> {
    Guest::notes(version).build()
}

/// Returns a plugin of this name with these routes.
fn plugin(name: &str, version: &str, paths: &[&str]) -> Vec<u8> {
    let route = |path: &&str| json!({"operation": path[4..], "method": "GET", "path": path});
    let mut manifest = guest::manifest(version);
    manifest["name"] = json!(name);
    manifest["routes"] = paths.iter().map(route).collect();
    Guest::with_manifest(manifest.to_string()).build()
}

/// Returns the plugin "notes" with another member in its manifest.
fn notes_with(version: &str, member: &str, value: serde_json::Value) -> Vec<u8> {
    let mut manifest = guest::manifest(version);
    manifest[member] = value;
    Guest::with_manifest(manifest.to_string()).build()
}

/// Returns a host on which 0.1.1 serves after 0.1.0.
async fn swapped(fixture: &Fixture) -> Host {
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE).await.unwrap();
    host
}
