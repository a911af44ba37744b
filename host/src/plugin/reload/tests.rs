//! The whole way of a swap, with real files, real components and a table that is only a list.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::FutureExt;
use parking_lot::Mutex;
use serde_json::json;

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
    load::{LinkCalls, LoaderParts, Offers},
    registry::Registry,
};

/// The lines, in memory; survives a restart of the host around it.
#[derive(Default)]
struct Lines(Mutex<Vec<SwapEntry>>, Mutex<Disk>);

/// What the next lines of the journal meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Disk {
    #[default]
    Works,
    /// Writing reports an error; the line is there or not.
    FailsAfterWriting,
    FailsBeforeWriting,
    /// The line is there, but nothing can be read.
    FailsAfterWritingAndReading,
}

impl SwapJournal for Lines {
    fn record(&self, entries: Vec<SwapEntry>) -> BoxFuture<'_, Result<(), String>> {
        let disk = *self.1.lock();
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

/// Data that takes everything but what says so in its title.
struct Data;

impl DataGate for Data {
    fn check<'a>(
        &'a self,
        _: &'a Arc<str>,
        manifest: &'a Manifest,
        _: Passing,
    ) -> BoxFuture<'a, Result<Vec<String>, Vec<String>>> {
        let verdict =
            if manifest.title == "unreadable" { Err(vec!["cannot read what was written".into()]) } else { Ok(vec![]) };
        async { verdict }.boxed()
    }

    fn prepare<'a>(&'a self, _: &'a Arc<str>, _: &'a Manifest, _: Passing) -> BoxFuture<'a, Result<(), Vec<String>>> {
        async { Ok(()) }.boxed()
    }

    fn admit<'a>(&'a self, _: &'a Arc<str>, _: &'a Manifest) -> BoxFuture<'a, Result<(), Vec<String>>> {
        async { Ok(()) }.boxed()
    }
}

type Table = Vec<Arc<Generation>>;

fn build(serving: &[Arc<Generation>]) -> Result<Table, Vec<String>> {
    let mut paths: Vec<&str> = serving.iter().flat_map(|g| g.manifest.routes.iter().map(|r| r.path.as_str())).collect();
    paths.sort_unstable();
    let clash = paths.windows(2).find(|pair| pair[0] == pair[1]);
    clash.map_or_else(|| Ok(serving.to_vec()), |pair| Err(vec![format!("two plugins serve {}", pair[0])]))
}

struct Host {
    folder: PathBuf,
    lines: Arc<Lines>,
    plugins: Arc<Mutex<Result<BTreeMap<Arc<str>, PluginConfig>, Vec<String>>>>,
    registry: Arc<Registry<Table>>,
    loader: Arc<Loader>,
    reloader: Reloader,
}

/// A folder with the component file of the plugin "notes" and a data folder.
struct Place {
    folder: tempfile::TempDir,
    lines: Arc<Lines>,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), lines: Arc::default() }
    }

    fn write(&self, bytes: &[u8]) {
        replace(&self.folder.path().join("notes.wasm"), bytes);
    }

    fn config(&self, file: &str) -> PluginConfig {
        PluginConfig { component: self.folder.path().join(file), ..guest::config(&[]) }
    }

    /// Starts a host here, as after a restart.
    async fn start(&self) -> Host {
        let plugins = BTreeMap::from([("notes".into(), self.config("notes.wasm"))]);
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
            offers: Offers { body_bytes_max: 1_000, link_base: true },
        }));
        let registry = Arc::new(Registry::new(build as fn(&[Arc<Generation>]) -> _).unwrap());
        let wanted = Arc::new(Mutex::new(Ok(plugins.clone())));
        let read = wanted.clone();
        let parts = ReloadParts {
            loader: loader.clone(),
            registry: registry.clone(),
            journal: self.lines.clone(),
            data: Arc::new(Data),
            read_plugins: Arc::new(move || read.lock().clone()),
            config_file: self.folder.path().join("plugins.toml"),
            clock: Arc::new(|| 1_000),
        };
        let (reloader, _task) = Reloader::start(parts, plugins);
        reloader.settle().await;
        let folder = self.folder.path().to_owned();
        Host { folder, lines: self.lines.clone(), plugins: wanted, registry, loader, reloader }
    }
}

/// As a build does it: whole, by rename.
fn replace(file: &Path, bytes: &[u8]) {
    let beside = file.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, file).unwrap();
}

impl Host {
    /// Versions that serve, in order of the plugins' names.
    fn serves(&self) -> Vec<String> {
        self.registry.current().iter().map(|generation| generation.manifest.version.clone()).collect()
    }

    async fn put(&self, bytes: &[u8]) -> PluginStatus {
        replace(&self.folder.join("notes.wasm"), bytes);
        self.reloader.reload_all().await.unwrap().remove(0)
    }

    async fn deploy(&self, bytes: Vec<u8>, passing: Passing) -> Result<SwapReport, SwapRefusal> {
        self.reloader.deploy("notes", bytes.into(), DeployOptions { who: "operator".into(), passing }).await
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

/// The same plugin with one more word in its manifest.
fn notes_with(version: &str, member: &str, value: serde_json::Value) -> Vec<u8> {
    let mut manifest = guest::manifest(version);
    manifest[member] = value;
    Guest::saying(manifest.to_string()).build()
}

#[tokio::test]
async fn a_new_file_serves_and_the_old_version_is_one_command_away() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    assert_eq!(host.serves(), ["0.1.0"]);

    let status = host.put(&notes("0.1.1")).await;
    assert_eq!((host.serves(), status.parked.unwrap().version.as_str()), (vec!["0.1.1".into()], "0.1.0"));

    let report = host.reloader.rollback("notes", "operator").await.unwrap();
    assert_eq!((report.from.unwrap().version.as_str(), host.serves()), ("0.1.1", vec!["0.1.0".into()]));
    host.reloader.rollback("notes", "operator").await.unwrap();
    assert_eq!(host.serves(), ["0.1.1"], "twice is there and back again");
}

#[tokio::test]
async fn the_watcher_brings_a_new_file_without_being_asked() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let mut publications = host.registry.publications();
    publications.mark_unchanged();
    place.write(&notes("0.1.1"));
    tokio::time::timeout(Duration::from_secs(20), publications.changed()).await.unwrap().unwrap();
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn a_touched_file_changes_nothing() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let before = host.registry.current();
    host.put(&notes("0.1.0")).await;
    assert!(Arc::ptr_eq(&before, &host.registry.current()));
    assert_eq!(host.journal(), [(SwapAction::File, SwapOutcome::Published)]);
}

#[tokio::test]
async fn whatever_is_wrong_leaves_the_old_one_serving_and_says_why() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let whole = notes("0.1.1");
    let wrong = [
        (whole[..whole.len() / 2].to_vec(), "not a whole component"),
        (Guest::notes("0.1.1").describing("unreachable").build(), "describe failed"),
        (Guest::notes("0.1.1").importing("tenon:plugin/records@0.1.0").build(), "add \"records\" to grants"),
        (notes_with("0.1.1", "title", json!("unreadable")), "cannot read what was written"),
        (notes("0.0.9"), "lower than 0.1.0"),
    ];
    for (bytes, reason) in wrong {
        let status = host.put(&bytes).await;
        assert!(status.reasons.iter().any(|said| said.contains(reason)), "{reason}: {:?}", status.reasons);
        let refused = format!("refused (file of {}): ", &components::hash(&bytes)[..12]);
        assert!(status.reasons[0].starts_with(&refused), "{:?}", status.reasons);
        assert_eq!(host.serves(), ["0.1.0"]);
        assert_eq!(host.journal().last(), Some(&(SwapAction::File, SwapOutcome::Refused)));
    }
    assert!(host.put(&whole).await.reasons.is_empty());
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn a_breaking_difference_passes_only_when_the_operator_says_so() {
    let place = Place::new();
    place.write(&notes_with("0.1.0", "event-types", json!([{"name": "note.made"}])));
    let host = place.start().await;
    let refusal = host.deploy(notes("0.2.0"), Passing::COMPATIBLE).await.unwrap_err();
    assert!(refusal.to_string().contains("event type note.made is gone"), "{refusal}");
    let report = host.deploy(notes("0.2.0"), Passing::BREAKING).await.unwrap();
    assert_eq!((report.to.version.as_str(), report.notes.len()), ("0.2.0", 1));
}

#[tokio::test]
async fn deploys_and_rollbacks_survive_a_restart_until_the_file_changes() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    host.deploy(notes("0.1.1"), Passing::COMPATIBLE).await.unwrap();
    host.reloader.shutdown().await;

    let host = place.start().await;
    assert_eq!(host.serves(), ["0.1.1"], "the deploy, not the file");
    let status = host.reloader.status().await.remove(0);
    assert_eq!((status.parked, status.kept), (None, Some(components::hash(&notes("0.1.0")))));
    host.reloader.rollback("notes", "operator").await.unwrap();
    assert_eq!(host.serves(), ["0.1.0"], "from the data folder, by the journal");
    let status = host.reloader.status().await.remove(0);
    assert_eq!((status.parked.unwrap().version.as_str(), status.kept), ("0.1.1", None));
    host.put(&notes("0.1.2")).await;
    host.reloader.rollback("notes", "operator").await.unwrap();
    host.reloader.shutdown().await;

    let host = place.start().await;
    assert_eq!(host.serves(), ["0.1.0"], "the rollback, not the file");
    host.reloader.shutdown().await;
    place.write(&notes("0.1.3"));
    assert_eq!(place.start().await.serves(), ["0.1.3"]);
}

#[tokio::test]
async fn after_a_restart_a_broken_file_does_not_keep_the_last_version_from_serving() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    place.start().await.reloader.shutdown().await;
    place.write(b"broken");
    let host = place.start().await;
    assert_eq!(host.serves(), ["0.1.0"]);
    assert!(host.reloader.status().await[0].reasons[0].contains("is not WebAssembly"));
}

#[tokio::test]
async fn calls_in_flight_finish_on_the_generation_that_they_began_on() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let old = host.registry.current()[0].clone();
    let call = old.enter();
    let status = host.put(&notes("0.1.1")).await;
    assert_eq!((status.state, status.serving.unwrap().in_flight), (PluginState::Draining, 1));
    drop(call);
    old.drained().await;
    while host.reloader.status().await[0].state == PluginState::Draining {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_newer_deploy_overtakes_one_that_is_being_prepared() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let (first, second) = tokio::join!(
        host.deploy(notes("0.1.1"), Passing::COMPATIBLE),
        host.deploy(notes("0.1.2"), Passing::COMPATIBLE),
    );
    assert_eq!(first.unwrap_err().to_string(), "a newer change of the same plugin overtook this one");
    assert_eq!((second.unwrap().to.version.as_str(), host.serves()), ("0.1.2", vec!["0.1.2".into()]));
}

#[tokio::test]
async fn burst_of_deploys_publishes_the_newest_and_notes_every_overtaken_one() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let deploys = (1..=100).map(|number| host.deploy(notes(&format!("0.1.{number}")), Passing::COMPATIBLE));
    let answers = futures_util::future::join_all(deploys).await;
    host.reloader.settle().await;
    assert_eq!(host.serves(), ["0.1.100"]);
    let published = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(published, 2, "the one that took the place of the first, and the newest");
    let overtaken = host.journal().iter().filter(|(_, outcome)| *outcome == SwapOutcome::Overtaken).count();
    assert_eq!(overtaken, 98);
    let metrics = host.loader.metrics().render(Default::default()).unwrap();
    assert!(metrics.contains(r#"tenon_swaps_total{outcome="overtaken",plugin="notes"} 98"#), "{metrics}");
}

#[tokio::test]
async fn rollback_ends_what_is_prepared_and_what_waits() {
    let place = Place::new();
    let host = swapped(&place).await;
    let deploy = |version: &str| host.deploy(notes(version), Passing::COMPATIBLE);
    let (first, second, third, rollback) =
        tokio::join!(deploy("0.1.2"), deploy("0.1.3"), deploy("0.1.4"), host.reloader.rollback("notes", "operator"));
    for overtaken in [first, second, third] {
        assert_eq!(overtaken.unwrap_err().to_string(), "a newer change of the same plugin overtook this one");
    }
    assert_eq!((rollback.unwrap().to.version.as_str(), host.serves()), ("0.1.0", vec!["0.1.0".to_owned()]));
}

#[tokio::test]
async fn new_settings_let_the_waiting_deploy_serve_under_them() {
    let place = Place::new();
    let host = swapped(&place).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let deploy = |version: &str| host.deploy(notes(version), Passing::COMPATIBLE);
    let (_, _, third, settings) =
        tokio::join!(deploy("0.1.2"), deploy("0.1.3"), deploy("0.1.4"), host.reloader.reload_all());
    assert_eq!((third.unwrap().to.version.as_str(), settings.unwrap().len()), ("0.1.4", 1));
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.4".to_owned()], 3));
}

#[tokio::test]
async fn deploy_of_the_parked_component_publishes_the_parked_generation() {
    let place = Place::new();
    let host = swapped(&place).await;
    let parked = host.reloader.status().await[0].parked.clone().unwrap();
    let report = host.deploy(notes("0.1.0"), Passing::BREAKING).await.unwrap();
    assert_eq!((report.to, report.generation), (parked, 1));
    assert!(!report.steps_ms.iter().any(|(step, _)| step == "compile"), "{:?}", report.steps_ms);
}

#[tokio::test]
async fn publication_whose_line_is_durable_in_spite_of_an_error_serves() {
    let place = Place::new();
    let host = swapped(&place).await;
    *place.lines.1.lock() = Disk::FailsAfterWriting;
    host.deploy(notes("0.1.2"), Passing::COMPATIBLE).await.unwrap();
    assert_eq!(host.serves(), ["0.1.2"]);
}

#[tokio::test]
async fn publication_whose_line_is_not_durable_is_refused() {
    let place = Place::new();
    let host = swapped(&place).await;
    *place.lines.1.lock() = Disk::FailsBeforeWriting;
    let refusal = host.deploy(notes("0.1.2"), Passing::COMPATIBLE).await.unwrap_err().to_string();
    assert!(refusal.contains("the journal of swaps cannot be written: no commit"), "{refusal}");
    assert_eq!(host.serves(), ["0.1.1"]);
    let hash = components::hash(&notes("0.1.2"));
    assert!(!place.lines.0.lock().iter().any(|line| line.to.as_ref() == Some(&hash)));
}

#[tokio::test]
async fn line_of_a_refused_publication_is_corrected_once_the_journal_can_be_read() {
    let place = Place::new();
    let host = swapped(&place).await;
    *place.lines.1.lock() = Disk::FailsAfterWritingAndReading;
    host.deploy(notes("0.1.2"), Passing::COMPATIBLE).await.unwrap_err();
    assert_eq!(host.serves(), ["0.1.1"]);
    *place.lines.1.lock() = Disk::Works;
    let serving = Some(components::hash(&notes("0.1.1")));
    let corrected = || {
        let lines = place.lines.0.lock();
        lines.iter().rev().find(|line| line.outcome == SwapOutcome::Published).is_some_and(|line| line.to == serving)
    };
    tokio::time::timeout(Duration::from_secs(20), async {
        while !corrected() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_deploy_that_the_end_of_the_host_cuts_short_says_so() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let (deploy, ()) = tokio::join!(host.deploy(notes("0.1.1"), Passing::COMPATIBLE), host.reloader.shutdown());
    assert_eq!(deploy.unwrap_err().to_string(), "the host is stopping");
}

#[tokio::test]
async fn plugins_toml_changes_grants_adds_and_removes_plugins() {
    let place = Place::new();
    place.write(&Guest::notes("0.1.0").importing("tenon:plugin/log@0.1.0").build());
    let host = place.start().await;
    assert_eq!(host.serves(), Vec::<String>::new());

    // Granted, it gets past its inspection: the linker of this test offers nothing.
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().grants.push("log".into()));
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[0].reasons[0].contains("does not fit the contract"), "{:?}", status[0].reasons);

    host.put(&notes("0.1.0")).await;
    let mut things = guest::manifest("0.5.0");
    things["name"] = json!("things");
    fs::write(host.folder.join("things.wasm"), Guest::saying(things.to_string()).build()).unwrap();
    host.set_config(|plugins| {
        plugins.insert("things".into(), place.config("things.wasm"));
    });
    let status = host.reloader.reload_all().await.unwrap();
    assert!(status[1].reasons[0].contains("two plugins serve /v1/notes"), "{status:?}");

    host.set_config(|plugins| drop(plugins.remove("notes")));
    assert_eq!(host.reloader.reload_all().await.unwrap().len(), 1);
    let removal = host.lines.0.lock().iter().find(|line| line.action == SwapAction::Remove).cloned().unwrap();
    assert_eq!(removal.who, "plugins.toml");
    assert_eq!(host.serves(), Vec::<String>::new());
}

#[tokio::test]
async fn changed_limits_make_a_new_generation_of_the_same_bytes() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    host.reloader.reload_all().await.unwrap();
    let table = host.registry.current();
    assert_eq!((table[0].config.limits.calls, table[0].facts.generation), (3, 2));
    assert!(host.reloader.status().await[0].parked.is_none(), "the same component is no way back");

    *host.plugins.lock() = Err(vec!["line 3: no".into()]);
    assert!(host.reloader.reload_all().await.unwrap_err().to_string().contains("line 3"));
    assert_eq!(host.registry.current()[0].facts.generation, 2);
}

/// A host on which 0.1.1 serves after 0.1.0.
async fn swapped(place: &Place) -> Host {
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    host.deploy(notes("0.1.1"), Passing::COMPATIBLE).await.unwrap();
    host
}

#[tokio::test]
async fn a_rollback_that_new_settings_come_after_serves_the_old_version_under_them() {
    let place = Place::new();
    let host = swapped(&place).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    // The task hears of both before anything is prepared, in this order.
    let (rollback, settings) = tokio::join!(host.reloader.rollback("notes", "operator"), host.reloader.reload_all());
    assert_eq!((rollback.unwrap().action, settings.unwrap().len()), (SwapAction::Rollback, 1));
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.0".to_owned()], 3));
    assert_eq!(host.journal().last(), Some(&(SwapAction::Rollback, SwapOutcome::Published)), "one swap did both");
}

#[tokio::test]
async fn a_rollback_that_overtakes_new_settings_serves_the_old_version_under_them() {
    let place = Place::new();
    let host = swapped(&place).await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let (_, rollback) = tokio::join!(host.reloader.reload_all(), host.reloader.rollback("notes", "operator"));
    assert_eq!(rollback.unwrap().action, SwapAction::Rollback);
    assert_eq!((host.serves(), host.registry.current()[0].config.limits.calls), (vec!["0.1.0".to_owned()], 3));
}

#[tokio::test]
async fn new_settings_that_a_refused_deploy_has_overtaken_take_effect_after_it() {
    let place = Place::new();
    let host = swapped(&place).await;
    for (calls, is_first) in [(3, true), (4, false)] {
        host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = calls);
        let (deploy, settings) = (host.deploy(notes("0.0.1"), Passing::COMPATIBLE), host.reloader.reload_all());
        let refusal = if is_first { tokio::join!(deploy, settings).0 } else { tokio::join!(settings, deploy).1 };
        assert!(refusal.unwrap_err().to_string().contains("lower"));
        host.reloader.settle().await;
        let table = host.registry.current();
        assert_eq!((host.serves(), table[0].config.limits.calls), (vec!["0.1.1".to_owned()], calls));
        assert_eq!(host.journal().last(), Some(&(SwapAction::Config, SwapOutcome::Published)));
    }
}

#[tokio::test]
async fn settings_and_a_file_that_are_both_refused_come_to_rest() {
    let place = Place::new();
    place.write(&notes("0.1.1"));
    let host = place.start().await;
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.component_bytes = 8);
    let status = host.put(&notes("0.1.2")).await;
    assert_eq!(host.serves(), ["0.1.1"]);
    assert!(status.reasons[0].contains("refused (file"), "{:?}", status.reasons);
    assert!(host.journal().contains(&(SwapAction::Config, SwapOutcome::Refused)), "{:?}", host.journal());
}

#[tokio::test]
async fn two_hundred_swaps_leave_nothing_behind() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let first = Arc::downgrade(&host.registry.current()[0]);
    for swap in 1..=200 {
        host.deploy(notes(&format!("0.1.{}", swap % 12 + 1)), Passing::BREAKING).await.unwrap();
    }
    host.reloader.settle().await;
    assert!(first.upgrade().is_none(), "an old generation is still held");
    assert_eq!(host.registry.current().len(), 1);
    let kept = fs::read_dir(place.folder.path().join("data/components")).unwrap().count();
    assert!(kept <= crate::limits::COMPONENTS_KEPT + 1, "{kept} components are kept");
}

#[tokio::test]
async fn a_check_says_what_a_deploy_would_and_changes_nothing() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let against = || check::Against {
        plugin: "notes".into(),
        config: Arc::new(guest::config(&[])),
        serving: Some(host.registry.current()[0].manifest.clone()),
        data: Some(&Data),
        passing: Passing::COMPATIBLE,
    };
    let good = check::check(&host.loader, notes("0.1.1").into(), against()).await;
    assert!(good.passed() && good.version.as_deref() == Some("0.1.1"));
    let bad = check::check(&host.loader, notes("0.0.1").into(), against()).await;
    assert!(!bad.passed() && bad.reasons[0].contains("lower"));
    assert_eq!(host.serves(), ["0.1.0"]);
}
