//! What became of money: lists of it, and what may be done about one transaction.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenon::{admin::wire::TimestampText, clock::Clock};

use super::{
    START_MS,
    acts::{check_fields, check_invalid, check_refusal, text},
    look::{column, meta},
    mining::mine,
    stage::{OUTSIDE, Stage, Wallet},
};
use crate::support::eventually;

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

async fn withdraw(stage: &Stage, wallet: &Wallet, amount: &str, reference: &str) -> Value {
    let asset = stage.asset(wallet, "USDC").await;
    let body = json!({"asset_id": asset, "amount": amount, "destination_address": OUTSIDE, "reference": reference});
    stage.make(wallet, "/withdraw", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_listed_by_what_they_are_and_read_one_by_one() {
    let stage = Stage::open().await.covers(&["list-transactions answers", "read-transaction answers"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    stage.deposit(&wallet, "base", &wallet.address, ("DAI", "1")).await;
    let mut ids = Vec::new();
    for (amount, reference) in [("1", "a"), ("2", "b"), ("3", "c")] {
        let made = withdraw(&stage, &wallet, amount, reference).await;
        ids.push(text(&stage.until(&wallet, &text(&made, "id"), "SUCCESS").await, "id"));
    }
    let hash = text(&stage.transaction(&wallet, &ids[1]).await, "hash");
    for (query, found) in [
        ("", 5),
        ("type=DEPOSIT", 2),
        ("type=WITHDRAW&transaction_status=success", 3),
        ("status=SUCCESS", 5),
        ("status=FAILED", 0),
        ("reference=b", 1),
        ("assets=USDC,EURC", 4),
        ("assets=EURC", 0),
        (&format!("id={}", ids[2]), 1),
        (&format!("hash={hash}"), 1),
        (&format!("transaction_hash={hash}&reference=a"), 0),
        ("limit=2&page=3", 5),
    ] {
        assert_eq!(meta(&stage.list(&wallet, &format!("/transactions?{query}")).await)[0], found, "{query}");
    }
    let all = stage.list(&wallet, "/transactions").await;
    assert_eq!(all["analytics"], json!({"depositsCount": 2, "withdrawsCount": 3, "transactionsCount": 5}));
    assert_eq!(json!(column(&all, "amount")), json!(["3", "2", "1", "1", "100"]), "the newest first");
    let ascending = stage.list(&wallet, "/transactions?order=ASC&limit=2").await;
    assert_eq!(json!(column(&ascending, "amount")), json!(["100", "1"]));
    for (query, fields) in [
        ("order=UP&page=0", "page order"),
        ("type=GIFT", "type"),
        ("transaction_status=done&limit=0", "limit transaction_status"),
    ] {
        check_invalid(&stage.send(&wallet, "GET", &format!("/transactions?{query}"), None).await, fields);
    }
    for (query, name) in [("created_after=2026-05-07", "created_after"), ("limit=2&a%1Fb=1", "a%1Fb")] {
        check_invalid(&stage.send(&wallet, "GET", &format!("/transactions?{query}"), None).await, name);
    }
    let dry = stage.send(&wallet, "POST", "/withdraw?dry_run=true", Some(json!({}))).await;
    check_invalid(&dry, "dry_run");
    let one = stage.transaction(&wallet, &ids[0]).await;
    check_fields(
        &one,
        "wallet_id, asset_id, amount, destination_address, reference, transaction_hash, transaction_status",
    );
    assert_eq!(&one, all["data"].as_array().unwrap().iter().find(|row| row["id"] == ids[0].as_str()).unwrap());
    for nothing in [UNKNOWN, &wallet.id, "x"] {
        let answer = stage.send(&wallet, "GET", &format!("/transactions/{nothing}"), None).await;
        check_refusal(&answer, (404, "SERVICE_NOT_FOUND", ""));
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_can_be_cancelled_and_what_has_begun_cannot() {
    let clock = Clock::manual(START_MS);
    let stage = Stage::open_at(clock, "process-after-ms = 600000").await.covers(&[
        "cancel-transaction answers",
        "cancel-transaction-of-path answers",
        "default: transaction_status is pending",
        "edge pending to cancelled",
        "edge pending to processing",
        "edge processing to success",
    ]);
    let _mining = mine(&stage, "base");
    let wallet = stage.wallet_with("base", "USDC", "10").await;
    let mut ids = Vec::new();
    for (amount, reference) in [("1", "a"), ("2", "b"), ("4", "c")] {
        let made = withdraw(&stage, &wallet, amount, reference).await;
        assert_eq!((&made["transaction_status"], &made["status"]), (&json!("pending"), &json!("PENDING")));
        ids.push(text(&made, "id"));
    }
    stage.seen.note("default: transaction_status is pending");
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["3", "7", "0"]);
    for _ in 0..2 {
        let cancelled = stage.make(&wallet, "/transactions/cancel", json!({"id": ids[0]})).await;
        assert_eq!(cancelled["transaction_status"], "cancelled");
        stage.make(&wallet, &format!("/transactions/{}/cancel", ids[1]), json!({})).await;
    }
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["6", "4", "0"]);
    check_invalid(&stage.send(&wallet, "POST", "/transactions/cancel", Some(json!({}))).await, "id");
    let unknown = stage.send(&wallet, "POST", "/transactions/cancel", Some(json!({"id": UNKNOWN}))).await;
    check_refusal(&unknown, (404, "SERVICE_NOT_FOUND", ""));
    stage.host.clock.advance(600_000);
    let done = stage.until(&wallet, &ids[2], "SUCCESS").await;
    let deposit = stage.list(&wallet, "/transactions?type=DEPOSIT").await["data"][0].clone();
    for (late, action) in [(&done, "cancel"), (&deposit, "cancel"), (&done, "retry"), (&deposit, "retry")] {
        let path = format!("/transactions/{}/{action}", text(late, "id"));
        let answer = stage.send(&wallet, "POST", &path, Some(json!({}))).await;
        check_refusal(&answer, (409, "SERVICE_VALIDATION_ERROR", ""));
    }
    let retried = stage.send(&wallet, "POST", &format!("/transactions/{}/retry", ids[0]), Some(json!({}))).await;
    check_refusal(&retried, (409, "SERVICE_VALIDATION_ERROR", ""));
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "4");
    assert!(stage.told_names(&ids[0]).is_empty(), "the specification has no event for it");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_withdrawal_is_tried_again_once_as_another_transaction() {
    let stage = Stage::open().await.covers(&[
        "retry-transaction answers",
        "retry-transaction-of-path answers",
        "event withdraw.failed",
        "event withdraw.success",
        "code WITHDRAWAL_FAILED",
        "edge processing to failed",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "10").await;
    stage.control("base", json!({"kind": "fail", "count": 2})).await;
    let mut id = text(&withdraw(&stage, &wallet, "10", "a").await, "id");
    for path in ["/transactions/retry".to_owned(), "/transactions/{id}/retry".to_owned()] {
        let failed = stage.until(&wallet, &id, "FAILED").await;
        assert_eq!(
            (&failed["error_code"], &failed["reason"]),
            (&json!("WITHDRAWAL_FAILED"), &json!("WITHDRAWAL_FAILED"))
        );
        check_fields(&stage.told_of(&wallet, "withdraw.failed", &id).await, "wallet_id, error_code");
        let next = stage.make(&wallet, &path.replace("{id}", &id), json!({"id": id})).await;
        assert_eq!(
            (&next["continues"], &next["status"], &next["amount"]),
            (&json!(id), &json!("PENDING"), &json!("10"))
        );
        let twice = stage.send(&wallet, "POST", "/transactions/retry", Some(json!({"id": id}))).await;
        check_refusal(&twice, (409, "SERVICE_VALIDATION_ERROR", ""));
        assert_eq!(stage.transaction(&wallet, &id).await["continuedBy"], next["id"]);
        id = text(&next, "id");
    }
    stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "10");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

/// The node takes nothing and says nothing; every answer of it takes so long.
async fn disturb(stage: &Stage, silence: &str, ms: u64) {
    for control in [json!({"kind": "slow", "ms": ms}), json!({"kind": "silent", "silence": silence})] {
        stage.control("base", control).await;
    }
}

/// For so long: whatever was begun before is on its way, or over.
async fn look_around(stage: &Stage, wallet: &Wallet, ms: u64) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(ms) {
        stage.list(wallet, "/balances").await;
    }
}

/// It is signed while the node still answers, if slowly, and sent when it does not any more.
async fn sign_and_fall_silent(stage: &Stage, wallet: &Wallet, id: &str) -> Value {
    disturb(stage, "off", 3_000).await;
    stage.host.clock.advance(10_000);
    look_around(stage, wallet, 700).await;
    disturb(stage, "lost", 3_000).await;
    let signed = stage.until(wallet, id, "PROCESSING").await;
    disturb(stage, "lost", 0).await;
    look_around(stage, wallet, 3_500).await;
    signed
}

/// Where its sending has got to.
async fn sending(stage: &Stage, id: &str, attempts: u64, fits: impl Fn(&Value) -> bool) {
    eventually(&format!("attempt {attempts}"), async || {
        let effects = stage.host.operator().get("/v1/tasks?kind=effect&limit=100").await.expect(200).json();
        let own = effects["entries"].as_array().unwrap().iter().find(|it| it["id"] == format!("sent:{id}")).cloned()?;
        (own["call"]["attempts"] == attempts && fits(&own)).then_some(())
    })
    .await;
}

/// A wallet with five USDC and four that are withdrawn: a node that answers again after eleven attempts has never heard of it.
async fn forgotten(stage: &Stage) -> (Wallet, Value) {
    let mining = mine(stage, "base");
    let wallet = stage.wallet_with("base", "USDC", "10").await;
    // From now on the numbers of the sender are known here.
    let first = text(&withdraw(stage, &wallet, "1", "a").await, "id");
    stage.host.clock.advance(10_000);
    stage.until(&wallet, &first, "SUCCESS").await;
    drop(mining);
    let id = text(&withdraw(stage, &wallet, "4", "b").await, "id");
    let signed = sign_and_fall_silent(stage, &wallet, &id).await;
    for attempts in 1..=10 {
        let now = TimestampText(stage.host.clock.now()).to_string();
        sending(stage, &id, attempts, |it| it["due_at"].as_str() > Some(&now) && it["call"]["failure"].is_string())
            .await;
        if attempts == 10 {
            disturb(stage, "lost", 3_000).await;
        }
        stage.host.clock.advance(300_000);
    }
    // The last attempt gets no answer, and who asks about it afterwards does.
    sending(stage, &id, 11, |_| true).await;
    look_around(stage, &wallet, 300).await;
    disturb(stage, "off", 0).await;
    let incomplete = stage.until(&wallet, &id, "INCOMPLETE").await;
    assert_eq!(incomplete["hash"], signed["hash"]);
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["5", "4", "0"]);
    (wallet, incomplete)
}

/// What goes on from it ends well: the same bytes, and once.
async fn goes_on(stage: &Stage, wallet: &Wallet, (old, next): (&Value, &str)) {
    let done = stage.until(wallet, next, "SUCCESS").await;
    assert_eq!((&done["hash"], &done["continues"]), (&old["hash"], &old["id"]));
    stage.told_of(wallet, "withdraw.success", next).await;
    let shown = stage.transaction(wallet, &text(old, "id")).await;
    assert_eq!(
        (&shown["status"], &shown["continuedBy"]),
        (&json!("INCOMPLETE"), &json!(next)),
        "no edge leads out of it"
    );
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "5");
    stage.agrees(wallet).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knows_of_is_incomplete_keeps_its_hold_and_goes_on_with_the_same_bytes() {
    let stage = Stage::open_at(Clock::manual(START_MS), "process-after-ms = 10000").await.covers(&[
        "retry-transaction-of-path answers",
        "edge processing to incomplete",
        "edge processing to success",
        "event withdraw.success",
    ]);
    let (wallet, incomplete) = forgotten(&stage).await;
    let next = stage.make(&wallet, &format!("/transactions/{}/retry", text(&incomplete, "id")), json!({})).await;
    stage.host.clock.advance(10_000);
    let _mining = mine(&stage, "base");
    goes_on(&stage, &wallet, (&incomplete, &text(&next, "id"))).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_knew_of_and_then_everybody_does_goes_on_by_itself() {
    let stage = Stage::open_at(Clock::manual(START_MS), "process-after-ms = 10000")
        .await
        .covers(&["edge processing to incomplete", "event withdraw.success"]);
    let (wallet, incomplete) = forgotten(&stage).await;
    let _mining = mine(&stage, "base");
    let next = eventually("somebody who goes on", async || {
        stage.transaction(&wallet, &text(&incomplete, "id")).await["continuedBy"].as_str().map(str::to_owned)
    });
    let next = next.await;
    stage.host.clock.advance(10_000);
    goes_on(&stage, &wallet, (&incomplete, &next)).await;
    stage.finish().await;
}
