//! The journal of swaps: which version serves after a restart, and after an error of the disk.

use super::*;

#[tokio::test]
async fn deploys_and_rollbacks_survive_a_restart_until_the_file_changes() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE).await.unwrap();
    host.reloader.shutdown().await;

    let host = fixture.start().await;
    assert_eq!(host.serves(), ["0.1.1"], "the deploy, not the file");
    let status = host.reloader.status().await.remove(0);
    assert_eq!((status.parked, status.kept), (None, Some(components::hash(&notes("0.1.0")))));
    host.reloader.rollback("notes", "operator", None).await.unwrap();
    assert_eq!(host.serves(), ["0.1.0"], "from the data folder, by the journal");
    let status = host.reloader.status().await.remove(0);
    assert_eq!((status.parked.unwrap().version.as_str(), status.kept), ("0.1.1", None));
    host.put(&notes("0.1.2")).await;
    host.reloader.rollback("notes", "operator", None).await.unwrap();
    host.reloader.shutdown().await;

    let host = fixture.start().await;
    assert_eq!(host.serves(), ["0.1.0"], "the rollback, not the file");
    host.reloader.shutdown().await;
    fixture.write(&notes("0.1.3"));
    assert_eq!(fixture.start().await.serves(), ["0.1.3"]);
}

#[tokio::test]
async fn last_version_serves_after_a_restart_despite_a_broken_file() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    fixture.start().await.reloader.shutdown().await;
    fixture.write(b"broken");
    let host = fixture.start().await;
    assert_eq!(host.serves(), ["0.1.0"]);
    assert!(host.reloader.status().await[0].reasons[0].contains("is not WebAssembly"));
}

#[tokio::test]
async fn older_file_does_not_replace_a_deployed_version_that_is_lost() {
    let fixture = Fixture::new();
    swapped(&fixture).await.reloader.shutdown().await;
    let kept = fixture.folder.path().join(format!("data/components/{}.wasm", components::hash(&notes("0.1.1"))));
    fs::write(&kept, b"damaged").unwrap();
    let host = fixture.start().await;
    assert_eq!(host.serves(), Vec::<String>::new());
    let status = host.reloader.status().await.remove(0);
    assert!(status.reasons[0].contains(&kept.display().to_string()), "{:?}", status.reasons);

    host.deploy(notes("0.1.1"), AllowedChanges::COMPATIBLE).await.unwrap();
    assert_eq!(host.serves(), ["0.1.1"]);
    host.reloader.shutdown().await;
    assert_eq!(fixture.start().await.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn new_settings_load_the_deployed_version_that_was_refused_and_not_the_older_file() {
    let fixture = Fixture::new();
    swapped(&fixture).await.reloader.shutdown().await;
    let kept = fixture.folder.path().join(format!("data/components/{}.wasm", components::hash(&notes("0.1.1"))));
    fs::remove_file(&kept).unwrap();
    let host = fixture.start().await;
    fs::write(&kept, notes("0.1.1")).unwrap();
    host.set_config(|plugins| plugins.get_mut("notes").unwrap().limits.calls = 3);
    let status = host.reloader.reload_all().await.unwrap().remove(0);
    assert_eq!((host.serves(), status.reasons), (vec!["0.1.1".to_owned()], Vec::new()));
}

#[tokio::test]
async fn rollback_is_refused_if_its_component_would_not_serve_after_a_restart() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    fs::remove_dir_all(fixture.folder.path().join("data/components")).unwrap();
    let swap_error = host.reloader.rollback("notes", "operator", None).await.unwrap_err().to_string();
    assert!(swap_error.contains("is no longer in the data folder"), "{swap_error}");
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn deploy_of_the_parked_component_keeps_its_bytes() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    fs::remove_dir_all(fixture.folder.path().join("data/components")).unwrap();
    host.deploy(notes("0.1.0"), AllowedChanges::BREAKING).await.unwrap();
    assert!(host.loader.components().has(&components::hash(&notes("0.1.0"))));
}

#[tokio::test]
async fn publication_whose_line_is_durable_in_spite_of_an_error_serves() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    *fixture.lines.1.lock() = Disk::FailsAfterWriting;
    host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE).await.unwrap();
    assert_eq!(host.serves(), ["0.1.2"]);
}

#[tokio::test]
async fn publication_whose_line_is_not_durable_is_refused() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    *fixture.lines.1.lock() = Disk::FailsBeforeWriting;
    let swap_error = host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE).await.unwrap_err().to_string();
    assert!(swap_error.contains("failed to write the journal of swaps: no commit"), "{swap_error}");
    assert_eq!(host.serves(), ["0.1.1"]);
    let hash = components::hash(&notes("0.1.2"));
    assert!(!fixture.lines.0.lock().iter().any(|line| line.to.as_ref() == Some(&hash)));
}

#[tokio::test]
async fn line_of_a_refused_publication_is_corrected_once_the_journal_can_be_read() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    *fixture.lines.1.lock() = Disk::FailsAfterWritingAndReading;
    host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE).await.unwrap_err();
    assert_eq!(host.serves(), ["0.1.1"]);
    *fixture.lines.1.lock() = Disk::Works;
    wait_until_journal_names(&fixture, &notes("0.1.1")).await;
}

#[tokio::test]
async fn removed_plugin_whose_line_is_durable_in_spite_of_an_error_no_longer_serves() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    *fixture.lines.1.lock() = Disk::FailsAfterWriting;
    host.set_config(|plugins| drop(plugins.remove("notes")));
    assert_eq!(host.reloader.reload_all().await.unwrap().len(), 0);
    assert_eq!(host.serves(), Vec::<String>::new());
}

#[tokio::test]
async fn line_of_a_refused_removal_is_corrected_once_the_journal_can_be_read() {
    let fixture = Fixture::new();
    let host = swapped(&fixture).await;
    *fixture.lines.1.lock() = Disk::FailsAfterWritingAndReading;
    host.set_config(|plugins| drop(plugins.remove("notes")));
    assert_eq!(host.reloader.reload_all().await.unwrap().len(), 1);
    assert_eq!(host.serves(), ["0.1.1"]);
    *fixture.lines.1.lock() = Disk::Works;
    wait_until_journal_names(&fixture, &notes("0.1.1")).await;
}

/// Waits until the newest line of a publication names this component.
async fn wait_until_journal_names(fixture: &Fixture, serving: &[u8]) {
    let serving = Some(components::hash(serving));
    let corrected = || {
        let lines = fixture.lines.0.lock();
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
