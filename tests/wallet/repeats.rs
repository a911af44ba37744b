//! The same request again, one after the other and at once, with a key, a reference, or an answer that was lost.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tenon::db::apply::Failpoint;

use super::{
    acts::{check_refusal, text, with},
    look::meta,
    stage::{OUTSIDE, Stage, Wallet},
};
use crate::support::{Response, TestClient};

async fn withdrawal(stage: &Stage, wallet: &Wallet, more: Value) -> Value {
    let asset = stage.asset(wallet, "USDC").await;
    with(json!({"asset_id": asset, "amount": "10", "destination_address": OUTSIDE}), more)
}

/// With an Idempotency-Key.
async fn post_once(stage: &Stage, wallet: &Wallet, key: &str, body: &Value) -> Response {
    let path = format!("/v1/wallets/{}/withdraw", wallet.id);
    let headers = [("x-api-key", wallet.key.as_str()), ("content-type", "application/json"), ("idempotency-key", key)];
    let client = TestClient::new(stage.host.base(), None);
    let answer = client.send("POST", &path, &headers, body.to_string().into_bytes()).await;
    stage.seen.note_answer("POST", &path, &answer);
    answer
}

fn ids(answers: &[Response]) -> Vec<Value> {
    let mut ids: Vec<Value> = answers.iter().map(|answer| answer.json()["data"]["id"].clone()).collect();
    ids.dedup();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_reference_is_one_transaction_also_at_once_and_another_request_is_refused() {
    let stage = Stage::open().await.covers(&["withdraw answers", "code SERVICE_VALIDATION_ERROR"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let body = withdrawal(&stage, &wallet, json!({"reference": "r".repeat(100)})).await;
    let path = format!("/v1/wallets/{}/withdraw", wallet.id);
    let storm = (0..10).map(|_| stage.call_among_others(&wallet.key, "POST", &path, Some(body.clone())));
    let answers = join_all(storm).await;
    answers.iter().for_each(|answer| assert_eq!(answer.status, 200, "{}", answer.text()));
    let ids = ids(&answers);
    assert_eq!(ids.len(), 1, "{ids:?}");
    stage.until(&wallet, ids[0].as_str().unwrap(), "SUCCESS").await;
    let late = stage.make(&wallet, "/withdraw", body.clone()).await;
    assert_eq!((&late["id"], &late["status"]), (&ids[0], &json!("SUCCESS")), "what it has become");
    for change in [
        json!({"amount": "10.5"}),
        json!({"destination_address": wallet.address}),
        json!({"asset_id": stage.asset(&wallet, "ETH").await}),
        json!({"note": "another"}),
        json!({"metadata": {"a": 1}}),
    ] {
        let answer = stage.send(&wallet, "POST", "/withdraw", Some(with(body.clone(), change))).await;
        check_refusal(&answer, (409, "SERVICE_VALIDATION_ERROR", "reference"));
    }
    let list = stage.list(&wallet, &format!("/transactions?reference={}", "r".repeat(100))).await;
    assert_eq!((meta(&list)[0], &list["data"][0]["id"]), (1, &ids[0]));

    let amounts = ["1", "2", "3", "4"].map(|amount| with(body.clone(), json!({"amount": amount, "reference": "s"})));
    let rivals = join_all(amounts.map(|body| stage.send(&wallet, "POST", "/withdraw", Some(body)))).await;
    let (won, lost): (Vec<_>, Vec<_>) = rivals.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 3));
    lost.iter().for_each(|answer| check_refusal(answer, (409, "SERVICE_VALIDATION_ERROR", "reference")));
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_batch_is_the_first_one_and_a_changed_one_is_refused() {
    let stage = Stage::open().await.covers(&["withdraw answers", "code SERVICE_VALIDATION_ERROR"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let one = withdrawal(&stage, &wallet, json!({"reference": "a"})).await;
    let two = with(one.clone(), json!({"reference": "b", "amount": "20"}));
    let path = format!("/v1/wallets/{}/withdraw", wallet.id);
    let both = || Some(json!({"assets": [one, two]}));
    let storm = (0..6).map(|_| stage.call_among_others(&wallet.key, "POST", &path, both()));
    let mut seen: Vec<Value> = Vec::new();
    let mut answers = join_all(storm).await;
    answers.push(stage.send(&wallet, "POST", "/withdraw", both()).await);
    for answer in answers {
        let rows = answer.expect(200).json()["data"].clone();
        seen.push(json!([rows[0]["id"], rows[1]["id"]]));
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let third = with(one.clone(), json!({"reference": "c", "amount": "1"}));
    for changed in [
        json!([one]),
        json!([one, two, third]),
        json!([third, one]),
        json!([one, with(two.clone(), json!({"amount": "21"}))]),
    ] {
        let answer = stage.send(&wallet, "POST", "/withdraw", Some(json!({"assets": changed}))).await;
        check_refusal(&answer, (409, "SERVICE_VALIDATION_ERROR", "reference"));
    }
    let twice = stage.send(&wallet, "POST", "/withdraw", Some(json!({"assets": [one, one]}))).await;
    check_refusal(&twice, (400, "SERVICE_VALIDATION_ERROR", "assets[1].reference"));
    for id in seen[0].as_array().unwrap() {
        stage.until(&wallet, id.as_str().unwrap(), "SUCCESS").await;
    }
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "30");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_is_one_withdrawal_and_one_answer() {
    let stage = Stage::open().await.covers(&["withdraw answers", "code SERVICE_VALIDATION_ERROR"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let body = withdrawal(&stage, &wallet, json!({})).await;
    let answers = join_all((0..10).map(|_| post_once(&stage, &wallet, "k-1", &body))).await;
    let first = answers.iter().filter(|answer| answer.header("idempotency-replayed").is_none()).count();
    assert_eq!((first, ids(&answers).len()), (1, 1));
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    let other = post_once(&stage, &wallet, "k-1", &with(body.clone(), json!({"amount": "11"}))).await;
    check_refusal(&other, (422, "SERVICE_VALIDATION_ERROR", ""));
    let next = post_once(&stage, &wallet, "k-2", &body).await.expect(200);
    assert_ne!(ids(&[next]), ids(&answers), "without a reference another key is another withdrawal");
    assert_eq!(meta(&stage.list(&wallet, "/transactions?type=WITHDRAW").await)[0], 2);
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_is_found_again_and_nothing_goes_out_twice() {
    let stage = Stage::open().await.covers(&["withdraw answers", "code SERVICE_SERVER_ERROR"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    for (round, failpoint) in [Failpoint::DuringCommitLost, Failpoint::DuringCommitKept].into_iter().enumerate() {
        stage.agrees(&wallet).await;
        let body = withdrawal(&stage, &wallet, json!({"reference": format!("r-{round}")})).await;
        stage.host.fail_next_batch(failpoint);
        let lost = stage.send(&wallet, "POST", "/withdraw", Some(body.clone())).await;
        // Where the host finds out what became of the commit, it says so.
        if lost.status != 200 {
            check_refusal(&lost, (lost.status, "SERVICE_SERVER_ERROR", ""));
            assert!(matches!(lost.status, 500 | 503), "{}", lost.text());
        }
        let again = stage.make(&wallet, "/withdraw", body).await;
        stage.until(&wallet, &text(&again, "id"), "SUCCESS").await;
    }
    assert_eq!(meta(&stage.list(&wallet, "/transactions?type=WITHDRAW").await)[0], 2);
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "20");
    stage.agrees(&wallet).await;
    stage.finish().await;
}
