//! Changes that are refused for a cause outside of their component, and prepared again.

use super::*;

/// Advances the time beyond the pause before the next attempt, and waits for a publication.
async fn serves_after_the_pause(host: &Host) -> Vec<String> {
    let mut publications = host.registry.publications();
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(limits::SWAP_RETRY_MS)).await;
    tokio::time::resume();
    tokio::time::timeout(Duration::from_secs(20), publications.changed()).await.unwrap().unwrap();
    host.serves()
}

/// Replaces the folder of compiled code by a file, so that no code can be written.
fn block_compiled(fixture: &Fixture) -> PathBuf {
    let compiled = fixture.folder.path().join("data/compiled");
    fs::remove_dir_all(&compiled).unwrap();
    fs::write(&compiled, "no folder").unwrap();
    compiled
}

#[tokio::test]
async fn file_whose_code_could_not_be_stored_is_loaded_when_it_is_saved_again() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    let compiled = block_compiled(&fixture);
    let status = host.put(&notes("0.1.1")).await;
    assert!(status.reasons[0].contains("cannot be stored in the data folder"), "{:?}", status.reasons);
    assert_eq!(host.serves(), ["0.1.0"]);
    fs::remove_file(compiled).unwrap();
    assert!(host.put(&notes("0.1.1")).await.reasons.is_empty());
    assert_eq!(host.serves(), ["0.1.1"]);
}

#[tokio::test]
async fn file_is_loaded_after_a_pause_once_the_journal_can_be_written() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    *fixture.lines.1.lock() = Disk::FailsBeforeWriting;
    host.put(&notes("0.1.1")).await;
    assert_eq!(host.serves(), ["0.1.0"]);
    *fixture.lines.1.lock() = Disk::Works;
    assert_eq!(serves_after_the_pause(&host).await, ["0.1.1"]);
}

#[tokio::test]
async fn journaled_version_serves_after_a_pause_and_the_older_file_does_not() {
    let fixture = Fixture::new();
    swapped(&fixture).await.reloader.shutdown().await;
    let host = fixture.begin(&["notes"]);
    let compiled = block_compiled(&fixture);
    host.reloader.wait_for_first_loads().await;
    host.settle().await;
    assert_eq!(host.serves(), Vec::<String>::new());
    fs::remove_file(compiled).unwrap();
    assert_eq!(serves_after_the_pause(&host).await, ["0.1.1"]);
}

#[tokio::test]
async fn deploy_ends_the_attempts_for_a_refused_file() {
    let fixture = Fixture::new();
    fixture.write(&notes("0.1.0"));
    let host = fixture.start().await;
    *fixture.lines.1.lock() = Disk::FailsBeforeWriting;
    host.put(&notes("0.1.1")).await;
    *fixture.lines.1.lock() = Disk::Works;
    host.deploy(notes("0.1.2"), AllowedChanges::COMPATIBLE).await.unwrap();
    host.settle().await;
    assert_eq!(host.serves(), ["0.1.2"]);
    assert_eq!(host.journal().last(), Some(&(SwapAction::Deploy, SwapOutcome::Published)));
}
