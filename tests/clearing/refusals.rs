//! How the interface says no, at each of its operations: codes and statuses of the specification, the ErrorDetail and nothing
//! else (spec/clearing: Authentication, Errors).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    coverage::Side,
    messages::{AUTHORISED, COMPLETE, DEBITED, TRANSFERRED, minimal},
    routes::{ACCOUNTS, JSON, Route, Stock, routes},
    stage::Stage,
};
use crate::support::{RawConnection, Response};

/// Code, message and perhaps detail, in printable ASCII. Gives the detail.
#[track_caller]
pub fn refused(answer: &Response, status: u16, code: &str) -> String {
    let body = answer.json();
    assert_eq!((answer.status, body["code"].as_str()), (status, Some(code)), "{body}");
    let members: BTreeSet<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    assert!(members.is_subset(&BTreeSet::from(["code", "message", "detail"])), "{body}");
    assert!(body["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    assert!(answer.text().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{body}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    body["detail"].as_str().unwrap_or_default().to_owned()
}

fn challenge(answer: &Response) -> &str {
    answer.header("www-authenticate").unwrap_or_default()
}

/// The answer to a head that announces four megabytes, none of which ever comes.
async fn before_the_body(stage: &Stage, route: &Route, token: &str) -> String {
    let mut connection = RawConnection::open(stage.host.base()).await;
    let (method, path) = (&route.method, route.of(&Stock::unknown()));
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: 4194304\r\n\r\n"
    );
    connection.send(&head).await;
    connection.read_to_end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_without_a_token_whatever_is_sent() {
    let stage = Stage::both().await.covers(&["*: 401", "INBOUND_UNAUTHORIZED, 401"]);
    let stock = Stock::unknown();
    let mut answers = BTreeSet::new();
    for route in routes() {
        let wrong = ("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.");
        let tries = [
            (vec![JSON[0]], route.bytes()),
            (vec![JSON[0], wrong], route.bytes()),
            (vec![("content-type", "text/plain"), wrong], b"{".to_vec()),
        ];
        for (headers, body) in tries {
            let answer = stage.knock(&route.method, &route.of(&stock), &headers, body).await;
            refused(&answer, 401, "INBOUND_UNAUTHORIZED");
            let fault = if headers.contains(&wrong) { ", error=\"invalid_token\"" } else { "" };
            assert_eq!(challenge(&answer), format!("Bearer realm=\"clearing\"{fault}"), "{}", route.operation);
            answers.insert(answer.text());
        }
        let unread = before_the_body(&stage, &route, "a.b.c").await;
        assert!(unread.starts_with("HTTP/1.1 401") && unread.contains("INBOUND_UNAUTHORIZED"), "{unread}");
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    stage.finish().await;
}

/// A client that may do everything else.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_asks_for_its_own_scope_before_the_body_is_read() {
    let stage = Stage::both().await.covers(&["*: 403", "INBOUND_FORBIDDEN, 403"]);
    let stock = Stock::unknown();
    let all: BTreeSet<String> = routes().into_iter().map(|route| route.scope).collect();
    for scope in &all {
        let others: Vec<&str> = all.iter().filter(|other| *other != scope).map(String::as_str).collect();
        let client = stage.client("bank", &others).await;
        for route in routes().iter().filter(|route| route.scope == *scope) {
            for (kind, body) in [(JSON, route.bytes()), ([("content-type", "text/plain")], b"x".to_vec())] {
                let answer = client.send(&route.method, &route.of(&stock), &kind, body).await;
                refused(&answer, 403, "INBOUND_FORBIDDEN");
                let expected = format!(r#"Bearer realm="clearing", error="insufficient_scope", scope="{scope}""#);
                assert_eq!(challenge(&answer), expected, "{}", route.operation);
            }
            let unread = before_the_body(&stage, route, &client.token().await).await;
            assert!(unread.starts_with("HTTP/1.1 403") && unread.contains("INBOUND_FORBIDDEN"), "{unread}");
        }
    }
    stage.finish().await;
}

/// For a tenant that plays no side, and at the other side: not even a sound message of a known payment tells more.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_side_does_not_serve_is_not_found() {
    let stage = Stage::both().await.covers(&["*: 404", "INBOUND_NOT_FOUND, 404"]);
    let (stock, stranger) = (Stock::of(&stage).await, stage.client("stranger", &[]).await);
    let mut answers = BTreeSet::new();
    for route in routes() {
        let other = match route.side() {
            _ if route.is_served_by_both() => &stranger,
            Side::Bank => &stage.hub,
            Side::Hub => &stage.bank,
        };
        for caller in [&stranger, other] {
            for body in [route.bytes(), b"{}".to_vec()] {
                let answer = caller.send(&route.method, &route.of(&stock), &JSON, body).await;
                assert_eq!(refused(&answer, 404, "INBOUND_NOT_FOUND"), "", "{}", route.operation);
                answers.insert(answer.text());
            }
        }
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_not_is_not_found_however_it_is_called() {
    let stage = Stage::both().await;
    let (none, long) = (Stock::unknown(), "x".repeat(2_000));
    let named =
        ["97ed4827-7b6f-4491-a06f-b548d5a7512d", "1", "%00", "%F0%9F%98%80", "'%20OR%201=1", "..%2Fbank-a", &long];
    for route in routes().iter().filter(|route| route.path.contains('{')) {
        let staff = stage.staff(route.side());
        for id in named.iter().chain([&none.webhook.as_str()]) {
            let path = route.path.replace("{uetr}", id).replace("{id}", id).replace("{event}", &none.event);
            let answer = staff.send(&route.method, &path, &JSON, route.bytes()).await;
            assert_eq!(refused(&answer, 404, "INBOUND_NOT_FOUND"), "", "{} {path}", route.operation);
        }
    }
    for path in ["/v1/nothing", "/v2/clearing/accounts", "/v1/clearing/accounts/"] {
        refused(&stage.bank.get(path).await, 404, "INBOUND_NOT_FOUND");
    }
    for (path, side) in
        [(COMPLETE, Side::Bank), (AUTHORISED, Side::Hub), (TRANSFERRED, Side::Hub), (DEBITED, Side::Hub)]
    {
        assert_eq!(refused(&stage.staff(side).post(path, minimal(path)).await, 404, "INBOUND_NOT_FOUND"), "");
    }
    stage.finish().await;
}

/// A uetr makes a message safe to repeat; whatever else writes takes an Idempotency-Key.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_used_for_another_request_is_refused() {
    let stage = Stage::both().await;
    let send = async |key: &str, body: Value| {
        let headers = [JSON[0], ("idempotency-key", key)];
        stage.bank.send("POST", ACCOUNTS, &headers, body.to_string().into_bytes()).await
    };
    let first = send("k-1", json!({"account_number": "7"})).await.expect(201);
    let again = send("k-1", json!({"account_number": "7"})).await.expect(201);
    assert_eq!((&first.body, again.header("idempotency-replayed")), (&again.body, Some("true")));
    let other = send("k-1", json!({"account_number": "8"})).await;
    assert_eq!(refused(&other, 422, "INBOUND_UNPROCESSABLE"), "");
    for key in ["", "a b", &"k".repeat(256)] {
        refused(&send(key, json!({"account_number": "8"})).await, 400, "INBOUND_BAD_REQUEST");
    }
    refused(&stage.bank.get(&format!("{ACCOUNTS}/8")).await, 404, "INBOUND_NOT_FOUND");
    stage.finish().await;
}
