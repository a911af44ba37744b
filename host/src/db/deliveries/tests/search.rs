//! Queries of operators.

use super::*;
use crate::db::DbOptions;
use crate::db::apply::GIVEN_UP;
use crate::db::deliveries::due::{DUE, FRESH};
use crate::db::deliveries::search::search_sql;

fn tenant_filter(tenant: &str) -> EndpointFilter {
    EndpointFilter { tenant: Some(tenant.to_owned()), ..EndpointFilter::default() }
}

/// Creates two tenants with an endpoint each, and five events of the first: one failed, one delivered, one retrying.
async fn busy() -> Bench {
    let mut bench = Bench::open().await;
    bench.put("ep").await;
    let put = bench.change("other/test").endpoint("ep", &plain()).event("theirs");
    bench.apply(vec![put]).await;
    for event in ["e1", "e2", "e3", "e4", "e5"] {
        bench.emit(event).await;
    }
    bench.attempt("ep", "e1", 2_000, DeliveryTransition::GivenUp).await;
    bench.attempt("ep", "e2", 2_000, DeliveryTransition::Delivered).await;
    bench.attempt("ep", "e3", 2_000, DeliveryTransition::RetryAt(7_000)).await;
    bench
}

#[tokio::test]
async fn endpoint_row_contains_the_numbers_and_the_oldest_waiting_time() {
    let bench = busy().await;
    let rows = bench.file.db.search_endpoints(&tenant_filter(TENANT), QueueId::default(), 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].pending, rows[0].retrying, rows[0].failed), (2, 1, 1));
    let events = bench.file.db.load_events(&[4]).await.unwrap();
    assert_eq!(&*events[&4].id, "e3");
    assert_eq!(rows[0].oldest_at, Some(events[&4].at), "the oldest waiting event is the third");
    assert!(Endpoint::parse(&rows[0].body).unwrap().is_active());
}

#[tokio::test]
async fn pages_of_endpoints_and_deliveries_have_no_gaps_or_duplicates() {
    let bench = busy().await;
    let db = &bench.file.db;
    let all = EndpointFilter::default();
    let first = db.search_endpoints(&all, QueueId::default(), 1).await.unwrap();
    let second = db.search_endpoints(&all, first[0].queue, 1).await.unwrap();
    assert_eq!((&**first[0].scope.tenant(), &**second[0].scope.tenant()), (TENANT, "other/test"));
    assert!(db.search_endpoints(&all, second[0].queue, 1).await.unwrap().is_empty());
    let mut after = (QueueId::default(), EventSeq::MAX);
    let mut seen = Vec::new();
    loop {
        let page = db.search_deliveries(&all, None, after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = (last.queue, last.delivery.seq);
        seen.extend(page.into_iter().map(|row| row.delivery.event.to_string()));
    }
    assert_eq!(seen, ["e5", "e4", "e3", "e2", "e1", "theirs"]);
}

#[tokio::test]
async fn deliveries_are_found_by_state_and_tenant() {
    let bench = busy().await;
    let start = (QueueId::default(), EventSeq::MAX);
    for (tenant, state, expected) in [
        (TENANT, DeliveryState::Failed, vec!["e1"]),
        (TENANT, DeliveryState::Delivered, vec!["e2"]),
        (TENANT, DeliveryState::Retrying, vec!["e3"]),
        (TENANT, DeliveryState::Pending, vec!["e5", "e4"]),
        ("other/test", DeliveryState::Pending, vec!["theirs"]),
        ("nobody/test", DeliveryState::Pending, vec![]),
    ] {
        let rows = bench.file.db.search_deliveries(&tenant_filter(tenant), Some(state), start, 10).await.unwrap();
        let events: Vec<&str> = rows.iter().map(|row| &*row.delivery.event).collect();
        assert_eq!(events, expected, "{tenant} {state:?}");
    }
}

#[tokio::test]
async fn oldest_pending_ignores_disabled_endpoints() {
    let mut bench = Bench::open().await;
    let oldest = async |bench: &Bench| bench.file.db.oldest_pending().await.unwrap();
    assert_eq!(oldest(&bench).await, None);
    let put = bench.change("other/test").endpoint("disabled", &Endpoint { enabled: false, ..plain() }).event("waits");
    bench.apply(vec![put]).await;
    bench.put("ep").await;
    assert_eq!(oldest(&bench).await, None);
    bench.emit("e1").await;
    let e2 = bench.change(TENANT).event("e2");
    let at = e2.changes.now;
    bench.apply(vec![e2]).await;
    bench.attempt("ep", "e1", 2_000, DeliveryTransition::RetryAt(7_000)).await;
    assert_eq!(oldest(&bench).await, Some(at));
}

async fn plan_of(db: &Database, sql: &str) -> String {
    let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(sql).fetch_all(&*db.readers()).await.unwrap();
    rows.into_iter().map(|row| row.3).collect::<Vec<_>>().join("\n")
}

/// Queries must neither read nor sort the whole table.
#[tokio::test]
async fn queries_use_an_index() {
    let bench = busy().await;
    let plan = async |sql: &str| plan_of(&bench.file.db, sql).await;
    let all = plan(&search_sql(None)).await;
    assert!(all.contains("deliveries_fresh") && all.contains("deliveries_tried"), "{all}");
    let retrying = plan(&search_sql(Some(DeliveryState::Retrying))).await;
    assert!(retrying.contains("deliveries_due (queue=?)"), "{retrying}");
    for (state, index) in [
        (None, "deliveries_tried"),
        (Some(DeliveryState::Pending), "deliveries_fresh"),
        (Some(DeliveryState::Delivered), "deliveries_tried"),
        (Some(DeliveryState::Failed), "deliveries_given_up"),
    ] {
        let search = plan(&search_sql(state)).await;
        assert!(search.contains(index) && !search.contains("TEMP B-TREE"), "{search}");
    }
    let recover = plan(GIVEN_UP).await;
    assert!(recover.contains("deliveries_given_up (queue=? AND event>?)"), "{recover}");
    assert!(!recover.contains("TEMP B-TREE"), "{recover}");
    let delete = plan(
        "DELETE FROM deliveries WHERE (queue, event) IN \
         (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each('[[1,2]]'))",
    )
    .await;
    assert!(delete.contains("SEARCH deliveries USING PRIMARY KEY (event=? AND queue=?)"), "{delete}");
}

/// SQLite collects statistics when a host stops. With statistics, a query that does not name its index would read all
/// events for an endpoint with few deliveries.
#[tokio::test]
async fn queries_of_the_engine_use_their_indexes_with_statistics() {
    let mut bench = busy().await;
    let mut events = Vec::new();
    for number in 0..2_000 {
        events.push(bench.change("quiet/test").event(&format!("many-{number}")));
    }
    bench.apply(events).await;
    bench.file.db.execute(sqlx::query("ANALYZE")).await.unwrap();
    bench.file.db.close().await.unwrap();
    let db = Database::open(&bench.file.url(), &DbOptions::default()).await.unwrap();
    for (sql, index) in [(FRESH, "deliveries_fresh"), (DUE, "deliveries_due"), (GIVEN_UP, "deliveries_given_up")] {
        let plan = plan_of(&db, sql).await;
        assert!(plan.contains(index) && !plan.contains("SCAN") && !plan.contains("rowid>?"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
}
