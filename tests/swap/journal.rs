//! The journal determines which component serves after a restart, until the file changes.

use super::chameleons::{
    chameleon, deploy, deploy_breaking, host_serving, journal, put_file, rollback, status, version,
    wait_until_rejected, wait_until_serving,
};
use crate::support::TestHost;

async fn served_version(host: &TestHost) -> u64 {
    version(&host.client("chameleon", "acme").await).await
}

#[tokio::test]
async fn deploy_survives_a_restart_and_a_later_file_replaces_it() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let host = host.restart().await;
    assert_eq!(served_version(&host).await, 2);
    put_file(&host, "chameleon", &chameleon(3, &[]));
    wait_until_serving(&host, "chameleon", 3).await;
}

#[tokio::test]
async fn rollback_survives_two_restarts_and_can_be_reversed() {
    let host = host_serving(1).await;
    put_file(&host, "chameleon", &chameleon(2, &[]));
    wait_until_serving(&host, "chameleon", 2).await;
    rollback(&host).await.check(200);
    let host = host.restart().await.restart().await;
    assert_eq!(served_version(&host).await, 1);
    rollback(&host).await.check(200);
    assert_eq!(served_version(&host).await, 2);
}

/// After the restart no parked generation is in memory, but the data folder contains the stored component.
#[tokio::test]
async fn rollback_after_a_restart_restores_the_previous_component() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let host = host.restart().await;
    assert_eq!(rollback(&host).await.expect(200).text_at("/to/version"), "1.1.0");
    assert_eq!(served_version(&host).await, 1);
}

#[tokio::test]
async fn file_changed_while_the_host_was_stopped_is_served_at_the_start() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let file = host.component_file("chameleon");
    let host = host.restart_after(|| std::fs::write(file, chameleon(3, &[])).unwrap()).await;
    assert_eq!(served_version(&host).await, 3);
}

#[tokio::test]
async fn deploy_of_a_breaking_version_survives_a_restart() {
    let host = host_serving(2).await;
    deploy_breaking(&host, "chameleon", chameleon(1, &[])).await.check(200);
    assert_eq!(served_version(&host.restart().await).await, 1);
}

/// An older version never replaces one whose deploy was confirmed.
#[tokio::test]
async fn file_does_not_replace_a_deployed_component_that_is_damaged() {
    let host = host_serving(1).await;
    let report = deploy(&host, "chameleon", chameleon(2, &[])).await.expect(200);
    let stored = host.data_dir().join("components").join(format!("{}.wasm", report.text_at("/to/hash")));
    let host = host.restart_after(|| std::fs::write(stored, b"damaged").unwrap()).await;
    wait_until_rejected(&host, "chameleon").await;
    let not_ready = host.operator().get("/readyz").await.expect(503).text();
    assert!(not_ready.contains("is missing or damaged"), "{not_ready}");
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(served_version(&host.restart().await).await, 2);
}

/// Compiled code is a cache whose digest is verified.
#[tokio::test]
async fn damaged_compiled_code_is_compiled_again() {
    let host = host_serving(1).await;
    let compiled = host.data_dir().join("compiled");
    let damage = || {
        for file in std::fs::read_dir(compiled).unwrap() {
            std::fs::write(file.unwrap().path(), b"damaged").unwrap();
        }
    };
    let host = host.restart_after(damage).await;
    assert_eq!(served_version(&host).await, 1);
}

#[tokio::test]
async fn each_swap_writes_one_journal_line_and_a_restart_none() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let host = host.restart().await;
    rollback(&host).await.check(200);
    let lines = journal(&host, "chameleon").await;
    let actions: Vec<_> = lines.iter().map(|line| line["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["rollback", "deploy", "file"]);
    assert_eq!(lines[0]["to"], lines[1]["from"]);
    assert_eq!(lines[0]["to"], status(&host, "chameleon").await["serving"]["hash"]);
    assert_eq!(lines[1]["who"], "operator");
}
