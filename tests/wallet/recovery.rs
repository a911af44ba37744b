//! Getting back what went astray: assets on a blockchain that nobody meant, and deposits that nobody was told of.

use serde_json::{Value, json};

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::stage::{OUTSIDE, Stage, Wallet};
use crate::support::eventually;

/// Of a token on a blockchain of the test environment.
async fn contract(stage: &Stage, blockchain: &str, symbol: &str) -> String {
    let networks = stage.host.operator().get("/v1/chains").await.expect(200).json();
    let network =
        networks.as_array().unwrap().iter().find(|it| it["blockchain"] == blockchain && it["network"] == "test");
    let tokens = network.unwrap()["tokens"].as_array().unwrap().clone();
    text(tokens.iter().find(|it| it["symbol"] == symbol).unwrap(), "address")
}

/// Gives somebody's token, or without a symbol the coin.
async fn send(stage: &Stage, blockchain: &str, address: &str, (symbol, amount): (Option<&str>, &str)) -> String {
    let control = json!({"kind": "give", "address": address, "token": symbol, "amount": amount});
    let hash = text(&stage.control(blockchain, control).await, "hash");
    let path = format!("/v1/chains/transaction?blockchain={blockchain}&hash={hash}");
    eventually("a block with the gift", async || {
        let found = stage.host.operator().get(&path).await;
        (found.status == 200 && found.json()["state"] == "done").then_some(())
    })
    .await;
    hash
}

async fn salvage(stage: &Stage, wallet: &Wallet, body: &Value) -> String {
    text(&stage.make(wallet, "/salvage", body.clone()).await, "id")
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_that_were_sent_on_a_wrong_blockchain_come_back() {
    let stage = Stage::open().await.covers(&[
        "salvage answers",
        "salvage-fee answers",
        "event salvage.success",
        "event salvage.failed",
    ]);
    let wallet = stage.wallet("base").await;
    let token = contract(&stage, "arbitrum", "USDC").await;
    let body = json!({
        "sender_address": wallet.address, "recipient_address": OUTSIDE, "amount": "5", "blockchain": "arbitrum",
        "token_address": token,
    });
    send(&stage, "arbitrum", &wallet.address, (Some("USDC"), "8")).await;
    let much = stage.post(&wallet, "/salvage", with(body.clone(), json!({"amount": "8.000001"}))).await;
    check_refusal(&much, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    check_refusal(&stage.post(&wallet, "/salvage", body.clone()).await, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    send(&stage, "arbitrum", &wallet.address, (None, "1")).await;
    let fee = stage.make(&wallet, "/salvage/network-fee", body.clone()).await;
    assert_eq!((&fee["balance"], &fee["nativeBalance"], &fee["symbol"]), (&json!("8"), &json!("1"), &json!("ETH")));
    assert!(fee["fee"].as_str().is_some_and(|fee| fee != "0"), "{fee}");

    let id = salvage(&stage, &wallet, &body).await;
    let done = stage.until(&wallet, &id, "SUCCESS").await;
    let told = stage.told_of(&wallet, "salvage.success", &id).await;
    check_fields(&told, "wallet_id, amount, blockchain");
    assert_eq!((&told["amount"], &told["transaction_hash"]), (&json!("5"), &done["hash"]));
    assert_eq!(stage.on_chain("arbitrum", OUTSIDE, "USDC").await, "5");
    assert_eq!(stage.on_chain("arbitrum", &wallet.address, "USDC").await, "3");

    // What fails there stays there, and may be tried again.
    stage.control("arbitrum", json!({"kind": "fail", "count": 1})).await;
    let body = with(body, json!({"amount": "3"}));
    let id = salvage(&stage, &wallet, &body).await;
    stage.until(&wallet, &id, "FAILED").await;
    let told = stage.told_of(&wallet, "salvage.failed", &id).await;
    check_fields(&told, "wallet_id, error_code");
    assert_eq!(told["error_code"], "WITHDRAWAL_FAILED");
    let again = salvage(&stage, &wallet, &body).await;
    stage.until(&wallet, &again, "SUCCESS").await;
    assert_eq!(stage.on_chain("arbitrum", OUTSIDE, "USDC").await, "8");
    // Nothing of it was ever in the books.
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_at_an_address_come_back_and_what_cannot_be_salvaged_is_said() {
    let stage = Stage::open().await.covers(&["salvage answers", "event salvage.success"]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let body = json!({
        "sender_address": address.address, "recipient_address": OUTSIDE, "amount": "1.5", "blockchain": "avalanche",
    });
    send(&stage, "avalanche", &address.address, (None, "2")).await;
    let id = salvage(&stage, &wallet, &body).await;
    stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!(stage.told_of(&wallet, "salvage.success", &id).await["blockchain"], "avalanche");
    assert_eq!(stage.on_chain("avalanche", OUTSIDE, "AVAX").await, "1.5");
    // Coins pay for their own way: all of them cannot leave.
    let rest = stage.on_chain("avalanche", &address.address, "AVAX").await;
    let all = stage.post(&wallet, "/salvage", with(body.clone(), json!({"amount": rest}))).await;
    check_refusal(&all, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    for (more, fields) in [
        (json!({"blockchain": "none"}), "blockchain"),
        (json!({"sender_address": OUTSIDE}), "sender_address"),
        (json!({"amount": "0"}), "amount"),
        (json!({"token_address": OUTSIDE}), "token_address"),
        (json!({"rpc_url": "http://127.0.0.1:1"}), "rpc_url"),
    ] {
        check_invalid(&stage.post(&wallet, "/salvage", with(body.clone(), more)).await, fields);
    }
    // What is in the books is not lost: nothing lies beyond them.
    let booked = stage.post(&wallet, "/salvage", with(body.clone(), json!({"blockchain": "base"}))).await;
    check_refusal(&booked, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let listed =
        with(body, json!({"recipient_address": "0x0000000000000000000000000000000000000bad", "amount": "0.1"}));
    check_refusal(
        &stage.post(&wallet, "/salvage", listed).await,
        (403, "SERVICE_VALIDATION_ERROR", "recipient_address"),
    );
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_nobody_was_told_of_is_found_by_its_hash() {
    let stage = Stage::open().await.covers(&["rescan-blocks answers", "event deposit.success"]);
    let base = stage.wallet("base").await;
    let address = stage.address(&base, json!({"metadata": {"user": 7}})).await;
    // It comes on a blockchain that the account has no wallet of yet, and long before there is one.
    let hash = send(&stage, "arbitrum", &address.address, (Some("USDC"), "7")).await;
    stage.control("arbitrum", json!({"kind": "mine", "blocks": 100})).await;
    let wallet = stage.wallet("arbitrum").await;
    let rescan = async |hash: &str| stage.make(&wallet, "/rescan/blocks", json!({"transaction_hash": hash})).await;

    let nothing = rescan(&format!("0x{}", "ab".repeat(32))).await;
    assert_eq!((&nothing["found"], &nothing["state"]), (&json!(false), &json!("unknown")));
    assert_eq!(stage.list(&wallet, "/transactions?type=DEPOSIT&assets=USDC").await["meta"]["totalItems"], 0);
    let found = rescan(&hash).await;
    assert_eq!((&found["found"], &found["state"]), (&json!(true), &json!("done")), "{found}");
    let deposit = &found["deposits"][0];
    assert_eq!((&deposit["new"], &deposit["deposit"]["amount"]), (&json!(true), &json!("7")));
    let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &hash)).await;
    check_fields(&told, "wallet_id, address_id, amount, asset_id, transaction_hash, metadata");
    assert_eq!((&told["address_id"], &told["metadata"]), (&json!(address.id), &json!({"user": 7})));

    // Once more: it is not booked twice, but told again.
    let again = rescan(&hash).await;
    let deposit = &again["deposits"][0];
    assert_eq!((&deposit["new"], &deposit["webhook_resent"]), (&json!(false), &json!(true)), "{again}");
    let id = text(deposit, "deposit_id");
    eventually("the webhook once more", async || {
        (stage.told_names(&id).iter().filter(|name| *name == "deposit.success").count() == 2).then_some(())
    })
    .await;
    // Like every other deposit it is swept.
    stage.told_where(&wallet, "deposit.swept.success", ("address_id", &address.id)).await;
    assert_eq!(stage.on_chain("arbitrum", &wallet.address, "USDC").await, "7");
    stage.agrees(&wallet).await;
    check_invalid(&stage.post(&wallet, "/rescan/blocks", json!({"transaction_hash": "0x1"})).await, "transaction_hash");
    check_invalid(&stage.post(&wallet, "/rescan/blocks", json!({})).await, "transaction_hash");
    stage.finish().await;
}
