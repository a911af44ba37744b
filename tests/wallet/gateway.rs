//! The unified USDC balance: filled when a deposit is final, emptied on any blockchain, never paid directly.

use serde_json::{Value, json};

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::stage::{OUTSIDE, Stage, Wallet};
use crate::support::{TestClient, eventually};

/// Below the path of a wallet (""), or of an address under it.
async fn balance(stage: &Stage, wallet: &Wallet, place: &str) -> String {
    text(&stage.get(wallet, &format!("{place}/gateway/balance")).await, "gateway_balance")
}

/// A wallet on Base with so much in the gateway, and as much beside it.
async fn filled(stage: &Stage, amount: &str) -> Wallet {
    let wallet = stage.wallet_with("base", "USDC", "200").await;
    let made = stage.make(&wallet, "/gateway/deposit", json!({"amount": amount})).await;
    stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    wallet
}

/// Where USDC must never be sent on Base, as the gateway's provider says it.
async fn contract(stage: &Stage) -> String {
    let key = stage.host.key("sandbox-providers", "acme").await;
    let sandbox = TestClient::new(&format!("{}/sandbox-providers", stage.host.base()), Some(&key));
    let networks = sandbox.get("/v1/gateway/networks").await.expect(200).json()["networks"].clone();
    text(networks.as_array().unwrap().iter().find(|it| it["blockchain"] == "base").unwrap(), "contract_address")
}

#[tokio::test(flavor = "multi_thread")]
async fn usdc_is_credited_when_it_is_final_and_leaves_on_another_blockchain() {
    let stage = Stage::open().await.covers(&[
        "gateway-deposit answers",
        "gateway-withdraw answers",
        "read-gateway-balance answers",
        "list-gateway-transactions answers",
        "event gateway.*",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    // What is not in a block yet is on its way, and in no balance.
    stage.control("base", json!({"kind": "stick", "count": 1})).await;
    let body = json!({"amount": "50", "reference": "in-1"});
    let made = stage.make(&wallet, "/gateway/deposit", body.clone()).await;
    let id = text(&made, "id");
    eventually("a deposit that is sent", async || {
        stage.transaction(&wallet, &id).await["hash"].is_string().then_some(())
    })
    .await;
    assert_eq!(
        (balance(&stage, &wallet, "").await.as_str(), stage.available(&wallet, "", "USDC").await.as_str()),
        ("0", "50")
    );
    assert!(stage.told_names(&id).is_empty());
    stage.control("base", json!({"kind": "release"})).await;
    let told = stage.told_of(&wallet, "gateway.deposit.success", &id).await;
    check_fields(&told, "wallet_id, amount, source_chain");
    assert_eq!((&told["amount"], &told["source_chain"]), (&json!("50"), &json!("base")));
    assert_eq!(balance(&stage, &wallet, "").await, "50");
    assert_eq!(stage.make(&wallet, "/gateway/deposit", body).await["id"], id.as_str());

    let body = json!({"amount": "20.5", "destination_chain": "arbitrum", "destination_address": OUTSIDE, "reference": "out-1"});
    let made = stage.make(&wallet, "/gateway/withdraw", body.clone()).await;
    let out = text(&made, "id");
    assert_eq!(balance(&stage, &wallet, "").await, "29.5", "it is taken off at once");
    let done = stage.until(&wallet, &out, "SUCCESS").await;
    let told = stage.told_of(&wallet, "gateway.withdraw.success", &out).await;
    check_fields(&told, "wallet_id, amount, destination_chain");
    assert_eq!((&told["amount"], &told["destination_chain"]), (&json!("20.5"), &json!("arbitrum")));
    assert!(done["deliveryHash"].is_string(), "{done}");
    assert_eq!(stage.on_chain("arbitrum", OUTSIDE, "USDC").await, "20.5");
    assert_eq!(stage.make(&wallet, "/gateway/withdraw", body.clone()).await["id"], out.as_str());
    assert_eq!(balance(&stage, &wallet, "").await, "29.5", "a repeat takes nothing");

    let much = with(body.clone(), json!({"amount": "29.500001", "reference": "out-2"}));
    check_refusal(&stage.post(&wallet, "/gateway/withdraw", much).await, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    // What cannot be minted is given back.
    let failing = with(body, json!({"amount": "1.13", "reference": "out-3"}));
    let made = stage.make(&wallet, "/gateway/withdraw", failing).await;
    stage.until(&wallet, &text(&made, "id"), "FAILED").await;
    assert_eq!(balance(&stage, &wallet, "").await, "29.5");
    let moved = stage.list(&wallet, "/gateway/transactions?limit=2").await;
    assert_eq!((&moved["meta"]["totalItems"], &moved["meta"]["totalPages"]), (&json!(3), &json!(2)));
    assert_eq!((&moved["data"][0]["type"], &moved["data"][1]["id"]), (&json!("GATEWAY_WITHDRAW"), &json!(out)));
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usdc_that_would_be_lost_in_the_gateways_contract_is_not_sent() {
    let stage = Stage::open().await.covers(&["code GATEWAY_DIRECT_TRANSFER"]);
    let wallet = filled(&stage, "50").await;
    let contract = contract(&stage).await;
    let asset = stage.asset(&wallet, "USDC").await;
    let direct = json!({"asset_id": asset, "amount": "1", "destination_address": contract});
    let refused = (400, "GATEWAY_DIRECT_TRANSFER", "destination_address");
    check_refusal(&stage.post(&wallet, "/withdraw", direct.clone()).await, refused);
    // One of a batch stops all of it.
    let fine = json!({"asset_id": asset, "amount": "1", "destination_address": OUTSIDE});
    let batch = stage.post(&wallet, "/withdraw", json!({"assets": [fine, direct]})).await;
    check_refusal(&batch, (400, "GATEWAY_DIRECT_TRANSFER", "assets[1].destination_address"));
    let out = json!({"amount": "1", "destination_chain": "base", "destination_address": contract});
    let refused = stage.post(&wallet, "/gateway/withdraw", out).await;
    check_refusal(&refused, (400, "GATEWAY_DIRECT_TRANSFER", "destination_address"));
    // Another asset is not lost there.
    let coins =
        json!({"asset_id": stage.asset(&wallet, "ETH").await, "amount": "0.1", "destination_address": contract});
    let made = stage.make(&wallet, "/withdraw", coins).await;
    stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    for (path, body, fields) in [
        ("deposit", json!({}), "amount"),
        ("deposit", json!({"amount": "0"}), "amount"),
        ("withdraw", json!({"amount": "1", "destination_chain": "tron"}), "destination_chain"),
        ("withdraw", json!({"amount": "1.0000001", "destination_chain": "base"}), "amount"),
        ("withdraw", json!({"amount": "1", "destination_chain": "polygon"}), "destination_address"),
    ] {
        check_invalid(&stage.post(&wallet, &format!("/gateway/{path}"), body).await, fields);
    }
    let elsewhere = stage.wallet("celo").await;
    check_invalid(&stage.post(&elsewhere, "/gateway/deposit", json!({"amount": "1"})).await, "blockchain");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_part_of_the_gateways_balance_that_is_its_own() {
    let stage = Stage::open().await.covers(&[
        "gateway-deposit-from-address answers",
        "gateway-withdraw-of-address answers",
        "read-gateway-balance-of-address answers",
        "gateway-deposit-of-address answers",
        "gateway-deposit-fee-of-address answers",
        "gateway-withdraw-from-address answers",
        "gateway-withdraw-fee-of-address answers",
        "read-gateway-balance-alone answers",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address_with(&wallet, "base", ("USDC", "50")).await;
    let (place, own) = (format!("/addresses/{}", address.id), format!("/v1/addresses/{}/gateway", address.id));
    let ask =
        async |path: &str, body: Value| stage.ask_as(&wallet.key, "POST", &format!("{own}/{path}"), Some(body)).await;
    let ended = async |made: Value| stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    ended(stage.make(&wallet, &format!("{place}/gateway/deposit"), json!({"amount": "30"})).await).await;
    let fee = ask("deposit/network-fee", json!({"amount": "20"})).await;
    assert_eq!(fee["symbol"], "ETH");
    assert!(fee["networkFee"].as_str().is_some_and(|fee| fee != "0"), "{fee}");
    ended(ask("deposit", json!({"amount": "20"})).await).await;
    assert_eq!(
        (balance(&stage, &wallet, &place).await.as_str(), balance(&stage, &wallet, "").await.as_str()),
        ("50", "0")
    );
    let out = json!({"amount": "1", "destination_chain": "base"});
    let refused = stage.post(&wallet, "/gateway/withdraw", out.clone()).await;
    check_refusal(&refused, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    // Without an address it comes to where it left, and is no deposit.
    ended(stage.make(&wallet, &format!("{place}/gateway/withdraw"), with(out.clone(), json!({"amount": "12"}))).await)
        .await;
    assert_eq!(stage.available(&wallet, &place, "USDC").await, "12");
    assert_eq!(ask("withdraw/network-fee", out.clone()).await["networkFee"], "0");
    ended(ask("withdraw", with(out, json!({"destination_address": OUTSIDE}))).await).await;
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "1");
    let alone = stage.ask_as(&wallet.key, "GET", &format!("{own}/balance"), None).await;
    assert_eq!((&alone["gateway_balance"], &alone["held"]), (&json!("37"), &json!("0")));
    let deposits = stage.list(&wallet, &format!("{place}/transactions?type=DEPOSIT&assets=USDC")).await;
    assert_eq!(deposits["meta"]["totalItems"], 1);
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_answers_on_the_real_products_paths_for_all_wallets() {
    let stage = Stage::open().await.covers(&[
        "gateway-deposit-fee answers",
        "gateway-withdraw-fee answers",
        "gateway-deposit-of-wallet answers",
        "gateway-deposit-fee-of-wallet answers",
        "gateway-withdraw-of-key answers",
        "gateway-withdraw-fee-of-key answers",
        "read-whole-gateway-balance answers",
        "list-gateway-wallets answers",
    ]);
    let base = filled(&stage, "50").await;
    let there = stage.wallet_with("arbitrum", "USDC", "10").await;
    let tron = stage.wallet("tron").await;
    let account = stage.account.clone();
    let fee = stage.make(&base, "/gateway/deposit/network-fee", json!({"amount": "1"})).await;
    let path = format!("/v1/gateway/deposit/{}", there.id);
    let same = stage.ask_as(&account, "POST", &format!("{path}/network-fee"), Some(json!({"amount": "1"}))).await;
    assert_eq!((&fee["symbol"], &same["symbol"], &same["transactionFee"]), (&json!("ETH"), &json!("ETH"), &json!("0")));
    let made = stage.ask_as(&account, "POST", &path, Some(json!({"amount": "4"}))).await;
    stage.until(&there, &text(&made, "id"), "SUCCESS").await;
    assert_eq!(stage.told_of(&there, "gateway.deposit.success", &text(&made, "id")).await["source_chain"], "arbitrum");
    // The account's key sees the sum of its wallets, a wallet's key its own.
    let sum = async |key: &str| text(&stage.ask_as(key, "GET", "/v1/gateway/balance", None).await, "gateway_balance");
    assert_eq!([sum(&account).await, sum(&base.key).await, sum(&tron.key).await], ["54", "50", "0"]);
    let wallets = stage.ask_as(&account, "GET", "/v1/gateway/wallets", None).await;
    let ids: Vec<&Value> = wallets.as_array().unwrap().iter().map(|it| &it["wallet_id"]).collect();
    assert_eq!(ids, [&json!(base.id), &json!(there.id)], "none on Tron");
    // The blockchain is that of the asset; what arrives at a wallet of ours is booked once.
    let out = json!({"assetId": stage.asset(&there, "USDC").await, "amount": "6"});
    let free = stage.ask_as(&base.key, "POST", "/v1/gateway/withdraw/network-fee", Some(out.clone())).await;
    assert_eq!(free["networkFee"], "0");
    let shown = stage
        .make(&base, "/gateway/withdraw/network-fee", json!({"amount": "6", "destination_chain": "arbitrum"}))
        .await;
    assert_eq!(shown["symbol"], free["symbol"]);
    let made = stage.ask_as(&base.key, "POST", "/v1/gateway/withdraw", Some(out)).await;
    stage.until(&base, &text(&made, "id"), "SUCCESS").await;
    stage.agrees(&there).await;
    assert_eq!(stage.available(&there, "", "USDC").await, "12");
    assert_eq!([sum(&account).await, sum(&base.key).await], ["48", "44"]);
    stage.agrees(&base).await;
    stage.finish().await;
}
