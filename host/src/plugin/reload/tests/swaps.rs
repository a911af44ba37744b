//! A swap from a file or from an operator, and its way back.

use super::*;

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
async fn watcher_loads_a_new_file_without_a_command() {
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
async fn component_behind_a_link_is_read_from_the_current_target() {
    let place = Place::new();
    let current = place.folder.path().join("current");
    let release = |version: &str| {
        let folder = place.folder.path().join(version);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("notes.wasm"), notes(version)).unwrap();
        let _first = fs::remove_file(&current);
        std::os::unix::fs::symlink(&folder, &current).unwrap();
    };
    release("0.1.0");
    let host = place.begin(&[]);
    host.set_config(|plugins| drop(plugins.insert("notes".into(), place.config("current/notes.wasm"))));
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.0"]);
    release("0.1.1");
    host.settle().await;
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
async fn file_that_can_be_read_again_leaves_only_the_reasons_of_its_refusal() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let file = place.folder.path().join("notes.wasm");
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
async fn deploy_of_the_parked_component_publishes_the_parked_generation() {
    let place = Place::new();
    let host = swapped(&place).await;
    let parked = host.reloader.status().await[0].parked.clone().unwrap();
    let report = host.deploy(notes("0.1.0"), Passing::BREAKING).await.unwrap();
    assert_eq!((report.to, report.generation), (parked, 1));
    assert!(!report.steps_ms.iter().any(|(step, _)| step == "compile"), "{:?}", report.steps_ms);
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
async fn two_hundred_swaps_leave_nothing_behind() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    let first = Arc::downgrade(&host.registry.current()[0]);
    for swap in 1..=200 {
        host.deploy(notes(&format!("0.1.{}", swap % 12 + 1)), Passing::BREAKING).await.unwrap();
    }
    host.settle().await;
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
        data: Some(&*place.data),
        passing: Passing::COMPATIBLE,
    };
    let good = check::check(&host.loader, notes("0.1.1").into(), against()).await;
    assert!(good.passed() && good.version.as_deref() == Some("0.1.1"));
    let bad = check::check(&host.loader, notes("0.0.1").into(), against()).await;
    assert!(!bad.passed() && bad.reasons[0].contains("lower"));
    assert_eq!(host.serves(), ["0.1.0"]);
}

#[tokio::test]
async fn change_whose_preparation_or_table_panics_is_refused() {
    let place = Place::new();
    place.write(&notes("0.1.0"));
    let host = place.start().await;
    for title in ["panics", "panics in the table"] {
        let component = notes_with("0.1.1", "title", json!(title));
        let refusal = host.deploy(component, Passing::COMPATIBLE).await.unwrap_err().to_string();
        assert!(refusal.contains("a bug in Tenon"), "{refusal}");
        assert_eq!(host.serves(), ["0.1.0"]);
    }
    host.deploy(notes("0.1.1"), Passing::COMPATIBLE).await.unwrap();
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn end_of_the_task_by_a_panic_is_seen() {
    let place = Place::new();
    let mut host = swapped(&place).await;
    assert!(!host.reloader.has_ended());
    *place.lines.1.lock() = Disk::Panics;
    host.deploy(notes("0.1.2"), Passing::COMPATIBLE).await.unwrap_err();
    assert!((&mut host.task).await.unwrap_err().is_panic());
    assert!(host.reloader.has_ended());
}
