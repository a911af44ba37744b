//! A swap under load: no request fails, and nobody is answered by the old version after the new one.

#![allow(clippy::disallowed_methods, reason = "requests that run beside the test")]

use super::{
    chameleons::{
        GRANTS, Shelf, chameleon, deploy, journal, plan, put_file, rollback, serving, status, until, until_serves,
        version,
    },
    traffic::Traffic,
};
use crate::support::TestHost;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swap_by_file_under_load_fails_no_request() {
    let host = serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 16).await;
    for number in 2..=4 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        until_serves(&host, "chameleon", number).await;
        traffic.flow().await;
    }
    traffic.stop().await.expect(1..=4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swap_by_deploy_under_load_fails_no_request() {
    let host = serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 16).await;
    for number in 2..=4 {
        let report = deploy(&host, "chameleon", chameleon(number, &[])).await.expect(200);
        assert_eq!(report.text_at("/to/version"), format!("1.{number}.0"));
        traffic.flow().await;
    }
    traffic.stop().await.expect(1..=4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_sent_after_the_deploy_was_confirmed_is_served_by_the_new_version() {
    let host = serving(1).await;
    let client = host.client("chameleon", "acme").await;
    for number in 2..=6 {
        deploy(&host, "chameleon", chameleon(number, &[])).await.check(200);
        assert_eq!(version(&client).await, number);
    }
}

/// Computes for about two seconds.
const SLOW: &str = "/v1/slow?steps=2000000000";

async fn host_with_patience() -> TestHost {
    let lines = format!("{GRANTS}\n[plugins.chameleon.limits]\ndeadline-ms = 120000\ncompute-ms = 120000");
    plan(&Shelf::new(), 1, &lines).start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_request_ends_on_the_version_that_it_began_on() {
    let host = host_with_patience().await;
    let client = host.client("chameleon", "acme").await;
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    rollback(&host).await.check(200);

    let slow = tokio::spawn(client.send("GET", SLOW, &[], Vec::new()));
    until("it runs", async || (status(&host, "chameleon").await["serving"]["in_flight"] == 1).then_some(())).await;
    rollback(&host).await.check(200);
    assert_eq!(version(&client).await, 2);
    assert_eq!(status(&host, "chameleon").await["state"], "draining");

    assert_eq!(slow.await.unwrap().expect(200).text_at("/version"), "1.1.0");
    until("it has drained", async || (status(&host, "chameleon").await["state"] == "serving").then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_swaps_that_overtake_each_other_the_newest_wins() {
    let host = serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 8).await;
    for number in 2..=5 {
        put_file(&host, "chameleon", &chameleon(number, &[]));
        until("it is looked at", async || (status(&host, "chameleon").await["state"] == "preparing").then_some(()))
            .await;
    }
    until_serves(&host, "chameleon", 5).await;
    traffic.flow().await;
    let seen = traffic.stop().await;
    assert!(seen.versions.contains(&5), "{:?}", seen.versions);
    let versions = seen.versions.clone();
    seen.expect(versions);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deploys_at_the_same_time_are_each_published_or_told_that_they_were_overtaken() {
    let host = serving(1).await;
    let deploys = (2..=5).map(|number| deploy(&host, "chameleon", chameleon(number, &[])));
    let answers = futures_util::future::join_all(deploys).await;
    let published = answers.iter().filter(|answer| answer.status == 200).count();
    let told = |answer: &&crate::support::Response| answer.status == 409;
    for refused in answers.iter().filter(told) {
        assert!(refused.text().contains("overtook") || refused.text().contains("lower"), "{}", refused.text());
    }
    assert!(published >= 1 && published + answers.iter().filter(told).count() == answers.len(), "{answers:?}");
    let lines = journal(&host, "chameleon").await;
    let newest = lines.iter().find(|line| line["outcome"] == "published").unwrap();
    assert_eq!(newest["to"], status(&host, "chameleon").await["serving"]["hash"]);
}
