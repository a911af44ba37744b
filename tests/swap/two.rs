//! Two plugins beside each other: swapped at once, and kept apart.

use serde_json::json;

use super::{
    chameleons::{GRANTS, Shelf, chameleon, deploy, deploy_breaking, namesake, plan, put_file, status, until_serves},
    traffic::Traffic,
};
use crate::support::TestHost;

async fn host_with_two() -> TestHost {
    let shelf = Shelf::new();
    plan(&shelf, 1, GRANTS).plugin("second", shelf.put("second", &namesake("second", 1)), GRANTS).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plugins_are_swapped_at_once() {
    let host = host_with_two().await;
    let (first, second) = (Traffic::start(&host, "chameleon", 8).await, Traffic::start(&host, "second", 8).await);
    for number in 2..=3 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        put_file(&host, "second", &namesake("second", number));
        until_serves(&host, "chameleon", number).await;
        until_serves(&host, "second", number).await;
        first.flow().await;
        second.flow().await;
    }
    first.stop().await.expect(1..=3);
    second.stop().await.expect(1..=3);
}

#[tokio::test]
async fn swap_of_one_plugin_leaves_the_other_alone() {
    let host = host_with_two().await;
    let before = status(&host, "second").await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(status(&host, "second").await, before);
}

/// Even where the operator allows breaking differences: two plugins cannot answer one request.
#[tokio::test]
async fn routes_that_meet_are_refused_and_both_plugins_named() {
    let host = host_with_two().await;
    let clash = chameleon(2, &[("/routes/1/path", json!("/second/v1/version"))]);
    let refused = deploy_breaking(&host, "chameleon", clash).await.expect(409).json()["reasons"].to_string();
    for named in ["chameleon", "second", "/second/v1/version"] {
        assert!(refused.contains(named), "{refused}");
    }
    let shown = status(&host, "chameleon").await["reasons"].to_string();
    assert!(shown.ends_with(refused.trim_start_matches("[\"")), "{shown}");
    host.client("second", "acme").await.get("/second/v1/version").await.check(200);
    host.client("chameleon", "acme").await.get("/v1/version").await.check(200);
}

/// Whoever was there first stays.
#[tokio::test]
async fn plugin_that_is_added_over_the_routes_of_another_does_not_serve() {
    let shelf = Shelf::new();
    let twin = chameleon(1, &[("/name", json!("twin"))]);
    let host = plan(&shelf, 1, GRANTS).plugin("twin", shelf.put("twin", &twin), GRANTS).start().await;
    let (first, second) = (status(&host, "chameleon").await, status(&host, "twin").await);
    let refused = if first["serving"].is_null() { first } else { second };
    assert_eq!(refused["state"], "down");
    let reasons = refused["reasons"].to_string();
    assert!(reasons.contains("chameleon") && reasons.contains("twin"), "{reasons}");
    let readiness = host.operator().get("/readyz").await.expect(503).text();
    assert!(readiness.contains("does not serve"), "{readiness}");
}
