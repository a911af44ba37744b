//! Whatever happens between a request and its money: failing and stuck transactions, blocks that are taken back, stops.

use serde_json::{Value, json};

use super::stage::{OUTSIDE, Stage, Wallet};

async fn funded(stage: &Stage) -> Wallet {
    let wallet = stage.wallet("base").await;
    stage.give("base", &wallet.address, "USDC", "100").await;
    stage.told(&wallet, "deposit.success").await;
    wallet
}

async fn withdraw(stage: &Stage, wallet: &Wallet, amount: &str) -> String {
    let asset = stage.asset(wallet, "USDC").await;
    let body = json!({"asset_id": asset, "amount": amount, "destination_address": OUTSIDE});
    let accepted: Value = stage.post(wallet, "/withdraw", body).await.json();
    accepted["data"]["id"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_that_fails_gives_the_money_back_less_the_gas() {
    let stage =
        Stage::open().await.covers(&["code WITHDRAWAL_FAILED", "event withdraw.failed", "edge processing to failed"]);
    let wallet = funded(&stage).await;
    stage.control("base", json!({"kind": "fail", "count": 1})).await;
    let id = withdraw(&stage, &wallet, "10").await;
    stage.until(&wallet, &id, "FAILED").await;
    let told = stage.told(&wallet, "withdraw.failed").await;
    assert_eq!(told["error_code"], "WITHDRAWAL_FAILED");
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "100");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_is_taken_back_and_comes_again_is_credited_once() {
    let stage = Stage::open().await.covers(&["event deposit.processing", "event deposit.success"]);
    let wallet = stage.wallet("base").await;
    stage.give("base", &wallet.address, "USDC", "7").await;
    stage.told(&wallet, "deposit.processing").await;
    stage.control("base", json!({"kind": "reorganise", "depth": 5})).await;
    stage.told(&wallet, "deposit.success").await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_accepted_before_a_stop_goes_out_once_after_it() {
    let stage =
        Stage::open().await.covers(&["withdraw answers", "read-transaction answers", "edge processing to success"]);
    let wallet = funded(&stage).await;
    stage.control("base", json!({"kind": "stick", "count": 5})).await;
    let mut ids = Vec::new();
    for amount in ["1", "2", "3", "4", "5"] {
        ids.push(withdraw(&stage, &wallet, amount).await);
    }
    let stage = stage.reopen(|| ()).await;
    stage.control("base", json!({"kind": "release"})).await;
    for id in &ids {
        stage.until(&wallet, id, "SUCCESS").await;
    }
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "15");
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "85");
    stage.agrees(&wallet).await;
    stage.finish().await;
}
