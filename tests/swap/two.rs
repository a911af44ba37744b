//! Two plugins beside each other: swapped at once, and kept apart.

use serde_json::json;

use super::{
    chameleons::{
        GRANTS, Shelf, chameleon, deploy, deploy_breaking, namesake, plan, put_file, status, until_refused,
        until_serves,
    },
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
    let clash = chameleon(2, &[("/routes/0/path", json!("/second/v1/version"))]);
    let refused = deploy_breaking(&host, "chameleon", clash.clone()).await.expect(409).json()["reasons"].to_string();
    for named in ["chameleon", "second", "/second/v1/version"] {
        assert!(refused.contains(named), "{refused}");
    }
    put_file(&host, "chameleon", &clash);
    assert!(until_refused(&host, "chameleon").await.contains("path"));
    host.client("second", "acme").await.get("/second/v1/version").await.check(200);
    host.client("chameleon", "acme").await.get("/v1/version").await.check(200);
}
