//! The journal of both sides: a line for every message, by which each can show the other what was said, and in which nobody's
//! data stands (docs/clearing.md: Guarantees).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    coverage::Side::{Bank, Hub},
    messages::{ACCOUNT, AUTHORISE, DEBIT, PROXY, UETR, message, payment, uetr},
    routes::{ACCOUNTS, JSON},
    stage::Stage,
};
use crate::support::eventually;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const NAMES: [&str; 2] = ["Ada Lovelace", "Charles Babbage"];
const REMITTANCE: &str = "for the engine";

fn hash(bytes: &[u8]) -> Value {
    json!(hex::encode(Sha256::digest(bytes)))
}

/// The lines of a direction, as operation, outcome and hash.
fn lines(journal: &[Value], direction: &str) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = journal.iter().filter(|line| line["direction"] == direction);
    found.map(|line| (text(&line["operation"]), text(&line["outcome"]), line["body_sha256"].clone())).collect()
}

/// Both journals, once nothing is awaited any more.
async fn journals(stage: &Stage) -> (Vec<Value>, Vec<Value>) {
    eventually("a reply to each message", async || {
        let journals = (stage.host.journal("hub/test").await, stage.host.journal("bank/test").await);
        let is_whole = |journal: &[Value]| lines(journal, "out").len() == lines(journal, "reply").len();
        (is_whole(&journals.0) && is_whole(&journals.1)).then_some(journals)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_side_has_sent_is_what_the_other_has_received_and_neither_notes_whose_it_was() {
    let stage = Stage::both().await;
    stage.bank.post(ACCOUNTS, json!({"account_number": "8-8", "legal_name": NAMES[0]})).await.check(201);
    let changes = json!({
        "payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY, "creditor_legal_name": NAMES[0],
        "debtor_legal_name": NAMES[1], "debtor_account_number": "999-888-777", "remittance_information": REMITTANCE,
    });
    let body = payment(AUTHORISE, changes).to_string().into_bytes();
    let headers = [JSON[0], ("traceparent", TRACE)];
    stage.hub.send("POST", "/v1/clearing/payments", &headers, body.clone()).await.check(202);
    stage.until(Bank, UETR, "response", "delivered").await;
    let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    stage.until(Hub, UETR, "delivery", "delivered").await;
    let (hub, bank) = journals(&stage).await;
    assert!(lines(&hub, "in").contains(&("submit-payment".to_owned(), "accepted".to_owned(), hash(&body))), "{hub:?}");
    for (from, to, operations) in [
        (&hub, &bank, &["identifier-determination", "credit-transfer-authorisation", "credit-transfer-completion"][..]),
        (&bank, &hub, &["credit-transfer-authorisation-response"][..]),
    ] {
        let sent: Vec<(String, Value)> = lines(from, "out").into_iter().map(|(name, _, hash)| (name, hash)).collect();
        assert_eq!(sent.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), operations);
        let got: Vec<(String, Value)> = lines(to, "in").into_iter().map(|(name, _, hash)| (name, hash)).collect();
        assert!(sent.iter().all(|sent| got.contains(sent)), "{sent:?} {got:?}");
    }
    let known = BTreeSet::from(["direction", "operation", "uetr", "outcome", "body_sha256", "traceparent"]);
    for line in hub.iter().chain(&bank) {
        assert!(line.as_object().unwrap().keys().all(|name| known.contains(name.as_str())), "{line}");
        assert!(line["uetr"] == UETR, "{line}");
        let is_of_the_two =
            line["direction"] == "out" || line["direction"] == "in" && line["operation"] != "settle-payment";
        assert_eq!(line["traceparent"] == TRACE, is_of_the_two, "{line}");
        for secret in [ACCOUNT, PROXY, NAMES[0], NAMES[1], "999", REMITTANCE, "100.5"] {
            assert!(!line.to_string().contains(secret), "{secret} stands in {line}");
        }
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_and_what_was_repeated_is_noted_as_such() {
    let stage = Stage::bank("").await;
    let send = async |changes: Value| stage.to_bank.post(DEBIT, message(DEBIT, changes)).await.status;
    assert_eq!(send(json!({})).await, 202);
    assert_eq!(send(json!({"message_identification": "again"})).await, 202);
    assert_eq!(send(json!({"debtor_account_number": "7"})).await, 422);
    assert_eq!(send(json!({"uetr": "nonsense"})).await, 422);
    stage.until(Bank, UETR, "response", "delivered").await;
    let journal = journals(&stage).await.1;
    let outcomes: Vec<String> = lines(&journal, "in").into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["accepted", "repeated", "INBOUND_UNPROCESSABLE", "INBOUND_UNPROCESSABLE"]);
    assert!(journal.iter().all(|line| !line.to_string().contains("nonsense") && !line.to_string().contains(ACCOUNT)));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_trace_is_not_passed_on() {
    let stage = Stage::bank("").await;
    let traces = [
        "x".repeat(5_000),
        TRACE.to_uppercase(),
        TRACE.replacen("00-", "ff-", 1),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("{TRACE}, {TRACE}"),
        format!("{TRACE}-and-more"),
    ];
    for (number, trace) in (1u64..).zip(&traces) {
        let body = message(DEBIT, json!({"uetr": uetr(number)})).to_string().into_bytes();
        stage.to_bank.send("POST", DEBIT, &[JSON[0], ("traceparent", trace)], body).await.check(202);
    }
    let told = stage.told("/direct-debit-response", traces.len()).await;
    assert!(told.iter().all(|arrived| !arrived.headers.contains_key("traceparent")), "{told:?}");
    stage.finish().await;
}
