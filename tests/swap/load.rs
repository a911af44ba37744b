//! Swaps under load: no request fails, and the old version serves no request that begins after a response of the new
//! version.

#![allow(clippy::disallowed_methods, reason = "concurrent requests")]

use super::{
    chameleons::{
        ComponentFiles, GRANTS, chameleon, deploy, host_builder, host_serving, journal, put_file, rollback, status,
        version, wait_until, wait_until_serving,
    },
    traffic::Traffic,
};
use crate::support::TestHost;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swap_by_file_under_load_fails_no_request() {
    let host = host_serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 16).await;
    for number in 2..=4 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        wait_until_serving(&host, "chameleon", number).await;
        traffic.wait_for_responses().await;
    }
    traffic.stop().await.expect(1..=4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swap_by_deploy_under_load_fails_no_request() {
    let host = host_serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 16).await;
    for number in 2..=4 {
        let report = deploy(&host, "chameleon", chameleon(number, &[])).await.expect(200);
        assert_eq!(report.text_at("/to/version"), format!("1.{number}.0"));
        traffic.wait_for_responses().await;
    }
    traffic.stop().await.expect(1..=4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_after_a_confirmed_deploy_is_served_by_the_new_version() {
    let host = host_serving(1).await;
    let client = host.client("chameleon", "acme").await;
    for number in 2..=6 {
        deploy(&host, "chameleon", chameleon(number, &[])).await.check(200);
        assert_eq!(version(&client).await, number);
    }
}

/// A request that computes for about two seconds.
const SLOW: &str = "/v1/slow?steps=2000000000";

async fn host_with_long_deadline() -> TestHost {
    let lines = format!("{GRANTS}\n[plugins.chameleon.limits]\ndeadline-ms = 120000\ncompute-ms = 120000");
    host_builder(&ComponentFiles::new(), 1, &lines).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_request_completes_on_its_original_version() {
    let host = host_with_long_deadline().await;
    let client = host.client("chameleon", "acme").await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    rollback(&host).await.check(200);

    let slow = tokio::spawn(client.send("GET", SLOW, &[], Vec::new()));
    wait_until("it is running", async || (status(&host, "chameleon").await["serving"]["in_flight"] == 1).then_some(()))
        .await;
    rollback(&host).await.check(200);
    assert_eq!(version(&client).await, 2);
    assert_eq!(status(&host, "chameleon").await["state"], "draining");

    assert_eq!(slow.await.unwrap().expect(200).text_at("/version"), "1.1.0");
    wait_until("it has drained", async || (status(&host, "chameleon").await["state"] == "serving").then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newest_of_overtaking_swaps_serves() {
    let host = host_serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 8).await;
    for number in 2..=5 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        wait_until("it is being prepared", async || {
            (status(&host, "chameleon").await["state"] == "preparing").then_some(())
        })
        .await;
    }
    wait_until_serving(&host, "chameleon", 5).await;
    traffic.wait_for_responses().await;
    let report = traffic.stop().await;
    assert!(report.versions.contains(&5), "{:?}", report.versions);
    let versions = report.versions.clone();
    report.expect(versions);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_deploys_are_published_or_rejected_as_overtaken() {
    let host = host_serving(1).await;
    let deploys = (2..=5).map(|number| deploy(&host, "chameleon", chameleon(number, &[])));
    let responses = futures_util::future::join_all(deploys).await;
    let published = responses.iter().filter(|response| response.status == 200).count();
    let rejected: Vec<_> = responses.iter().filter(|response| response.status == 409).collect();
    for response in &rejected {
        assert!(response.text().contains("overtook") || response.text().contains("lower"), "{}", response.text());
    }
    assert!(published >= 1 && published + rejected.len() == responses.len(), "{responses:?}");
    let lines = journal(&host, "chameleon").await;
    let newest = lines.iter().find(|line| line["outcome"] == "published").unwrap();
    assert_eq!(newest["to"], status(&host, "chameleon").await["serving"]["hash"]);
}
