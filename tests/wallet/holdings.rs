//! What there is on which blockchain, what a wallet has of it, and whether the books say what the blockchain says.

use serde_json::{Value, json};
use wallet::rules::{asset, blockchain::Blockchain};

use super::{
    acts::{check_invalid, check_refusal, text},
    look::{column, meta, whole},
    stage::{OUTSIDE, Stage},
};
use crate::support::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn all_blockchains_and_stablecoins_of_the_specification_are_listed() {
    let stage = Stage::open().await.covers(&["list-blockchains answers", "list-assets answers"]);
    let read = async |key: &str, path: &str| whole(&stage.call(key, "GET", path, None).await.expect(200));
    let chains = read(&stage.account, "/v1/blockchains").await;
    let slugs = Blockchain::ALL.map(|chain| json!(chain.slug()));
    assert_eq!(column(&chains, "blockchain_slug"), slugs);
    assert!(column(&chains, "isActive").iter().all(|is_active| *is_active == true), "{chains}");
    let assets = read(&stage.account, "/v1/assets").await;
    let everything = Blockchain::ALL.into_iter().flat_map(asset::on).count() as u64;
    assert_eq!(meta(&assets), [everything, everything.min(100), 100, everything.div_ceil(100), 1]);
    let symbols = column(&assets, "symbol");
    for coin in &asset::STABLECOINS {
        assert!(symbols.contains(&json!(coin.symbol)), "{}", coin.symbol);
    }
    let base = column(&chains, "blockchain_id")[3].as_str().unwrap().to_owned();
    for (query, found) in [
        ("symbol=usdc&blockchain=base".to_owned(), 1),
        (format!("blockchain_id={base}&symbol=DAI"), 1),
        ("symbol=USDT&blockchain=base".to_owned(), 0),
        ("network=mainnet".to_owned(), 0),
    ] {
        assert_eq!(meta(&read(&stage.account, &format!("/v1/assets?{query}")).await)[0], found, "{query}");
    }
    assert_eq!(meta(&read(&stage.account, "/v1/blockchains?limit=4&page=4").await), [15, 3, 4, 4, 4]);
    let (live, _) = stage.key_of("acme", "live").await;
    let ids = [column(&chains, "blockchain_id"), column(&read(&live, "/v1/blockchains").await, "blockchain_id")];
    assert!(ids[0].iter().all(|id| !ids[1].contains(id)), "each environment has its own");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_that_is_switched_off_is_not_sent_and_still_arrives() {
    let stage = Stage::open().await.covers(&[
        "list-wallet-assets answers",
        "add-wallet-asset answers",
        "update-wallet-asset answers",
        "remove-wallet-asset answers",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "5").await;
    let usdc = stage.asset(&wallet, "USDC").await;
    let place = format!("/assets/{usdc}");
    assert_eq!(stage.ask(&wallet, "DELETE", &place, None).await["isActive"], false);
    let withdrawal = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    check_invalid(&stage.send(&wallet, "POST", "/withdraw", Some(withdrawal.clone())).await, "asset_id");
    stage.deposit(&wallet, "base", &wallet.address, ("USDC", "2")).await;
    let balances = stage.list(&wallet, "/balances").await;
    assert!(column(&balances, "asset_id").iter().all(|id| *id != usdc.as_str()), "{balances}");
    let shown = stage.list(&wallet, "/assets").await;
    let row = shown["data"].as_array().unwrap().iter().find(|row| row["id"] == usdc.as_str()).unwrap();
    assert_eq!((&row["isActive"], &row["asset"]["decimals"]), (&json!(false), &json!(6)));

    check_invalid(&stage.send(&wallet, "PATCH", &place, Some(json!({}))).await, "is_active");
    check_invalid(&stage.send(&wallet, "POST", "/assets", Some(json!({"asset_id": "dollars"}))).await, "asset_id");
    let nothing = stage.send(&wallet, "DELETE", "/assets/dollars", None).await;
    check_refusal(&nothing, (404, "SERVICE_NOT_FOUND", ""));
    let on = stage.send(&wallet, "POST", "/assets", Some(json!({"asset_id": usdc}))).await;
    assert_eq!(on.expect(201).json()["data"]["isActive"], true);
    assert_eq!(stage.ask(&wallet, "PATCH", &place, Some(json!({"is_active": false}))).await["isActive"], false);
    assert_eq!(stage.ask(&wallet, "PATCH", &place, Some(json!({"isActive": true}))).await["isActive"], true);
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["7", "0", "0"]);
    let sent = stage.make(&wallet, "/withdraw", withdrawal).await;
    stage.until(&wallet, &text(&sent, "id"), "SUCCESS").await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_says_what_can_be_spent_and_the_blockchain_is_asked_whether_it_is_there() {
    let stage = Stage::open().await.covers(&[
        "read-balance answers",
        "list-balances answers",
        "reconcile-wallet answers",
        "code SERVICE_SERVER_ERROR",
    ]);
    let wallet = stage.wallet("polygon").await;
    let usdc = stage.asset(&wallet, "USDC").await;
    stage.give("polygon", &wallet.address, "USDC", "8").await;
    stage.told(&wallet, "deposit.processing").await;
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["0", "0", "8"], "not final yet");
    let coming = stage.get(&wallet, "/reconciliation").await;
    let row = |report: &Value| {
        report["assets"].as_array().unwrap().iter().find(|it| it["asset_id"] == usdc.as_str()).unwrap().clone()
    };
    assert_eq!((&row(&coming)["pending"], &row(&coming)["difference"]), (&json!("8"), &json!("0")));
    stage.told(&wallet, "deposit.success").await;
    let one = stage.get(&wallet, &format!("/balance?assetId={usdc}")).await;
    assert_eq!((&one["balance"], &one["convertedBalance"], &one["asset_id"]), (&json!("8"), &json!("8"), &json!(usdc)));
    check_invalid(&stage.send(&wallet, "GET", "/balance?asset_id=dollars", None).await, "asset_id");

    stage.control("polygon", json!({"kind": "silent", "silence": "lost"})).await;
    let silent = stage.send(&wallet, "GET", "/reconciliation", None).await;
    check_refusal(&silent, (503, "SERVICE_SERVER_ERROR", ""));
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["8", "0", "0"], "the books need no node");
    stage.control("polygon", json!({"kind": "off"})).await;

    // What has left and is not final yet shows as a difference.
    stage.control("polygon", json!({"kind": "stick", "count": 1})).await;
    let body = json!({"asset_id": usdc, "amount": "3", "destination_address": OUTSIDE});
    let sent = text(&stage.make(&wallet, "/withdraw", body).await, "id");
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["5", "3", "0"]);
    stage.control("polygon", json!({"kind": "release"})).await;
    eventually("money that has left and is not settled", async || {
        let found = row(&stage.get(&wallet, "/reconciliation").await);
        (found["difference"] == "-3" && found["chain"] == "5" && found["ledger"] == "8").then_some(())
    })
    .await;
    stage.until(&wallet, &sent, "SUCCESS").await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
