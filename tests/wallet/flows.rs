//! Money from end to end.

use serde_json::json;

use super::stage::{OUTSIDE, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_is_confirmed_told_and_swept() {
    let stage = Stage::open().await.covers(&[
        "create-wallet answers",
        "create-address answers",
        "reconcile-wallet answers",
        "event deposit.processing",
        "event deposit.success",
        "event deposit.swept.success",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({"name": "ann", "metadata": {"user": 7}})).await;
    stage.give("base", &address.address, "USDC", "25").await;
    let seen = stage.told(&wallet, "deposit.processing").await;
    assert_eq!((&seen["amount"], &seen["address_id"]), (&json!("25"), &json!(address.id)));
    let confirmed = stage.told(&wallet, "deposit.success").await;
    assert_eq!((&confirmed["amount"], &confirmed["metadata"]), (&json!("25"), &json!({"user": 7})));
    let swept = stage.told(&wallet, "deposit.swept.success").await;
    assert_eq!((&swept["amount"], &swept["address_id"]), (&json!("25"), &json!(address.id)));
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "25");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_goes_out_once_and_the_books_agree() {
    for (blockchain, symbol) in [("base", "USDC"), ("tron", "USDT"), ("solana", "USDC")] {
        let stage = Stage::open().await.covers(&["withdraw answers", "event withdraw.success"]);
        let wallet = stage.wallet(blockchain).await;
        stage.give(blockchain, &wallet.address, symbol, "25").await;
        stage.told(&wallet, "deposit.success").await;
        let outside = match blockchain {
            "tron" => "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
            "solana" => "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
            _ => OUTSIDE,
        };
        let body = json!({
            "asset_id": stage.asset(&wallet, symbol).await, "amount": "10.5",
            "destination_address": outside, "reference": "r-1",
        });
        let [first, again] = [
            stage.post(&wallet, "/withdraw", body.clone()).await.json(),
            stage.post(&wallet, "/withdraw", body).await.json(),
        ];
        let id = first["data"]["id"].as_str().unwrap_or_else(|| panic!("{first}")).to_owned();
        assert_eq!(again["data"]["id"], id.as_str(), "{again}");
        let done = stage.until(&wallet, &id, "SUCCESS").await;
        let told = stage.told(&wallet, "withdraw.success").await;
        assert_eq!((&told["amount"], &told["transaction_hash"]), (&json!("10.5"), &done["hash"]));
        assert_eq!(stage.on_chain(blockchain, outside, symbol).await, "10.5");
        stage.agrees(&wallet).await;
        stage.finish().await;
    }
}
