//! What becomes a generation and what does not, with small components made from text.

use serde_json::json;

use super::*;
use crate::plugin::{
    components,
    guest::{self, Guest},
};

/// Links nothing but `f` of the interface "log".
fn link_log() -> LinkCalls {
    Arc::new(|linker, grants| {
        if grants.iter().any(|grant| grant == "log") {
            linker.instance("tenon:plugin/log@0.1.0")?.func_wrap("f", |_, (): ()| Ok(()))?;
        }
        Ok(())
    })
}

struct Room {
    _folder: tempfile::TempDir,
    loader: Loader,
}

fn room() -> Room {
    let folder = tempfile::tempdir().unwrap();
    let components = Arc::new(ComponentStore::open(folder.path()).unwrap());
    let engine = Arc::new(ServingEngine::start(1).unwrap());
    Room {
        _folder: folder,
        loader: Loader::new(LoaderParts {
            engine,
            components,
            compiler: Compiler::of_test(),
            link: link_log(),
            metrics: Metrics::new().unwrap(),
            shared: crate::capability::Shared::bare(),
            offers: Offers { body_bytes_max: 1_000, link_base: true },
        }),
    }
}

impl Room {
    async fn load(&self, guest: Guest, config: PluginConfig) -> Result<Arc<Generation>, SwapRefusal> {
        let bytes: Bytes = guest.build().into();
        let hash = components::hash(&bytes);
        let candidate = Candidate { plugin: "notes".into(), bytes, hash, config: Arc::new(config) };
        self.loader.load(&candidate, &mut Steps::start()).await
    }

    async fn refused(&self, guest: Guest) -> String {
        self.load(guest, guest::config(&["log"])).await.err().expect("it was loaded").to_string()
    }
}

#[tokio::test]
async fn a_sound_component_becomes_a_generation_with_its_steps_timed() {
    let room = room();
    let bytes: Bytes = Guest::notes("0.3.0").build().into();
    let hash = components::hash(&bytes);
    let candidate =
        Candidate { plugin: "notes".into(), bytes, hash: hash.clone(), config: Arc::new(guest::config(&[])) };
    let mut steps = Steps::start();
    let generation = room.loader.load(&candidate, &mut steps).await.unwrap();
    assert_eq!((&*generation.manifest.version, &generation.hash, generation.slots), ("0.3.0", &hash, 1));
    let names: Vec<&str> = steps.taken.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(names, ["inspect", "compile", "link", "try"]);
    assert!(room.loader.components.find_compiled(&room.loader.engine, &hash).is_some());
}

#[tokio::test]
async fn describe_that_traps_loops_or_hoards_is_refused() {
    let room = room();
    assert!(room.refused(Guest::notes("0.1.0").describing("unreachable")).await.contains("describe failed"));

    let mut config = guest::config(&[]);
    config.limits.compute_ms = 20;
    let looping = Guest::notes("0.1.0").describing("(loop $l (br $l)) unreachable");
    let refusal = room.load(looping, config).await.err().unwrap().to_string();
    assert!(refusal.contains("computed for more than 20 ms"), "{refusal}");

    let hoarding = "(if (i32.eq (memory.grow (i32.const 2000)) (i32.const -1)) (then unreachable)) i32.const 0";
    assert!(room.refused(Guest::notes("0.1.0").describing(hoarding)).await.contains("unreachable"));
}

#[tokio::test]
async fn mangled_name_that_decodes_exponentially_is_shown_as_it_is() {
    let name = guest::exponential_name(28);
    let body = format!(r#"call $"{name}") (func $"{name}" (result i32) unreachable"#);
    let refusal = room().refused(Guest::notes("0.1.0").describing(&body)).await;
    assert!(refusal.contains("backtrace: 0: ") && refusal.contains(&name[..200]), "{refusal}");
    assert!(!refusal.contains(&name[..201]) && refusal.len() < 1_000, "{} bytes: {refusal}", refusal.len());
}

#[tokio::test]
async fn describe_may_not_use_the_host() {
    let guest = Guest::notes("0.1.0").importing("tenon:plugin/log@0.1.0").describing("call $f i32.const 0");
    let refusal = room().refused(guest).await;
    assert!(refusal.contains("describe may not use the host, it called f of tenon:plugin/log"), "{refusal}");
}

#[tokio::test]
async fn a_manifest_that_lies_is_refused() {
    let room = room();
    assert!(room.refused(Guest::saying("{".into())).await.contains("its manifest"));
    let mut manifest = guest::manifest("0.1.0");
    manifest["surprise"] = json!(1);
    assert!(room.refused(Guest::saying(manifest.to_string())).await.contains("unknown field `surprise`"));
    let mut manifest = guest::manifest("0.1.0");
    manifest["name"] = json!("others");
    manifest["contract"] = json!("0.9");
    let refusal = room.refused(Guest::saying(manifest.to_string())).await;
    assert!(refusal.contains("calls itself \"others\"") && refusal.contains("contract 0.9"), "{refusal}");
}

#[tokio::test]
async fn what_is_not_granted_never_reaches_the_compiler() {
    let room = room();
    let guest = Guest::notes("0.1.0").importing("tenon:plugin/records@0.1.0");
    assert!(room.refused(guest).await.contains("add \"records\" to grants"));
    let wrong = room.load(Guest::notes("0.1.0"), guest::config(&["recrods"])).await.err().unwrap().to_string();
    assert!(wrong.contains("\"recrods\", which is no interface"), "{wrong}");
}

#[tokio::test]
async fn a_memory_over_the_limit_is_refused_with_the_limit() {
    let refusal = room().refused(Guest::notes("0.1.0").memory_pages(1_025)).await;
    assert!(refusal.contains("67108864 are the limit (limits.memory-bytes)"), "{refusal}");
}

#[tokio::test]
async fn code_that_is_damaged_on_disk_is_compiled_again() {
    let room = room();
    let generation = room.load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
    let compiled = room._folder.path().join("compiled");
    for file in std::fs::read_dir(&compiled).unwrap() {
        let path = file.unwrap().path();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "damaged").unwrap();
    }
    let again = room.load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
    assert_eq!(again.hash, generation.hash);
    assert!(room.loader.components.find_compiled(&room.loader.engine, &again.hash).is_some());
}

#[test]
fn reasons_are_cut_and_counted() {
    let refusal =
        SwapRefusal::from((0..15).map(|number| format!("{number}{}", "é".repeat(20_000))).collect::<Vec<_>>());
    assert_eq!(refusal.reasons.len(), 11);
    assert!(refusal.reasons[8].starts_with("8é") && refusal.reasons[8].ends_with("é…"), "{refusal}");
    assert_eq!(refusal.reasons[9], "and 5 more");
    assert!(refusal.reasons[10].starts_with("14é"), "{refusal}");
    assert!(refusal.reasons.iter().all(|reason| reason.len() <= limits::REFUSAL_REASON_BYTES_MAX));
    let few: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(SwapRefusal::from(few.clone()).reasons, few);
    assert_eq!(SwapRefusal::because("x".repeat(20_000)).reasons[0].len(), limits::REFUSAL_BYTES_MAX);
}

#[test]
fn engine_that_refuses_is_not_taken_for_a_full_disk() {
    let reason = |error: io::Error| not_kept(error).to_string();
    assert!(reason(io::Error::other("instance size does not fit")).starts_with("the engine refuses its compiled code"));
    let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    assert!(reason(full).starts_with("its compiled code cannot be kept in the data folder: No space left"));
}

#[tokio::test]
async fn the_last_call_to_end_lets_a_generation_drain() {
    let generation = room().load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
    let (first, second) = (generation.enter(), generation.enter());
    let draining = tokio::spawn({
        let generation = generation.clone();
        async move { generation.drained().await }
    });
    tokio::task::yield_now().await;
    drop(first);
    tokio::task::yield_now().await;
    assert_eq!(generation.in_flight(), 1);
    assert!(!draining.is_finished());
    drop(second);
    draining.await.unwrap();
}
