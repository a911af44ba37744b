//! From an address to its master wallet: when, for how much, and what becomes of it without gas.

use serde_json::{Value, json};

use super::{
    acts::{check_fields, check_invalid, check_refusal, text},
    stage::{Address, OUTSIDE, Stage, Wallet},
};
use crate::support::eventually;

/// So many sweeps of this address were told as failed; the last of them.
async fn failed(stage: &Stage, address: &Address, count: usize) -> Value {
    eventually(&format!("{count} failed sweeps"), async || {
        let told = stage.receiver.received().into_iter().map(|it| it.json());
        let fits =
            |body: &Value| body["event"] == "deposit.swept.failed" && body["data"]["address_id"] == address.id.as_str();
        let found: Vec<Value> = told.filter(fits).collect();
        (found.len() == count).then(|| found.last().cloned()).flatten()
    })
    .await["data"]
        .clone()
}

/// The deposit once its money stands so.
async fn deposit_is(stage: &Stage, wallet: &Wallet, id: &str, state: &str) -> Value {
    eventually(&format!("a deposit that is {state}"), async || {
        let found = stage.transaction(wallet, id).await;
        (found["assetSweptResponse"] == state).then_some(found)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_without_gas_has_failed_and_goes_through_once_the_master_is_funded() {
    let stage = Stage::open().await.covers(&[
        "sweep-assets answers",
        "event deposit.swept.failed",
        "event deposit.swept.success",
        "code DEPOSIT_SWEEP_FAILED",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let coin = stage.asset(&wallet, "ETH").await;
    let body = json!({"asset_id": coin, "amount": "9.9999", "destination_address": OUTSIDE});
    let spent = text(&stage.make(&wallet, "/withdraw", body).await, "id");
    stage.until(&wallet, &spent, "SUCCESS").await;
    let hash = stage.deposit(&wallet, "base", &address.address, ("USDC", "5")).await;
    let told = failed(&stage, &address, 1).await;
    check_fields(&told, "wallet_id, address_id, error_code");
    assert_eq!((&told["error_code"], &told["transaction_hash"]), (&json!("DEPOSIT_SWEEP_FAILED"), &json!(hash)));
    let deposit = text(&told, "id");
    let shown = deposit_is(&stage, &wallet, &deposit, "failed").await;
    assert_eq!((&shown["status"], &shown["assetSwept"]), (&json!("SUCCESS"), &json!(false)), "the deposit is good");
    // Without gas it comes to nothing again, and nobody is told twice.
    assert_eq!(stage.make(&wallet, "/sweep/assets", json!({})).await["sweeps"], 1);

    stage.control("base", json!({"kind": "give", "address": wallet.address, "amount": "1"})).await;
    eventually("coins of the master wallet", async || {
        stage.holds(&wallet, "", "ETH").await[0].starts_with("1.").then_some(())
    })
    .await;
    assert_eq!(stage.make(&wallet, "/sweep/assets", json!({})).await["sweeps"], 1);
    let told = stage.told(&wallet, "deposit.swept.success").await;
    check_fields(&told, "wallet_id, address_id, amount, transaction_hash");
    assert_eq!((&told["amount"], &told["address_id"]), (&json!("5"), &json!(address.id)));
    deposit_is(&stage, &wallet, &deposit, "swept").await;
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["5", "0", "0"]);
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "5");
    assert_eq!(stage.make(&wallet, "/sweep/assets", json!({})).await["sweeps"], 0, "nothing is left");
    failed(&stage, &address, 1).await;
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_fails_on_its_blockchain_is_told_and_can_be_asked_for_again() {
    let stage = Stage::open().await.covers(&[
        "sweep-transaction answers",
        "event deposit.swept.failed",
        "event deposit.swept.success",
        "code DEPOSIT_SWEEP_FAILED",
        "code SERVICE_NOT_FOUND",
    ]);
    let wallet = stage.wallet("base").await;
    for gift in [None, Some("1")] {
        // With coins of its own the sweep itself goes out first, otherwise the coins for it.
        let address = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
        if let Some(amount) = gift {
            stage.control("base", json!({"kind": "give", "address": address.address, "amount": amount})).await;
        }
        let hash = stage.deposit(&wallet, "base", &address.address, ("USDC", "6")).await;
        let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &hash)).await;
        let wish = json!({"transaction_id": told["id"]});
        stage.control("base", json!({"kind": "fail", "count": 1})).await;
        let asked = stage.make(&wallet, "/transactions/sweep/assets", wish.clone()).await;
        assert_eq!(asked["sweeps"], 1);
        let told_failed = failed(&stage, &address, 1).await;
        check_fields(&told_failed, "wallet_id, address_id, error_code");
        assert_eq!(told_failed["error_code"], "DEPOSIT_SWEEP_FAILED");
        deposit_is(&stage, &wallet, &text(&told, "id"), "failed").await;
        assert_eq!(stage.holds(&wallet, &format!("/addresses/{}", address.id), "USDC").await, ["6", "0", "0"]);
        stage.make(&wallet, "/transactions/sweep/assets", wish).await;
        let swept = stage.told_where(&wallet, "deposit.swept.success", ("address_id", &address.id)).await;
        assert_eq!(swept["amount"], "6");
        stage.agrees_at(&wallet, &address).await;
    }
    check_invalid(&stage.send(&wallet, "POST", "/sweep/assets", Some(json!({"id": 7}))).await, "transaction_id");
    let unknown = stage.send(&wallet, "POST", "/sweep/assets", Some(json!({"id": wallet.id}))).await;
    check_refusal(&unknown, (404, "SERVICE_NOT_FOUND", ""));
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["12", "0", "0"]);
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_below_the_threshold_rests_and_goes_with_what_comes_later() {
    let stage = Stage::open().await.covers(&[
        "event deposit.swept.success",
        "update-wallet answers",
        "default: the threshold of auto-sweep is 0",
    ]);
    let wallet = stage.wallet("tron").await;
    let address = stage.address(&wallet, json!({})).await;
    // Of the smallest amount there is: the threshold is 0.
    stage.deposit(&wallet, "tron", &address.address, ("USDT", "0.000001")).await;
    let swept = stage.told(&wallet, "deposit.swept.success").await;
    assert_eq!(swept["amount"], "0.000001");
    stage.seen.note("default: the threshold of auto-sweep is 0");
    let sweeping = json!({"configurations": {"autoSweeping": {"threshold": "10"}}});
    stage.ask(&wallet, "PATCH", "", Some(sweeping)).await;
    let mut deposits = Vec::new();
    for amount in ["4", "5.999999", "0.000001"] {
        let hash = stage.deposit(&wallet, "tron", &address.address, ("USDT", amount)).await;
        let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &hash)).await;
        deposits.push(text(&told, "id"));
    }
    let swept = stage.told_where(&wallet, "deposit.swept.success", ("amount", "10")).await;
    check_fields(&swept, "wallet_id, address_id, amount, transaction_hash");
    let mut by = Vec::new();
    for id in &deposits {
        by.push(deposit_is(&stage, &wallet, id, "swept").await["assetSweptId"].clone());
    }
    by.dedup();
    assert_eq!((by.len(), &by[0]), (1, &swept["id"]), "one sweep of all three");
    assert_eq!(stage.on_chain("tron", &wallet.address, "USDT").await, "10.000001");
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
