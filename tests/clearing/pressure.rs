//! Too much, too late, and what breaks: each has its code, says when to come again, and leaves nothing half-done
//! (spec/clearing: Errors, Limits).

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::json;
use tenon::db::apply::Failpoint;

use super::{
    actor::Actor,
    coverage::{Seen, Side::Bank},
    messages::{AUTHORISE, AUTHORISE_SYNC, DEBIT, DETERMINE, TRANSFER, UETR, message, minimal, uetr},
    refusals::refused,
    routes::{JSON, Stock, TRANSACTIONS, routes},
    stage::Stage,
};
use crate::support::{ReceiverResponse, TestHost, component, eventually, shipped_section};

const REPORT: &str = "/v1/clearing/reports/concerns";

/// Until there is no more: the next one is too many.
async fn use_up(client: &Actor) {
    eventually("no request is left", async || (client.get(REPORT).await.status == 429).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_tells_who_asks_too_often_when_to_come_again() {
    let limits = "[plugins.clearing.limits]\nrate-per-second = 1\nrate-burst = 40";
    let stage = Stage::both_with(limits).await.covers(&["*: 429", "INBOUND_RATE_LIMITED, 429"]);
    let (stock, busy) = (Stock::unknown(), stage.client("bank", &[]).await);
    for route in routes() {
        let path = format!("{}?events=none", route.of(&stock));
        // One more may be due just then.
        let refusal = eventually(&route.operation, async || {
            use_up(&busy).await;
            let answer = busy.send(&route.method, &path, &JSON, b"{".to_vec()).await;
            (answer.status == 429).then_some(answer)
        });
        let refusal = refusal.await;
        assert_eq!(refused(&refusal, 429, "INBOUND_RATE_LIMITED"), "", "{}", route.operation);
        assert_eq!(refusal.header("retry-after"), Some("1"), "{}", route.operation);
    }
    stage.client("bank", &[]).await.get(REPORT).await.check(200);
    stage.finish().await;
}

/// The bank's own system is silent for longer than an answer may take.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_answered_in_time_is_refused_and_has_changed_nothing() {
    let settings = "decide = \"ask\"\n[plugins.clearing.limits]\ndeadline-ms = 1_000";
    let stage =
        Stage::bank(settings).await.covers(&["credit-transfer-authorisation-sync: 429", "INBOUND_TIMEOUT, 429"]);
    stage.peer.respond_with(ReceiverResponse::Never);
    for path in [AUTHORISE_SYNC, DETERMINE] {
        let late = stage.to_bank.post(path, minimal(path)).await;
        assert_eq!(refused(&late, 429, "INBOUND_TIMEOUT"), "", "{path}");
        assert_eq!(late.header("retry-after"), Some("1"));
    }
    refused(&stage.bank.get(&format!("{TRANSACTIONS}/{UETR}")).await, 404, "INBOUND_NOT_FOUND");
    assert_eq!(stage.bank.get("/v1/clearing/events").await.expect(200).json()["events"], json!([]));
    let approved = json!({"transaction_status": "APPROVED", "account_number": "7"});
    stage.peer.respond_with(ReceiverResponse::Json(200, approved));
    let again = stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.expect(200).json();
    assert_eq!(again["transaction_status"], "APPROVED");
    let again = stage.to_bank.post(DETERMINE, minimal(DETERMINE)).await.expect(200).json();
    assert_eq!(again["creditor_account_number"], "7");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_lost_is_told_as_unavailable_and_may_be_repeated() {
    let stage = Stage::bank("").await.covers(&["INBOUND_SERVICE_UNAVAILABLE, 500"]);
    stage.to_bank.token().await;
    stage.host.fail_next_batch(Failpoint::DuringCommitLost);
    let lost = stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await;
    assert_eq!(refused(&lost, 500, "INBOUND_SERVICE_UNAVAILABLE"), "");
    assert_eq!(lost.header("retry-after"), Some("1"));
    refused(&stage.bank.get(&format!("{TRANSACTIONS}/{UETR}")).await, 404, "INBOUND_NOT_FOUND");
    stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await.check(202);
    stage.until(Bank, UETR, "response", "delivered").await;
    assert_eq!(stage.host.events().await.len(), 2);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_nobody_knows_is_told_as_such_and_the_same_message_finds_out() {
    for failpoint in [Failpoint::DuringCommitLost, Failpoint::DuringCommitKept] {
        let stage = Stage::bank("").await.covers(&["INBOUND_SERVER_ERROR, 500"]);
        stage.to_bank.token().await;
        stage.bank.get(REPORT).await.check(200);
        stage.host.fail_next_batch(failpoint);
        stage.host.rename_database("tenon.db", "away.db");
        let unknown = stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await;
        assert_eq!(refused(&unknown, 500, "INBOUND_SERVER_ERROR"), "");
        stage.host.rename_database("away.db", "tenon.db");
        let again = eventually("it is ready", async || {
            let answer = stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await;
            (answer.status != 500).then_some(answer)
        });
        assert_eq!(again.await.expect(202).json(), json!({"uetr": UETR}));
        stage.until(Bank, UETR, "response", "delivered").await;
        assert_eq!(stage.host.events().await.len(), 2, "one payment, whatever became of the first try");
        stage.finish().await;
    }
}

/// A setting that fits its schema but is no account.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_breaks_tells_nobody_why() {
    let settings = "[plugins.clearing.settings.vague]\nside = \"partner\"\ndefault-account = \" - \"";
    let stage = Stage::both_with(settings).await.covers(&["INBOUND_SERVER_ERROR, 500"]);
    let vague = stage.client("vague", &[]).await;
    let answer = vague.post(AUTHORISE_SYNC, message(AUTHORISE_SYNC, json!({}))).await;
    assert_eq!(refused(&answer, 500, "INBOUND_SERVER_ERROR"), "");
    assert!(!answer.text().contains("account"), "{}", answer.text());
    stage.finish().await;
}

/// Limits of the shipped plugins.toml. The media type is refused after the rate is checked, so that many requests cost little.
#[tokio::test(flavor = "multi_thread")]
async fn the_shipped_rate_limit_is_reached_by_one_client_and_not_by_another() {
    let shipped = shipped_section("clearing");
    let host = TestHost::builder().plugin("clearing", component("clearing"), &shipped).start().await;
    let seen = Seen::default();
    let [busy, other] = [Actor::new(&host, "bank", &[], &seen).await, Actor::new(&host, "bank", &[], &seen).await];
    let plain = [("content-type", "text/plain")];
    let mut limited = None;
    for _ in 0..100 {
        let round = join_all((0..100).map(|_| busy.send("POST", AUTHORISE, &plain, b"x".to_vec()))).await;
        limited = round.into_iter().find(|answer| answer.status != 415);
        if limited.is_some() {
            break;
        }
    }
    let limited = limited.expect("a client reaches the shipped limit");
    assert_eq!(refused(&limited, 429, "INBOUND_RATE_LIMITED"), "");
    assert!(limited.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    other.get(REPORT).await.check(200);
    host.stop().await;
}

/// One at a time and nobody in line: who finds no place is sent away, and comes again.
#[tokio::test(flavor = "multi_thread")]
async fn more_messages_than_there_is_room_for_are_refused_whole_and_taken_later() {
    let stage = Stage::bank("[plugins.clearing.limits]\ncalls = 1\nqueue = 0").await;
    let debit = async |number: u64| stage.to_bank.post(DEBIT, message(DEBIT, json!({"uetr": uetr(number)}))).await;
    stage.to_bank.token().await;
    let mut refusals = 0;
    let mut left: Vec<u64> = (0..64).collect();
    while !left.is_empty() {
        let answers = join_all(left.iter().map(|number| debit(*number))).await;
        for answer in answers.iter().filter(|answer| answer.status != 202) {
            refused(answer, 500, "INBOUND_SERVICE_UNAVAILABLE");
            assert_eq!(answer.header("retry-after"), Some("1"));
            refusals += 1;
        }
        let again = left.iter().zip(&answers).filter(|(_, answer)| answer.status != 202).map(|(number, _)| *number);
        left = again.collect();
    }
    assert!(refusals > 0, "there was room for all");
    let told = stage.told("/direct-debit-response", 64).await;
    let told: BTreeSet<String> = told.iter().map(|arrived| arrived.json()["uetr"].to_string()).collect();
    assert_eq!(told.len(), 64);
    eventually("all are answered", async || {
        let list = stage.bank.get(&format!("{TRANSACTIONS}?limit=200")).await;
        let list = (list.status == 200).then(|| list.json())?;
        let list = list["transactions"].as_array().unwrap().clone();
        (list.len() == 64 && list.iter().all(|shown| shown["response"] == "delivered")).then_some(())
    })
    .await;
    stage.finish().await;
}

/// With room for one call at a time, and several that wait for the bank's own system.
#[tokio::test(flavor = "multi_thread")]
async fn a_bank_that_thinks_keeps_no_message_from_being_acknowledged_in_time() {
    let settings = "decide = \"ask\"\nbank-ms = 2_000\n[plugins.clearing.limits]\ncalls = 1";
    let stage = Stage::bank(settings).await;
    stage.peer.respond_at("/decisions", ReceiverResponse::Never);
    stage.to_bank.token().await;
    let sync = |number: u64| message(AUTHORISE_SYNC, json!({"uetr": uetr(number)}));
    let waiting = join_all((1..=8).map(|number| stage.to_bank.post(AUTHORISE_SYNC, sync(number))));
    let others = async {
        stage.told("/decisions", 8).await;
        for (number, path) in [(11, AUTHORISE), (12, TRANSFER), (13, DEBIT)] {
            stage.to_bank.post(path, message(path, json!({"uetr": uetr(number)}))).await.check(202);
        }
    };
    let (answers, ()) = tokio::join!(waiting, others);
    for answer in answers {
        let answer = answer.expect(200).json();
        assert_eq!((&answer["transaction_status"], &answer["status_reason"]), (&json!("REJECTED"), &json!("AB05")));
    }
    stage.finish().await;
}
