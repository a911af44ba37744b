//! What a day came to, and what somebody should look at: both sides count the same (docs/clearing.md).

use serde_json::{Value, json};

use super::{
    actor::Actor,
    coverage::Side::{Bank, Hub},
    messages::{ACCOUNT, AUTHORISE, COMPLETE, DEBIT, DEBITED, TRANSFER, UETR, message, minimal, payment, uetr},
    refusals::refused,
    routes::{ACCOUNTS, TRANSACTIONS},
    stage::Stage,
};
use crate::support::{ReceiverResponse, eventually};

const RECONCILIATION: &str = "/v1/clearing/reports/reconciliation";
const CONCERNS: &str = "/v1/clearing/reports/concerns";
const BECAME: [&str; 8] =
    ["outstanding", "approved", "unsettled", "completed", "returned", "rejected", "timed_out", "failed"];

/// A payment that both sides know, once both have answered it.
async fn pay(stage: &Stage, number: u64, path: &str, value: &str, changes: Value) {
    let mut changes = changes;
    changes["uetr"] = json!(uetr(number));
    let body = payment(path, changes).to_string().replace("100.5", value);
    let json = [("content-type", "application/json")];
    stage.hub.send("POST", "/v1/clearing/payments", &json, body.into_bytes()).await.check(202);
    stage.until(Bank, &uetr(number), "response", "delivered").await;
}

async fn settle(stage: &Stage, number: u64, status: &str) {
    let path = format!("/v1/clearing/payments/{}/settlement", uetr(number));
    let body = json!({"settlement_date": "2026-05-07", "transaction_status": status});
    stage.hub.post(&path, body).await.check(202);
    stage.until(Hub, &uetr(number), "delivery", "delivered").await;
}

/// A total as it was written: count and value.
fn total(count: u64, value: &str) -> Value {
    json!({"count": count, "value": value.parse::<f64>().unwrap()})
}

async fn rows(actor: &Actor, query: &str) -> Vec<Value> {
    let report = actor.get(&format!("{RECONCILIATION}{query}")).await.expect(200).json();
    assert_eq!(report["next"], json!(null));
    report["rows"].as_array().unwrap().clone()
}

/// In cents: what was received is what it became.
#[track_caller]
fn check_sum(row: &Value) {
    let cents = |total: &Value| (total["value"].as_f64().unwrap() * 100.0).round() as i64;
    let count = |total: &Value| total["count"].as_u64().unwrap();
    assert_eq!(cents(&row["received"]), BECAME.iter().map(|it| cents(&row[it])).sum::<i64>(), "{row}");
    assert_eq!(count(&row["received"]), BECAME.iter().map(|it| count(&row[it])).sum::<u64>(), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_add_up_to_the_same_and_what_was_received_is_what_it_became() {
    let stage = Stage::both().await.covers(&["report-reconciliation: 200"]);
    stage.bank.post(ACCOUNTS, json!({"account_number": "8", "status": "closed"})).await.check(201);
    let closed = json!({"creditor_account_number": "8"});
    pay(&stage, 1, AUTHORISE, "100.01", json!({})).await;
    settle(&stage, 1, "APPROVED").await;
    pay(&stage, 2, AUTHORISE, "20.02", json!({})).await;
    settle(&stage, 2, "REJECTED").await;
    pay(&stage, 3, AUTHORISE, "3.03", json!({})).await;
    pay(&stage, 4, AUTHORISE, "0.40", closed.clone()).await;
    pay(&stage, 5, TRANSFER, "5000000000.05", json!({})).await;
    pay(&stage, 6, TRANSFER, "6", closed).await;
    pay(&stage, 7, DEBIT, "0.07", json!({})).await;
    pay(&stage, 8, DEBIT, "8.88", json!({"debtor_account_number": "8"})).await;
    stage.advance_ms(86_400_000);
    pay(&stage, 9, DEBIT, "9", json!({})).await;
    let (bank, hub) = (rows(&stage.bank, "").await, rows(&stage.hub, "").await);
    assert_eq!(bank, hub);
    bank.iter().for_each(check_sum);
    let keys = |row: &Value| json!([row["day"], row["payment_scheme"], row["currency"], row["direction"]]);
    assert_eq!(
        bank.iter().map(keys).collect::<Vec<_>>(),
        [
            json!(["2026-05-07", "ZA_RTC", "ZAR", "credit"]),
            json!(["2026-05-07", "ZA_EFT", "ZAR", "credit"]),
            json!(["2026-05-07", "ZA_EFT", "ZAR", "debit"]),
            json!(["2026-05-08", "ZA_EFT", "ZAR", "debit"]),
        ]
    );
    for (row, name, expected) in [
        (0, "received", total(4, "123.46")),
        (0, "completed", total(1, "100.01")),
        (0, "unsettled", total(1, "20.02")),
        (0, "outstanding", total(1, "3.03")),
        (0, "rejected", total(1, "0.40")),
        (1, "completed", total(1, "5000000000.05")),
        (1, "returned", total(1, "6.00")),
        (2, "approved", total(1, "0.07")),
        (2, "rejected", total(1, "8.88")),
        (3, "approved", total(1, "9.00")),
    ] {
        assert_eq!(bank[row][name], expected, "{row} {name}");
    }
    // Exactly, with the decimals of the currency.
    let text = stage.bank.get(RECONCILIATION).await.expect(200).text();
    assert!(text.contains(r#""received":{"count":2,"value":5000000006.05}"#), "{text}");
    assert_eq!(rows(&stage.bank, "?from=2026-05-08").await, bank[3..]);
    assert_eq!(rows(&stage.hub, "?to=2026-05-07").await, bank[..3]);
    assert_eq!(rows(&stage.hub, "?from=2026-05-09").await, Vec::<Value>::new());
    for query in ["?from=tomorrow", "?to=2026-13-01", "?after=nowhere"] {
        refused(&stage.bank.get(&format!("{RECONCILIATION}{query}")).await, 422, "INBOUND_UNPROCESSABLE");
    }
    stage.finish().await;
}

/// Of one concern: how many are counted, and which are listed.
async fn concern(actor: &Actor, name: &str) -> (u64, Vec<String>) {
    let counted = actor.get(CONCERNS).await.expect(200).json()[name].as_u64().unwrap();
    let listed = actor.get(&format!("{TRANSACTIONS}?concern={name}")).await.expect(200).json();
    let listed = listed["transactions"].as_array().unwrap().iter();
    (counted, listed.map(|shown| shown["message"]["uetr"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_payment_without_its_completion_is_overdue_on_both_sides_until_it_comes() {
    let stage = Stage::both().await.covers(&["report-concerns: 200"]);
    pay(&stage, 1, AUTHORISE, "1", json!({})).await;
    pay(&stage, 2, DEBIT, "1", json!({})).await;
    for staff in [&stage.bank, &stage.hub] {
        assert_eq!(concern(staff, "overdue").await, (0, vec![]));
    }
    stage.advance_ms(60_000);
    for staff in [&stage.bank, &stage.hub] {
        eventually("overdue", async || (concern(staff, "overdue").await == (1, vec![uetr(1)])).then_some(())).await;
    }
    settle(&stage, 1, "APPROVED").await;
    for staff in [&stage.bank, &stage.hub] {
        eventually("over", async || (concern(staff, "overdue").await == (0, vec![])).then_some(())).await;
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_was_refused_is_listed_until_it_is_sent_again_and_taken() {
    let stage = Stage::bank("").await.covers(&["redeliver-message: 202", "redeliver-message: 422"]);
    stage.peer.respond_at(
        "/direct-debit-response",
        ReceiverResponse::Json(422, json!({"code": "INBOUND_UNPROCESSABLE", "message": "no"})),
    );
    stage.to_bank.post(DEBIT, minimal(DEBIT)).await.check(202);
    stage.until(Bank, UETR, "response", "undelivered").await;
    assert_eq!(concern(&stage.bank, "undelivered").await, (1, vec![UETR.to_owned()]));
    stage.peer.respond_at("/direct-debit-response", ReceiverResponse::Status(202));
    let again = format!("{TRANSACTIONS}/{UETR}/redelivery");
    stage.bank.post(&again, json!({})).await.check(202);
    stage.until(Bank, UETR, "response", "delivered").await;
    assert_eq!(concern(&stage.bank, "undelivered").await, (0, vec![]));
    let told = stage.told("/direct-debit-response", 2).await;
    assert_eq!((told.len(), &told[0].body), (2, &told[1].body));
    let detail = refused(&stage.bank.post(&again, json!({})).await, 422, "INBOUND_UNPROCESSABLE");
    assert_eq!(detail, "This is not possible for a payment that is approved.");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_its_partner_refused_is_listed_at_the_platform_until_it_is_sent_again_and_taken() {
    let stage = Stage::hub(json!({})).await.covers(&["redeliver-message: 202"]);
    stage.peer.respond_at("/credit-transfer", ReceiverResponse::Status(404));
    stage.hub.post("/v1/clearing/payments", payment(TRANSFER, json!({}))).await.check(202);
    stage.until(Hub, UETR, "delivery", "undelivered").await;
    assert_eq!(concern(&stage.hub, "undelivered").await, (1, vec![UETR.to_owned()]));
    stage.peer.respond_at("/credit-transfer", ReceiverResponse::Status(202));
    stage.hub.post(&format!("{TRANSACTIONS}/{UETR}/redelivery"), json!({})).await.check(202);
    stage.until(Hub, UETR, "delivery", "delivered").await;
    assert_eq!(concern(&stage.hub, "undelivered").await, (0, vec![]));
    stage.finish().await;
}

/// The completion was acknowledged before anybody had decided, and then the bank's own system said no.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_the_decision_contradicts_is_listed() {
    let stage = Stage::bank("decide = \"ask\"\nbank-ms = 1_000").await;
    stage.peer.respond_at("/decisions", ReceiverResponse::Never);
    stage.to_bank.post(AUTHORISE, message(AUTHORISE, json!({"creditor_account_number": ACCOUNT}))).await.check(202);
    stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.check(202);
    stage.until(Bank, UETR, "state", "rejected").await;
    assert_eq!(concern(&stage.bank, "contradicted").await, (1, vec![UETR.to_owned()]));
    assert_eq!(concern(&stage.bank, "overdue").await, (0, vec![]));
    refused(&stage.bank.post(DEBITED, minimal(DEBITED)).await, 404, "INBOUND_NOT_FOUND");
    stage.finish().await;
}
