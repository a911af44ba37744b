//! What cannot be read is refused before anything is looked at, and what cannot be meant names no value (spec/clearing: Errors).

use clearing::rules::scheme::{Operation, Scheme};
use serde_json::{Value, json};

use super::{
    coverage::Side::{Bank, Hub},
    messages::{AUTHORISE, DETERMINE, PROXY, message},
    refusals::refused,
    routes::{ACCOUNTS, HOOKS, JSON, PARTNERS, Route, Stock, TRANSACTIONS, routes},
    stage::Stage,
};

const MESSAGE_BYTES_MAX: usize = 32 << 10;
const BYTES_MAX: usize = 1 << 20;

/// Everything that either side shows of what it has stored.
async fn stored(stage: &Stage) -> Vec<Value> {
    let mut all = Vec::new();
    for (side, path) in [(Bank, ACCOUNTS), (Bank, HOOKS), (Bank, TRANSACTIONS), (Hub, PARTNERS), (Hub, TRANSACTIONS)] {
        all.push(stage.staff(side).get(&format!("{path}?limit=200")).await.expect(200).json());
    }
    all
}

/// JSON of no object, and what is no JSON.
fn unreadable() -> Vec<Vec<u8>> {
    let nested = |levels: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let texts =
        ["{", "nonsense", "[1]", "7", "\"x\"", "null", "{}{}", r#"{"x":NaN}"#, r#"{"x":01}"#, r#"{"x":1e}"#, "{'x':1}"];
    let texts = texts.into_iter().map(str::to_owned).chain([
        nested(32),
        nested(5_000),
        format!(r#"{{"x":{}"#, "[".repeat(9_000)),
    ]);
    texts.map(String::into_bytes).chain([b"\xff\xfe".to_vec(), b"{\"x\":\"\xc0\xaf\"}".to_vec()]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_refuses_what_cannot_be_read_and_changes_nothing() {
    let stage = Stage::both().await.covers(&["*: 400", "INBOUND_BAD_REQUEST, 400"]);
    let stock = Stock::of(&stage).await;
    let before = stored(&stage).await;
    for route in routes() {
        let (staff, path) = (stage.staff(route.side()), route.of(&stock));
        let no_text = staff.send(&route.method, &format!("{path}?x=%FF"), &JSON, route.bytes()).await;
        assert_eq!(refused(&no_text, 400, "INBOUND_BAD_REQUEST"), "", "{}", route.operation);
        let bodies = route.body().map(|_| unreadable()).unwrap_or_default();
        for body in bodies {
            let told = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            let answer = staff.send(&route.method, &path, &JSON, body).await;
            assert_eq!(answer.status, 400, "{} {told}: {}", route.operation, answer.text());
            assert_eq!(refused(&answer, 400, "INBOUND_BAD_REQUEST"), "", "{} {told}", route.operation);
        }
    }
    assert_eq!(stored(&stage).await, before);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_refuses_another_method_another_type_and_too_much() {
    let stage = Stage::both().await;
    let stock = Stock::of(&stage).await;
    let before = stored(&stage).await;
    for route in routes() {
        let (staff, path) = (stage.staff(route.side()), route.of(&stock));
        let traced = staff.send("TRACE", &path, &[], Vec::new()).await;
        refused(&traced, 405, "INBOUND_BAD_REQUEST");
        assert!(traced.header("allow").is_some_and(|methods| methods.contains(&route.method)), "{}", route.operation);
        if route.body().is_none() {
            continue;
        }
        for kind in ["text/plain", "application/xml", "application/json; charset=utf-16", "multipart/form-data"] {
            let answer = staff.send(&route.method, &path, &[("content-type", kind)], route.bytes()).await;
            assert_eq!(refused(&answer, 415, "INBOUND_BAD_REQUEST"), "", "{} {kind}", route.operation);
        }
        let bytes_max = if route.takes_message() { MESSAGE_BYTES_MAX } else { BYTES_MAX };
        let padded = |bytes: usize| [route.bytes(), vec![b' '; bytes - route.bytes().len()]].concat();
        for bytes in [bytes_max + 1, BYTES_MAX + 1] {
            let answer = staff.send(&route.method, &path, &JSON, padded(bytes)).await;
            assert_eq!(refused(&answer, 413, "INBOUND_BAD_REQUEST"), "", "{} {bytes}", route.operation);
        }
    }
    assert_eq!(stored(&stage).await, before);
    stage.finish().await;
}

/// The address of a use that is wrong, and its body.
fn wrong_use(route: &Route, stock: &Stock) -> (String, Value) {
    let query = match route.operation.as_str() {
        "report-reconciliation" => "?from=yesterday",
        "stream-events" => "?events=inbound.nothing",
        "list-deliveries" => "?status=lost",
        name if name.starts_with("list-") => "?limit=0",
        _ if route.body().is_none() => "?unknown=1",
        _ => "",
    };
    // What lacks a member, or has one that it cannot have.
    (format!("{}{query}", route.of(stock)), json!({"status": "ajar", "events": ["x"]}))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_refuses_what_cannot_be_meant_and_changes_nothing() {
    let stage = Stage::both().await.covers(&["*: 422", "INBOUND_UNPROCESSABLE, 422"]);
    let stock = Stock::of(&stage).await;
    let before = stored(&stage).await;
    for route in routes().iter().filter(|route| route.may_answer(422)) {
        let (path, body) = wrong_use(route, &stock);
        let bytes = if route.body().is_some() { body.to_string().into_bytes() } else { Vec::new() };
        let answer = stage.staff(route.side()).send(&route.method, &path, &JSON, bytes).await;
        assert_eq!(answer.status, 422, "{}: {}", route.operation, answer.text());
        assert_ne!(refused(&answer, 422, "INBOUND_UNPROCESSABLE"), "", "{}", route.operation);
        assert!(!answer.text().contains("ajar"), "{}", answer.text());
    }
    for (operation, scheme) in Operation::ALL.into_iter().flat_map(|it| Scheme::ALL.map(|scheme| (it, scheme))) {
        if operation.schemes().contains(&scheme.name()) {
            continue;
        }
        let path = format!("/v1{}", operation.path());
        let side = if operation.path().ends_with("-response") { Hub } else { Bank };
        let body =
            message(&path, json!({"payment_scheme": scheme.name(), "uetr": "00000000-0000-0000-0000-000000000001"}));
        let detail = refused(&stage.staff(side).post(&path, body).await, 422, "INBOUND_UNPROCESSABLE");
        let served = operation.schemes().join(", ");
        assert_eq!(detail, format!("payment_scheme must be one of: {served} for this operation."));
    }
    assert_eq!(stored(&stage).await, before);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_members_are_ignored_and_a_member_twice_is_refused() {
    let stage = Stage::bank("").await;
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let asked = |more: &str| format!(r#"{{"creditor_account_proxy":"bob@bank","payment_scheme":"ZA_RPP",{more}}}"#);
    let send = async |path: &str, body: String| stage.to_bank.send("POST", path, &JSON, body.into_bytes()).await;
    for more in [&format!(r#""x":{}"#, nested(31)), r#""x":null,"__proto__":{"a":1}"#] {
        let answer = send(DETERMINE, asked(more)).await.expect(200).json();
        assert_eq!(answer, json!({"transaction_status": "REJECTED", "status_reason": "BE23"}), "{more}");
    }
    let twice = send(DETERMINE, asked(&format!(r#""creditor_account_proxy":"{PROXY}""#))).await.expect(400).json();
    assert_eq!(twice["detail"], "A member of the body is given twice.");
    let twice = message(AUTHORISE, json!({})).to_string().replacen('{', r#"{"bank_settlement_amount_value":7,"#, 1);
    send(AUTHORISE, twice).await.check(400);
    stage.finish().await;
}
