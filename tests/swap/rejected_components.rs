//! Components that cannot serve: they change nothing, and the response, the status and the journal contain the reasons.

use tenon_bench::guests;

use super::chameleons::{chameleon, deploy, host_serving, journal, put_file, status, version, wait_until_rejected};
use super::traffic::Traffic;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn component_that_traps_in_describe_is_rejected_with_reasons() {
    let host = host_serving(1).await;
    let traffic = Traffic::start(&host, "chameleon", 4).await;
    let before = status(&host, "chameleon").await["serving"]["hash"].clone();
    put_file(&host, "chameleon", &guests::chameleon("!trap").unwrap());
    let reasons = wait_until_rejected(&host, "chameleon").await;
    assert!(reasons.contains("describe") && reasons.contains("refused (file of "), "{reasons}");

    let line = journal(&host, "chameleon").await.remove(0);
    assert_eq!((&line["outcome"], &line["from"]), (&"refused".into(), &before));
    assert!(reasons.ends_with(line["reasons"].to_string().trim_start_matches("[\"")), "{line}");
    assert_eq!(status(&host, "chameleon").await["serving"]["hash"], before);
    traffic.wait_for_responses().await;
    traffic.stop().await.expect([1]);
}

#[tokio::test]
async fn rejection_names_every_import_that_is_not_granted() {
    let host = host_serving(1).await;
    let rejected = deploy(&host, "chameleon", guests::component("outsider").unwrap()).await.expect(409);
    let reasons = rejected.json()["reasons"].to_string();
    for import in ["ledger", "credentials"] {
        assert!(reasons.contains(import), "{reasons}");
    }
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 1);
    let line = journal(&host, "chameleon").await.remove(0);
    assert_eq!((&line["action"], &line["outcome"]), (&"deploy".into(), &"refused".into()));
}

#[tokio::test]
async fn accepted_component_clears_the_reasons_of_the_rejected_one() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", b"not a component".to_vec()).await.check(409);
    assert_ne!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    assert_eq!(status(&host, "chameleon").await["reasons"].to_string(), "[]");
}

#[tokio::test]
async fn swaps_are_counted_by_their_outcome() {
    let host = host_serving(1).await;
    deploy(&host, "chameleon", b"not a component".to_vec()).await.check(409);
    deploy(&host, "chameleon", chameleon(2, &[])).await.check(200);
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    assert!(metrics.contains("tenon_swaps_total{outcome=\"published\",plugin=\"chameleon\"} 2"), "{metrics}");
    assert!(metrics.contains("tenon_swaps_total{outcome=\"refused\",plugin=\"chameleon\"} 1"), "{metrics}");
}
