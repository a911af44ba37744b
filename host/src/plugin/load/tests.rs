//! Which components become a generation, with small components made from text.

use serde_json::json;

use super::*;
use crate::plugin::{
    components,
    guest::{self, Guest},
};

/// Links only `f` of the interface "log".
fn link_log() -> LinkCalls {
    Arc::new(|linker, grants| {
        if grants.iter().any(|grant| grant == "log") {
            linker.instance("tenon:plugin/log@0.1.0")?.func_wrap("f", |_, (): ()| Ok(()))?;
        }
        Ok(())
    })
}

struct Fixture {
    _folder: tempfile::TempDir,
    loader: Loader,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let components = Arc::new(ComponentStore::open(folder.path()).unwrap());
    let engine = Arc::new(ServingEngine::start(1).unwrap());
    Fixture {
        _folder: folder,
        loader: Loader::new(LoaderParts {
            engine,
            components,
            compiler: Compiler::of_test(),
            link: link_log(),
            metrics: Metrics::new().unwrap(),
            shared: crate::capability::Shared::bare(),
            features: HostFeatures { body_bytes_max: 1_000, link_base: true },
        }),
    }
}

impl Fixture {
    async fn load(&self, guest: Guest, config: PluginConfig) -> Result<Arc<Generation>, SwapError> {
        let bytes: Bytes = guest.build().into();
        let hash = components::hash(&bytes);
        let candidate = Candidate { plugin: "notes".into(), bytes, hash, config: Arc::new(config) };
        self.loader.load(&candidate, &mut Steps::start()).await
    }

    async fn error_of(&self, guest: Guest) -> String {
        self.load(guest, guest::config(&["log"])).await.err().expect("it was loaded").to_string()
    }
}

#[tokio::test]
async fn valid_component_becomes_a_generation_with_its_steps_timed() {
    let fixture = fixture();
    let bytes: Bytes = Guest::notes("0.3.0").build().into();
    let hash = components::hash(&bytes);
    let candidate =
        Candidate { plugin: "notes".into(), bytes, hash: hash.clone(), config: Arc::new(guest::config(&[])) };
    let mut steps = Steps::start();
    let generation = fixture.loader.load(&candidate, &mut steps).await.unwrap();
    assert_eq!((&*generation.manifest.version, &generation.hash, generation.slots), ("0.3.0", &hash, 1));
    let names: Vec<&str> = steps.taken.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(names, ["inspect", "compile", "link", "try"]);
    assert!(fixture.loader.components.find_compiled(&fixture.loader.engine, &hash).is_some());
}

#[tokio::test]
async fn describe_that_traps_loops_or_exceeds_its_memory_is_rejected() {
    let fixture = fixture();
    assert!(fixture.error_of(Guest::notes("0.1.0").with_describe("unreachable")).await.contains("describe failed"));

    let mut config = guest::config(&[]);
    config.limits.compute_ms = 20;
    let looping = Guest::notes("0.1.0").with_describe("(loop $l (br $l)) unreachable");
    let swap_error = fixture.load(looping, config).await.err().unwrap().to_string();
    assert!(swap_error.contains("computed for more than 20 ms"), "{swap_error}");

    let hoarding = "(if (i32.eq (memory.grow (i32.const 2000)) (i32.const -1)) (then unreachable)) i32.const 0";
    assert!(fixture.error_of(Guest::notes("0.1.0").with_describe(hoarding)).await.contains("unreachable"));
}

#[tokio::test]
async fn mangled_name_that_decodes_exponentially_is_not_decoded() {
    let name = guest::exponential_name(28);
    let body = format!(r#"call $"{name}") (func $"{name}" (result i32) unreachable"#);
    let swap_error = fixture().error_of(Guest::notes("0.1.0").with_describe(&body)).await;
    assert!(swap_error.contains("backtrace: 0: ") && swap_error.contains(&name[..200]), "{swap_error}");
    assert!(!swap_error.contains(&name[..201]) && swap_error.len() < 1_000, "{} bytes: {swap_error}", swap_error.len());
}

#[tokio::test]
async fn describe_may_not_use_the_host() {
    let guest = Guest::notes("0.1.0").with_import("tenon:plugin/log@0.1.0").with_describe("call $f i32.const 0");
    let swap_error = fixture().error_of(guest).await;
    assert!(swap_error.contains("describe may not use the host, it called f of tenon:plugin/log"), "{swap_error}");
}

#[tokio::test]
async fn manifest_with_invalid_members_is_rejected() {
    let fixture = fixture();
    assert!(fixture.error_of(Guest::with_manifest("{".into())).await.contains("its manifest"));
    let mut manifest = guest::manifest("0.1.0");
    manifest["surprise"] = json!(1);
    assert!(fixture.error_of(Guest::with_manifest(manifest.to_string())).await.contains("unknown field `surprise`"));
    let mut manifest = guest::manifest("0.1.0");
    manifest["name"] = json!("others");
    manifest["contract"] = json!("0.9");
    let swap_error = fixture.error_of(Guest::with_manifest(manifest.to_string())).await;
    assert!(swap_error.contains("has the name \"others\"") && swap_error.contains("contract 0.9"), "{swap_error}");
}

#[tokio::test]
async fn import_without_a_grant_is_rejected_before_compilation() {
    let fixture = fixture();
    let guest = Guest::notes("0.1.0").with_import("tenon:plugin/records@0.1.0");
    assert!(fixture.error_of(guest).await.contains("add \"records\" to grants"));
    let invalid = fixture.load(Guest::notes("0.1.0"), guest::config(&["recrods"])).await.err().unwrap().to_string();
    assert!(invalid.contains("\"recrods\", which is no interface"), "{invalid}");
}

#[tokio::test]
async fn memory_over_the_limit_is_rejected_with_the_limit() {
    let swap_error = fixture().error_of(Guest::notes("0.1.0").memory_pages(1_025)).await;
    assert!(swap_error.contains("67108864 are the limit (limits.memory-bytes)"), "{swap_error}");
}

#[tokio::test]
async fn damaged_code_on_disk_is_compiled_again() {
    let fixture = fixture();
    let generation = fixture.load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
    let compiled = fixture._folder.path().join("compiled");
    for file in std::fs::read_dir(&compiled).unwrap() {
        let path = file.unwrap().path();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "damaged").unwrap();
    }
    let again = fixture.load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
    assert_eq!(again.hash, generation.hash);
    assert!(fixture.loader.components.find_compiled(&fixture.loader.engine, &again.hash).is_some());
}

#[test]
fn reasons_are_truncated_and_counted() {
    let swap_error =
        SwapError::from((0..15).map(|number| format!("{number}{}", "é".repeat(20_000))).collect::<Vec<_>>());
    assert_eq!(swap_error.reasons.len(), 11);
    assert!(swap_error.reasons[8].starts_with("8é") && swap_error.reasons[8].ends_with("é…"), "{swap_error}");
    assert_eq!(swap_error.reasons[9], "and 5 more");
    assert!(swap_error.reasons[10].starts_with("14é"), "{swap_error}");
    assert!(swap_error.reasons.iter().all(|reason| reason.len() <= limits::REFUSAL_REASON_BYTES_MAX));
    let few: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(SwapError::from(few.clone()).reasons, few);
    assert_eq!(SwapError::new("x".repeat(20_000)).reasons[0].len(), limits::REFUSAL_BYTES_MAX);
}

#[test]
fn error_of_the_engine_is_distinguished_from_a_full_disk() {
    let reason = |error: io::Error| store_error(error).to_string();
    assert!(reason(io::Error::other("instance size does not fit")).starts_with("the engine rejects its compiled code"));
    let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    assert!(reason(full).starts_with("its compiled code cannot be stored in the data folder: No space left"));
}

#[tokio::test]
async fn generation_is_drained_when_its_last_call_ends() {
    let generation = fixture().load(Guest::notes("0.1.0"), guest::config(&[])).await.unwrap();
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
