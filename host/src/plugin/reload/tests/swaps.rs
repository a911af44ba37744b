//! Swaps from a file or by an operator, and rollbacks.

use super::*;

#[tokio::test]
async fn new_file_serves_and_a_rollback_publishes_the_old_version() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    assert_eq!(host.serves(), ["0.1.0"]);

    let status = host.put(&notes("0.1.1")).await;
    assert_eq!((host.serves(), status.parked.unwrap().version.as_str()), (vec!["0.1.1".into()], "0.1.0"));

    let report = host.reloader.rollback("notes", "operator", None).await.unwrap();
    assert_eq!((report.from.unwrap().version.as_str(), host.serves()), ("0.1.1", vec!["0.1.0".into()]));
    host.reloader.rollback("notes", "operator", None).await.unwrap();
    assert_eq!(host.serves(), ["0.1.1"], "a second rollback undoes the first");
}

#[tokio::test]
async fn watcher_loads_a_new_file_without_a_command() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let mut publications = host.registry.publications();
    publications.mark_unchanged();
    fixture.write(&notes("0.1.1"));
    tokio::time::timeout(Duration::from_secs(20), publications.changed()).await.unwrap().unwrap();
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn component_behind_a_link_is_read_from_the_current_target() {
    let fixture = Fixture::new();
    let current = fixture.folder.path().join("current");
    let release = |version: &str| {
        let folder = fixture.folder.path().join(version);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("notes.wasm"), notes(version)).unwrap();
        let _first = fs::remove_file(&current);
        std::os::unix::fs::symlink(&folder, &current).unwrap();
    };
    release("0.1.0");
    let host = fixture.begin(&[]);
    host.set_config(|plugins| drop(plugins.insert("notes".into(), fixture.config("current/notes.wasm"))));
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.0"]);
    release("0.1.1");
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn touched_file_changes_nothing() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let before = host.registry.current();
    host.put(&notes("0.1.0")).await;
    assert!(Arc::ptr_eq(&before, &host.registry.current()));
    assert_eq!(host.journal(), [(SwapAction::File, SwapOutcome::Published)]);
}

#[tokio::test]
async fn refused_file_leaves_the_old_version_serving_with_its_reasons() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let whole = notes("0.1.1");
    let wrong = [
        (whole[..whole.len() / 2].to_vec(), "not a whole component"),
        (Guest::notes("0.1.1").with_describe("unreachable").build(), "describe failed"),
        (Guest::notes("0.1.1").with_import("tenon:plugin/records@0.1.0").build(), "add \"records\" to grants"),
        (notes_with("0.1.1", "title", json!("unreadable")), "cannot read what was written"),
        (notes("0.0.9"), "lower than 0.1.0"),
    ];
    for (bytes, reason) in wrong {
        let status = host.put(&bytes).await;
        assert!(status.reasons.iter().any(|found| found.contains(reason)), "{reason}: {:?}", status.reasons);
        let refused = format!("refused (file of {}): ", &components::hash(&bytes)[..12]);
        assert!(status.reasons[0].starts_with(&refused), "{:?}", status.reasons);
        assert_eq!(host.serves(), ["0.1.0"]);
        assert_eq!(host.journal().last(), Some(&(SwapAction::File, SwapOutcome::Refused)));
    }
    assert!(host.put(&whole).await.reasons.is_empty());
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn file_that_can_be_read_again_leaves_only_the_reasons_of_its_refusal() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let file = fixture.folder.path().join("notes.wasm");
    for bytes in [notes("0.1.0"), b"broken".to_vec()] {
        let reasons = host.put(&bytes).await.reasons;
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let mut unreadable = host.reloader.reload_all().await.unwrap().remove(0).reasons;
        assert!(unreadable.pop().unwrap().ends_with("not a regular file"));
        assert_eq!(unreadable, reasons);
        fs::remove_dir(&file).unwrap();
        assert_eq!(host.put(&bytes).await.reasons, reasons);
    }
}

#[tokio::test]
async fn breaking_difference_is_published_only_if_the_operator_allows_it() {
    let fixture = Fixture::new();
    fixture.write(&notes_with("0.1.0", "event-types", json!([{"name": "note.made"}])));
    let host = fixture.start().await;
    let swap_error = host.deploy(notes("0.2.0"), AllowedChanges::COMPATIBLE).await.unwrap_err();
    assert!(swap_error.to_string().contains("event type note.made is gone"), "{swap_error}");
    let report = host.deploy(notes("0.2.0"), AllowedChanges::BREAKING).await.unwrap();
    assert_eq!((report.to.version.as_str(), report.notes.len()), ("0.2.0", 1));
}

#[tokio::test]
async fn calls_in_flight_finish_on_the_generation_that_they_began_on() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
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
async fn deploy_of_the_parked_component_publishes_the_parked_generation() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    let parked = host.reloader.status().await[0].parked.clone().unwrap();
    let report = host.deploy(notes("0.1.0"), AllowedChanges::BREAKING).await.unwrap();
    assert_eq!((report.to, report.generation), (parked, 1));
    assert!(!report.steps_ms.iter().any(|(step, _)| step == "compile"), "{:?}", report.steps_ms);
}

#[tokio::test]
async fn deploy_that_a_shutdown_cancels_returns_an_error_and_is_recorded() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let (deploy, ()) = tokio::join!(host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE), host.reloader.shutdown());
    assert_eq!(deploy.unwrap_err().to_string(), "the host is stopping");
    assert_eq!(host.journal().last(), Some(&(SwapAction::Deploy, SwapOutcome::Refused)));
}

#[tokio::test]
async fn two_hundred_swaps_leak_nothing() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let first = Arc::downgrade(&host.registry.current()[0]);
    for swap in 1..=200 {
        host.deploy(notes(&format!("0.1.{}", swap % 12 + 1)), AllowedChanges::BREAKING).await.unwrap();
    }
    host.settle().await;
    assert!(first.upgrade().is_none(), "an old generation is still held");
    assert_eq!(host.registry.current().len(), 1);
    let kept = fs::read_dir(fixture.folder.path().join("data/components")).unwrap().count();
    assert_eq!(kept, guest::config(&[]).limits.components_kept);
}

#[tokio::test]
async fn check_has_the_result_of_a_deploy_and_changes_nothing() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let baseline = || check::CheckBaseline {
        plugin: "notes".into(),
        config: Arc::new(guest::config(&[])),
        serving: Some(host.registry.current()[0].manifest.clone()),
        data: Some(&*fixture.data),
        allowed: AllowedChanges::COMPATIBLE,
    };
    let valid = check::check(&host.loader, notes("0.1.1").into(), baseline()).await;
    assert!(valid.passed() && valid.version.as_deref() == Some("0.1.1"));
    let invalid = check::check(&host.loader, notes("0.0.1").into(), baseline()).await;
    assert!(!invalid.passed() && invalid.reasons[0].contains("lower"));
    assert_eq!(host.serves(), ["0.1.0"]);
}

#[tokio::test]
async fn change_whose_preparation_or_table_panics_is_refused() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    for title in ["panics", "panics in the table"] {
        let component = notes_with("0.1.1", "title", json!(title));
        let swap_error = host.deploy(component, AllowedChanges::COMPATIBLE).await.unwrap_err().to_string();
        assert!(swap_error.contains("a bug in Tenon"), "{swap_error}");
        assert_eq!(host.serves(), ["0.1.0"]);
    }
    host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE).await.unwrap();
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn panic_of_the_task_is_detected() {
    let fixture = Fixture::new();
    let mut host = swapped(&fixture).await;
    assert!(!host.reloader.has_ended());
    *fixture.lines.1.lock() = Disk::Panics;
    host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE).await.unwrap_err();
    assert!((&mut host.task).await.unwrap_err().is_panic());
    assert!(host.reloader.has_ended());
}
