//! Events for many endpoints: the deliveries that their batch creates, and those that are created after it.

use super::*;
use crate::limits::{BATCH_DELIVERIES_EACH, BATCH_DELIVERIES_MAX, ENDPOINTS_MAX, FAN_OUT_DELIVERIES_MAX};

const OTHER: &str = "other/test";

impl Bench {
    async fn put_many(&mut self, tenant: &str, count: usize) {
        let mut put = self.change(tenant);
        for number in 0..count {
            put = put.endpoint(&format!("ep{number}"), &plain());
        }
        self.apply(vec![put]).await;
    }

    fn emit_many(&mut self, tenant: &str, prefix: &str, count: usize) -> Vec<AcceptedChanges> {
        (0..count).map(|number| self.change(tenant).event(&format!("{prefix}{number}"))).collect()
    }

    /// Creates all remaining deliveries. Returns the number of transactions.
    async fn create_all(&self) -> usize {
        let mut steps = 0;
        while self.file.db.create_deliveries(None, FAN_OUT_DELIVERIES_MAX).await.unwrap().is_some() {
            steps += 1;
        }
        steps
    }
}

#[tokio::test]
async fn batch_of_a_tenant_with_a_thousand_endpoints_is_bounded_and_does_not_affect_other_tenants() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, ENDPOINTS_MAX as usize).await;
    bench.put_many(OTHER, 1).await;
    let mut changes = bench.emit_many(TENANT, "mine", 511);
    changes.extend(bench.emit_many(OTHER, "theirs", 1));
    let outgoing = bench.apply(changes).await;
    assert!(outgoing.has_fan_outs);
    let created = bench.count("deliveries").await;
    assert!(created <= i64::try_from(BATCH_DELIVERIES_EACH + 1).unwrap(), "{created}");
    assert_eq!(bench.deliveries(OTHER, "ep0").await.len(), 1);
    assert_eq!(bench.count("fan_outs").await, 1, "consecutive events for the same endpoints are one row");

    bench.file.db.create_deliveries(None, FAN_OUT_DELIVERIES_MAX).await.unwrap().unwrap();
    let step = bench.count("deliveries").await - created;
    assert_eq!(step, i64::try_from(FAN_OUT_DELIVERIES_MAX).unwrap());
    // The other tenant has no backlog, so its batch creates its own deliveries.
    let next = bench.emit_many(OTHER, "next", 1);
    assert_eq!(bench.apply(next).await.events[0].queues.len(), 1);
}

#[tokio::test]
async fn batch_of_many_tenants_stays_within_the_limit_of_a_batch() {
    let mut bench = Bench::open().await;
    let tenants: Vec<String> = (0..6).map(|number| format!("t{number}/test")).collect();
    let mut changes = Vec::new();
    for tenant in &tenants {
        bench.put_many(tenant, 1_000).await;
        changes.extend(bench.emit_many(tenant, tenant, 1));
    }
    bench.apply(changes).await;
    let created = bench.count("deliveries").await;
    assert!(created <= i64::try_from(BATCH_DELIVERIES_MAX).unwrap(), "{created}");
    bench.create_all().await;
    assert_eq!(bench.count("deliveries").await, 6_000);
}

#[tokio::test]
async fn every_delivery_is_created_once_and_later_events_are_postponed() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, 300).await;
    let changes = bench.emit_many(TENANT, "first", 5);
    bench.apply(changes).await;
    let later = bench.emit_many(TENANT, "later", 1);
    let outgoing = bench.apply(later).await;
    assert!(outgoing.has_fan_outs && outgoing.events[0].queues.is_empty());
    assert_eq!(bench.create_all().await, 2);
    assert_eq!(bench.count("deliveries").await, 6 * 300);
    assert_eq!(bench.count("fan_outs").await, 0);
    let after = bench.emit_many(TENANT, "after", 1);
    let outgoing = bench.apply(after).await;
    assert_eq!((outgoing.has_fan_outs, outgoing.events[0].queues.len()), (false, 300));
}

#[tokio::test]
async fn endpoints_removed_or_added_meanwhile_receive_nothing() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, 600).await;
    let changes = bench.emit_many(TENANT, "first", 2);
    bench.apply(changes).await;
    let changes = vec![bench.change(TENANT).remove_endpoint("ep7"), bench.change(TENANT).endpoint("new", &plain())];
    bench.apply(changes).await;
    bench.create_all().await;
    assert_eq!(bench.deliveries(TENANT, "new").await.len(), 0);
    assert_eq!(bench.deliveries(TENANT, "ep8").await.len(), 2);
    assert_eq!(bench.count("deliveries").await, 600 + 599);
}

#[tokio::test]
async fn delivery_that_was_redelivered_before_its_creation_keeps_its_state() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, 600).await;
    let changes = bench.emit_many(TENANT, "first", 2);
    bench.apply(changes).await;
    let command = bench.change(TENANT).redeliver("ep1", "first1");
    bench.apply(vec![command]).await;
    bench.create_all().await;
    assert_eq!(bench.deliveries(TENANT, "ep1").await["first1"], ("retrying", 0));
    assert_eq!(bench.count("deliveries").await, 1_200);
}

#[tokio::test]
async fn tenants_alternate() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, 1_000).await;
    bench.put_many(OTHER, 1_000).await;
    let mut changes = bench.emit_many(TENANT, "mine", 4);
    changes.extend(bench.emit_many(OTHER, "theirs", 4));
    bench.apply(changes).await;
    let (mut last, mut tenants) = (None, Vec::new());
    while let Some(created) = bench.file.db.create_deliveries(last.as_ref(), 1_000).await.unwrap() {
        tenants.push(created.scope.tenant().to_string());
        last = Some(created.scope);
    }
    assert_eq!(tenants, [TENANT, OTHER, TENANT, OTHER, TENANT, OTHER]);
}

#[tokio::test]
async fn failed_batch_leaves_no_deliveries_to_be_created() {
    let mut bench = Bench::open().await;
    bench.put_many(TENANT, 1_000).await;
    *bench.failpoints.0.lock() = Some(Failpoint::BeforeCommit);
    let changes = bench.emit_many(TENANT, "lost", 3);
    bench.try_apply(changes).await.unwrap_err();
    assert_eq!((bench.count("fan_outs").await, bench.create_all().await), (0, 0));
    let changes = bench.emit_many(TENANT, "kept", 1);
    assert_eq!(bench.apply(changes).await.events[0].queues.len(), 1_000);
}
