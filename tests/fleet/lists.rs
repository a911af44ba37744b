//! Lists: a bare array, newest first, by offset or page, filtered and sorted (research/fleet 5).

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::orders::MORNING_MS;
use crate::support::{Response, TestClient, TestHost};

const HALF_A_DAY_MS: u64 = 12 * 3_600_000;

/// "first", "second", "third", half a day after one another; the second is for a customer.
async fn three_orders() -> (TestHost, TestClient, String) {
    let host = TestHost::builder().fleet("").clock(Clock::manual(MORNING_MS)).start().await;
    let acme = host.client("fleet", "acme").await;
    let mut customer = String::new();
    for (name, extra) in [("first", json!({})), ("second", json!({"customer": {"name": "Ada"}})), ("third", json!({}))]
    {
        let mut body = json!({"internal_id": name, "pickup": "a", "dropoff": "b"});
        body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        let order = acme.post("/v1/orders", body).await.expect(201).json();
        customer.push_str(order.pointer("/customer/id").and_then(Value::as_str).unwrap_or_default());
        host.clock.advance(HALF_A_DAY_MS);
    }
    (host, acme, customer)
}

fn names(answer: &Response) -> Vec<String> {
    let list = answer.json();
    let name = |order: &Value| order["internal_id"].as_str().expect("its name").to_owned();
    list.as_array().expect("a bare array").iter().map(name).collect()
}

#[tokio::test]
async fn a_list_is_paged_sorted_and_filtered() {
    let (host, acme, customer) = three_orders().await;
    let of_customer = format!("?customer={customer}");
    let table: [(&str, &[&str]); 21] = [
        ("", &["third", "second", "first"]),
        ("?sort=created_at", &["first", "second", "third"]),
        ("?sort=created_at:asc", &["first", "second", "third"]),
        ("?sort=oldest", &["first", "second", "third"]),
        ("?sort=-created_at", &["third", "second", "first"]),
        ("?sort=created_at%3Adesc", &["third", "second", "first"]),
        ("?sort=latest", &["third", "second", "first"]),
        ("?limit=1", &["third"]),
        ("?limit=1&page=2", &["second"]),
        ("?limit=2&page=2", &["first"]),
        ("?limit=2&page=9", &[]),
        ("?limit=2&offset=1", &["second", "first"]),
        ("?offset=1&page=3&limit=1", &["second"]),
        ("?type=transport", &["third", "second", "first"]),
        ("?internal_id=second&status=created", &["second"]),
        ("?status=completed", &[]),
        (&of_customer, &["second"]),
        ("?created_at=2026-05-07", &["second", "first"]),
        ("?created_at=2026-05-07T10:00:00Z,2026-05-09", &["third", "second"]),
        ("?single=true&with=payload", &["third", "second", "first"]),
        ("?type=transport&sort=oldest&limit=1&offset=1", &["second"]),
    ];
    for (query, expected) in table {
        let answer = acme.get(&format!("/v1/orders{query}")).await.expect(200);
        assert_eq!(names(&answer), expected, "{query}");
    }
    host.stop().await;
}

#[tokio::test]
async fn a_list_that_nobody_could_mean_is_refused() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let long = format!("status={}", "x".repeat(129));
    let wrong = [
        "limit=-1",
        "limit=0&strict=true",
        "limit=101&strict=true",
        "limit=ten",
        "limit=",
        "page=0",
        "offset=-1",
        "offset=100001",
        "sort=colour",
        "created_at=may",
        "created_at=2026-05-07,may",
        "type=%00",
        &long,
    ];
    for query in wrong {
        let answer = acme.get(&format!("/v1/orders?{query}")).await;
        assert_eq!((answer.status, answer.text().contains("VALIDATION_FAILED")), (422, true), "{query}");
    }
    host.stop().await;
}

#[tokio::test]
async fn a_limit_that_is_not_possible_is_told_with_what_counts_instead() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for (limit, counts) in
        [("0", Some("limit=1")), ("100", None), ("101", Some("limit=100")), ("500", Some("limit=100"))]
    {
        for list in ["/v1/orders", "/v1/drivers", "/v1/places/search", "/v1/webhook-endpoints", "/v1/events"] {
            let answer = acme.get(&format!("{list}?limit={limit}")).await.expect(200);
            assert_eq!(answer.header("x-changed-parameters"), counts, "{list} {limit}");
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn a_page_has_thirty_orders_unless_more_are_asked_for() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let create =
        |nth: usize| acme.post("/v1/orders", json!({"internal_id": nth.to_string(), "pickup": "a", "dropoff": "b"}));
    for answer in futures_util::future::join_all((0..33).map(create)).await {
        let _ = answer.expect(201);
    }
    let (first, second) = (acme.get("/v1/orders").await, acme.get("/v1/orders?page=2").await);
    let mut all = [names(&first), names(&second)].concat();
    assert_eq!((names(&first).len(), names(&second).len()), (30, 3));
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), names(&acme.get("/v1/orders?limit=100").await).len()), (33, 33));
    host.stop().await;
}

/// An order may have 80 KiB: a full page of such orders is one answer, and nothing falls between two pages.
#[tokio::test]
async fn pages_of_the_largest_orders_show_each_order_once() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let body = json!({"pickup": "a", "dropoff": "b", "notes": "n".repeat(10_000), "meta": {"k": "x".repeat(65_000)}});
    for _ in 0..103 {
        let _ = acme.post("/v1/orders", body.clone()).await.expect(201);
    }
    for (first, second) in [("offset=0", "offset=100"), ("page=1", "page=2")] {
        let mut ids = Vec::new();
        for (query, expected) in [(first, 100), (second, 3)] {
            let page = acme.get(&format!("/v1/orders?limit=100&{query}")).await.expect(200).json();
            let page = page.as_array().expect("a bare array");
            assert_eq!(page.len(), expected, "{query}");
            ids.extend(page.iter().map(|order| order["id"].as_str().expect("its id").to_owned()));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 103);
    }
    host.stop().await;
}
