//! Two plugins on one host: concurrent swaps, isolation, and conflicting routes.

use serde_json::json;

use super::{
    chameleons::{
        ComponentFiles, GRANTS, chameleon, chameleon_named, deploy, deploy_breaking, host_builder, put_file, status,
        wait_until_serving,
    },
    traffic::Traffic,
};
use crate::support::TestHost;

async fn host_with_two() -> TestHost {
    let files = ComponentFiles::new();
    host_builder(&files, 1, GRANTS)
        .plugin("second", files.put("second", &chameleon_named("second", 1)), GRANTS)
        .start()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plugins_are_swapped_concurrently() {
    let host = host_with_two().await;
    let (first, second) = (Traffic::start(&host, "chameleon", 8).await, Traffic::start(&host, "second", 8).await);
    for number in 2..=3 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        put_file(&host, "second", &chameleon_named("second", number));
        wait_until_serving(&host, "chameleon", number).await;
        wait_until_serving(&host, "second", number).await;
        first.wait_for_responses().await;
        second.wait_for_responses().await;
    }
    first.stop().await.expect(1..=3);
    second.stop().await.expect(1..=3);
}

#[tokio::test]
async fn swap_of_one_plugin_does_not_change_the_other() {
    let host = host_with_two().await;
    let before = status(&host, "second").await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(status(&host, "second").await, before);
}

/// Conflicting routes are rejected even if the operator allows breaking differences.
#[tokio::test]
async fn conflicting_routes_are_rejected_with_both_plugins() {
    let host = host_with_two().await;
    let conflicting = chameleon(2, &[("/routes/1/path", json!("/second/v1/version"))]);
    let reasons = deploy_breaking(&host, "chameleon", conflicting).await.expect(409).json()["reasons"].to_string();
    for part in ["chameleon", "second", "/second/v1/version"] {
        assert!(reasons.contains(part), "{reasons}");
    }
    let listed = status(&host, "chameleon").await["reasons"].to_string();
    assert!(listed.ends_with(reasons.trim_start_matches("[\"")), "{listed}");
    host.client("second", "acme").await.get("/second/v1/version").await.check(200);
    host.client("chameleon", "acme").await.get("/v1/version").await.check(200);
}

/// Either plugin may be the one that serves. The other plugin is down and reports both names.
#[tokio::test]
async fn plugin_with_routes_of_another_plugin_does_not_serve() {
    let files = ComponentFiles::new();
    let twin = chameleon(1, &[("/name", json!("twin"))]);
    let host = host_builder(&files, 1, GRANTS).plugin("twin", files.put("twin", &twin), GRANTS).start().await;
    let (first, second) = (status(&host, "chameleon").await, status(&host, "twin").await);
    let rejected = if first["serving"].is_null() { first } else { second };
    assert_eq!(rejected["state"], "down");
    let reasons = rejected["reasons"].to_string();
    assert!(reasons.contains("chameleon") && reasons.contains("twin"), "{reasons}");
    let readiness = host.operator().get("/readyz").await.expect(503).text();
    assert!(readiness.contains("does not serve"), "{readiness}");
}
