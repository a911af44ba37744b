//! Deliveries are created with their event, for the endpoints at that time.

use proptest::prelude::*;

use super::*;

#[tokio::test]
async fn event_is_delivered_only_to_the_endpoints_that_subscribe_to_it() {
    let mut bench = Bench::open().await;
    let put = bench
        .change(TENANT)
        .endpoint("all", &plain())
        .endpoint("type", &only("thing.changed", ""))
        .endpoint("subject", &only("", "thing"))
        .endpoint("other type", &only("thing.removed", ""))
        .endpoint("other subject", &only("thing.changed", "another"))
        .endpoint("disabled", &Endpoint { enabled: false, ..plain() });
    bench.apply(vec![put]).await;
    let outgoing = bench.emit("event_1").await;
    assert_eq!(outgoing.events[0].queues.len(), 4);
    for (endpoint, expected) in
        [("all", 1), ("type", 1), ("subject", 1), ("disabled", 1), ("other type", 0), ("other subject", 0)]
    {
        assert_eq!(bench.deliveries(TENANT, endpoint).await.len(), expected, "{endpoint}");
    }
}

#[tokio::test]
async fn endpoint_receives_the_events_of_its_batch_that_were_accepted_after_it_and_none_before() {
    let mut bench = Bench::open().await;
    let changes = vec![
        bench.change(TENANT).event("before"),
        bench.change(TENANT).endpoint("ep", &plain()).event("with"),
        bench.change(TENANT).event("after"),
        bench.change(TENANT).remove_endpoint("ep"),
        bench.change(TENANT).event("too late"),
    ];
    let outgoing = bench.apply(changes).await;
    let counts: Vec<usize> = outgoing.events.iter().map(|event| event.queues.len()).collect();
    assert_eq!(counts, [0, 1, 1, 0]);
    bench.put("ep").await;
    bench.emit("next").await;
    let delivered: Vec<String> = bench.deliveries(TENANT, "ep").await.into_keys().collect();
    assert_eq!(delivered, ["next"], "a recreated endpoint has no deliveries of the removed one");
}

#[tokio::test]
async fn tenants_never_receive_events_of_each_other() {
    let mut bench = Bench::open().await;
    for tenant in [TENANT, "acme/live", "other/test"] {
        let put = bench.change(tenant).endpoint("ep", &plain());
        bench.apply(vec![put]).await;
    }
    let changes = vec![bench.change(TENANT).event("mine"), bench.change("other/test").event("theirs")];
    bench.apply(changes).await;
    for (tenant, expected) in [(TENANT, vec!["mine"]), ("acme/live", vec![]), ("other/test", vec!["theirs"])] {
        let delivered: Vec<String> = bench.deliveries(tenant, "ep").await.into_keys().collect();
        assert_eq!(delivered, expected, "{tenant}");
    }
}

#[tokio::test]
async fn test_event_is_delivered_only_to_its_endpoint_regardless_of_subscriptions() {
    let mut bench = Bench::open().await;
    let put = bench.change(TENANT).endpoint("a", &only("nothing", "")).endpoint("b", &plain());
    bench.apply(vec![put]).await;
    let emit = bench.change(TENANT).event("ping").edit(|changes| changes.events[0].only = Some("a".into()));
    assert!(bench.apply(vec![emit]).await.events[0].is_test);
    assert_eq!(bench.deliveries(TENANT, "a").await.len(), 1);
    assert_eq!(bench.deliveries(TENANT, "b").await.len(), 0);
}

#[tokio::test]
async fn event_numbers_continue_after_a_restart_and_after_retention() {
    let mut bench = Bench::open().await;
    let first = bench.emit("one").await.events[0].seq;
    bench.writer = bench.file.db.writer();
    let second = bench.emit("two").await.events[0].seq;
    assert_eq!(second, first + 1);
    bench.file.db.prune_older(crate::db::retention::GrowingTable::Events, u64::MAX, &|| true).await.unwrap();
    bench.writer = bench.file.db.writer();
    assert!(bench.emit("three").await.events[0].seq > second, "event numbers are never reused");
}

#[tokio::test]
async fn failed_batch_that_is_split_loses_and_duplicates_nothing() {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    for round in 0..2 {
        let name = |n| format!("event_{round}{n}");
        let changes: Vec<_> =
            (0..9).map(|n| bench.change(TENANT).event(&name(n)).endpoint(&format!("ep-{n}"), &plain())).collect();
        *bench.failpoints.0.lock() = Some(Failpoint::BeforeCommit);
        bench.try_apply(changes.clone()).await.unwrap_err();
        let (first, second) = changes.split_at(4);
        bench.apply(first.to_vec()).await;
        bench.apply(second.to_vec()).await;
    }
    assert_eq!(bench.deliveries(TENANT, "ep").await.len(), 18);
    assert_eq!((bench.count("events").await, bench.count("queues").await), (18, 10));
    assert_eq!(bench.deliveries(TENANT, "ep-0").await.len(), 18, "created by the first change, with its event");
    bench.emit("last").await;
    assert_eq!(bench.deliveries(TENANT, "ep-8").await["last"], ("pending", 0));
}

/// A step of a tenant with two endpoints.
#[derive(Clone, Debug)]
enum Step {
    Put(usize),
    Remove(usize),
    Emit,
    /// Commits the batch.
    Commit,
    /// Applies the batch with a failure. The next commit applies its changes again.
    Fail,
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0_usize..2).prop_map(Step::Put),
        1 => (0_usize..2).prop_map(Step::Remove),
        4 => Just(Step::Emit),
        2 => Just(Step::Commit),
        1 => Just(Step::Fail),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// An endpoint has each event since its creation once, regardless of how changes are batched and which batches
    /// fail.
    #[test]
    fn endpoint_has_each_event_since_its_creation_once(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut bench = Bench::open().await;
            let mut expected: [Option<Vec<String>>; 2] = [None, None];
            let mut waiting = Vec::new();
            for (number, step) in steps.into_iter().chain([Step::Commit]).enumerate() {
                match step {
                    Step::Put(ep) => {
                        waiting.push(bench.change(TENANT).endpoint(&format!("ep{ep}"), &plain()));
                        expected[ep].get_or_insert_default();
                    }
                    Step::Remove(ep) => {
                        waiting.push(bench.change(TENANT).remove_endpoint(&format!("ep{ep}")));
                        expected[ep] = None;
                    }
                    Step::Emit => {
                        let id = format!("event_{number:03}");
                        waiting.push(bench.change(TENANT).event(&id));
                        expected.iter_mut().flatten().for_each(|events| events.push(id.clone()));
                    }
                    Step::Commit | Step::Fail if waiting.is_empty() => {}
                    Step::Fail => {
                        *bench.failpoints.0.lock() = Some(Failpoint::BeforeCommit);
                        bench.try_apply(waiting.clone()).await.unwrap_err();
                    }
                    Step::Commit => {
                        bench.apply(std::mem::take(&mut waiting)).await;
                    }
                    Step::Restart => bench.writer = bench.file.db.writer_with(bench.failpoints.clone()),
                }
            }
            for (ep, expected) in expected.into_iter().enumerate() {
                let delivered: Vec<String> = bench.deliveries(TENANT, &format!("ep{ep}")).await.into_keys().collect();
                assert_eq!(delivered, expected.unwrap_or_default(), "ep{ep}");
            }
        });
    }
}
