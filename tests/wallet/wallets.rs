//! Master wallets: one for each blockchain, its keys, its settings, its environment.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    acts::{check_fields, check_invalid, check_refusal, text, with},
    look::{column, meta, whole},
    stage::{Stage, Wallet},
};
use crate::support::eventually;

fn wish(stage: &Stage, blockchain: &str) -> Value {
    json!({"blockchain": blockchain, "webhook_url": stage.receiver.url()})
}

/// Where nobody listens: names below .invalid lead nowhere.
const LIVE_HOOK: &str = "https://hooks.invalid/wallet";

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_is_made_once_for_each_blockchain_of_an_account_and_environment() {
    let stage = Stage::open().await.covers(&[
        "create-wallet answers",
        "list-wallets answers",
        "code SERVICE_WALLET_EXISTS",
        "limit: one wallet for each blockchain and account",
    ]);
    let create = async |key: &str, body: Value| stage.call(key, "POST", "/v1/wallets", Some(body)).await;
    let storm = (0..8).map(|_| create(&stage.account, wish(&stage, "base")));
    let (made, others): (Vec<_>, Vec<_>) = join_all(storm).await.into_iter().partition(|answer| answer.status == 201);
    assert_eq!((made.len(), others.len()), (1, 7));
    for answer in &others {
        check_refusal(answer, (409, "SERVICE_WALLET_EXISTS", "blockchain"));
        assert_eq!(whole(answer)["retryable"], false);
    }
    let (beta, _) = stage.key_of("beta", "test").await;
    let (live, _) = stage.key_of("acme", "live").await;
    create(&beta, wish(&stage, "base")).await.check(201);
    create(&live, json!({"blockchain": "base", "webhook_url": LIVE_HOOK})).await.check(201);
    create(&stage.account, wish(&stage, "tron")).await.check(201);
    for (key, blockchains) in
        [(&stage.account, json!(["base", "tron"])), (&beta, json!(["base"])), (&live, json!(["base"]))]
    {
        let list = whole(&stage.call(key, "GET", "/v1/wallets", None).await);
        assert_eq!(json!(column(&list, "blockchain")), blockchains);
        assert_eq!(meta(&list)[0], blockchains.as_array().unwrap().len() as u64);
    }
    stage.seen.note("limit: one wallet for each blockchain and account");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_wallet_has_the_defaults_of_the_specification_and_is_told_without_its_key() {
    let stage = Stage::open().await.covers(&[
        "create-wallet answers",
        "read-wallet answers",
        "event wallet.created",
        "default: wallet_status is ACTIVE",
        "default: disable_auto_sweep is false",
        "default: the threshold of auto-sweep is 0",
        "default: enable_gasless_withdraw is false",
        "default: show_private_key is false",
    ]);
    let body = with(wish(&stage, "base"), json!({"network": "testnet", "name": "Shop"}));
    let made = whole(&stage.call(&stage.account, "POST", "/v1/wallets", Some(body)).await.expect(201))["data"].clone();
    let wallet = Wallet { id: text(&made, "wallet_id"), address: text(&made, "address"), key: text(&made, "api_key") };
    let shown = stage.get(&wallet, "").await;
    for record in [&made, &shown] {
        check_fields(record, "wallet_id, blockchain, network, webhook_url, address, derivation_path, blockchain_id");
        let expected = json!({
            "blockchain": "base", "blockchain_slug": "base", "network": "testnet", "webhook_url": stage.receiver.url(),
            "is_evm_compatible": true, "token_standard": "ERC20", "wallet_status": "ACTIVE", "name": "Shop",
            "disable_auto_sweep": false, "enable_gasless_withdraw": false,
        });
        assert_eq!(with(record.clone(), expected), *record);
        assert_eq!(record["configurations"]["autoSweeping"], json!({"isActive": true, "threshold": "0"}));
        assert_eq!(record["configurations"]["withdrawal"]["gasless"]["isActive"], false);
        assert!(record.get("private_key").or(record.get("privateKey")).is_none());
    }
    for row in ["wallet_status is ACTIVE", "disable_auto_sweep is false", "the threshold of auto-sweep is 0"] {
        stage.seen.note(&format!("default: {row}"));
    }
    for row in ["enable_gasless_withdraw is false", "show_private_key is false"] {
        stage.seen.note(&format!("default: {row}"));
    }
    assert_eq!(shown.get("api_key"), None, "a key is shown once");
    let told = stage.told(&wallet, "wallet.created").await;
    check_fields(&told, "wallet_id, blockchain, network");
    assert!(!told.to_string().contains(&wallet.key));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_key_is_shown_to_who_asks_for_it_where_the_operator_allows_it() {
    let stage = Stage::open_section(&|section| section.replacen("grants", "show-private-keys = true\ngrants", 1)).await;
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let path = format!("/addresses/{}", address.id);
    let asked = format!("{path}?show_private_key=true");
    let keys = [stage.get(&wallet, "?show_private_key=true").await, stage.get(&wallet, &asked).await]
        .map(|shown| text(&shown, "private_key"));
    assert!(keys.iter().all(|key| key.len() == 66 && key.starts_with("0x")) && keys[0] != keys[1]);
    assert_eq!(stage.get(&wallet, &path).await.get("private_key"), None, "nobody has asked");
    let made = stage.make(&wallet, "/addresses", json!({"show_private_key": true})).await;
    let told = stage.told_where(&wallet, "address.created", ("address_id", &text(&made, "address_id"))).await;
    assert!(made["private_key"].is_string() && !told.to_string().contains(made["private_key"].as_str().unwrap()));
    stage.finish().await;

    let stage = Stage::open().await.covers(&["default: show_private_key is false"]);
    let wallet = stage.wallet("base").await;
    for path in ["", "/addresses"] {
        let (method, path, body) = match path {
            "" => ("GET", "?show_private_key=true", None),
            path => ("POST", path, Some(json!({"show_private_key": true}))),
        };
        check_refusal(&stage.send(&wallet, method, path, body).await, (403, "SERVICE_VALIDATION_ERROR", ""));
    }
    assert_eq!(meta(&stage.list(&wallet, "/addresses").await)[0], 0, "a refused address was not made");
    let odd = stage.send(&wallet, "GET", "?show_private_key=maybe", None).await;
    check_invalid(&odd, "show_private_key");
    stage.seen.note("default: show_private_key is false");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_keys_of_a_wallet_are_good_and_the_newest_signs() {
    let stage = Stage::open().await.covers(&["rotate-wallet-key answers", "code SERVICE_AUTH_FAILED"]);
    let first = stage.wallet("base").await;
    let (path, rotation) = (format!("/v1/wallets/{}", first.id), format!("/v1/wallets/{}/rotate-key", first.id));
    check_refusal(&stage.send(&first, "POST", "/rotate-key", None).await, (403, "SERVICE_AUTH_FAILED", ""));
    check_refusal(
        &stage.call(&first.key, "POST", "/v1/wallets", Some(wish(&stage, "tron"))).await,
        (403, "SERVICE_AUTH_FAILED", ""),
    );
    let mut keys = vec![first.key.clone()];
    for _ in 0..2 {
        let rotated = whole(&stage.call(&stage.account, "POST", &rotation, None).await.expect(200));
        keys.push(text(&rotated["data"], "api_key"));
    }
    for (key, status) in keys.iter().zip([401, 200, 200]) {
        stage.call(key, "GET", &path, None).await.check(status);
    }
    let newest = Wallet { key: keys[2].clone(), ..first };
    let address = stage.address(&newest, json!({})).await;
    stage.told_where(&newest, "address.created", ("address_id", &address.id)).await;
    let list = whole(&stage.call(&newest.key, "GET", "/v1/wallets", None).await);
    assert_eq!(column(&list, "wallet_id"), [json!(newest.id)], "a wallet's key shows its own alone");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_changed_of_a_wallet_holds_and_what_is_wrong_changes_nothing() {
    let stage = Stage::open().await.covers(&["update-wallet answers", "code SERVICE_VALIDATION_ERROR"]);
    let wallet = stage.wallet("base").await;
    let elsewhere = stage.receiver.url().replace("/hook", "/elsewhere");
    let gasless = json!({"isActive": true, "operator": "lte", "threshold": "12.5"});
    let changes = json!({
        "name": "New", "description": "Of the shop", "webhook_url": elsewhere,
        "configurations": {"autoSweeping": {"isActive": false, "threshold": "7"}, "withdrawal": {"gasless": gasless}},
    });
    let changed = whole(&stage.send(&wallet, "PATCH", "", Some(changes)).await.expect(200))["data"].clone();
    assert_eq!((&changed["name"], &changed["description"]), (&json!("New"), &json!("Of the shop")));
    assert_eq!((&changed["disable_auto_sweep"], &changed["enable_gasless_withdraw"]), (&json!(true), &json!(true)));
    assert_eq!(changed["configurations"]["withdrawal"]["gasless"], gasless);
    for (body, fields) in [
        (json!({"name": "x".repeat(129)}), "name"),
        (json!({"name": "a\u{0}", "webhook_url": "hook"}), "name webhook_url"),
        (
            json!({"disable_auto_sweep": "yes", "enable_gasless_withdraw": 1}),
            "disable_auto_sweep enable_gasless_withdraw",
        ),
        (json!({"configurations": {"autoSweeping": {"threshold": "-1"}}}), "configurations.autoSweeping.threshold"),
        (
            json!({"configurations": {"withdrawal": {"gasless": {"operator": "ne"}}}}),
            "configurations.withdrawal.gasless.operator",
        ),
    ] {
        check_invalid(&stage.send(&wallet, "PATCH", "", Some(body)).await, fields);
    }
    let shown = stage.get(&wallet, "").await;
    assert_eq!((&shown["name"], &shown["webhook_url"]), (&json!("New"), &json!(elsewhere)));
    stage.address(&wallet, json!({})).await;
    eventually("a webhook at the new place", async || {
        stage.receiver.received().into_iter().find(|it| it.line == "POST /elsewhere").map(|it| it.json())
    })
    .await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_wallet_is_told_over_https_and_has_coins_only_when_somebody_sends_some() {
    let stage = Stage::open().await.covers(&["limit: webhooks of live are https", "code SERVICE_INSUFFICIENT_GAS"]);
    let (live, _) = stage.key_of("acme", "live").await;
    let make = async |body: Value| stage.call(&live, "POST", "/v1/wallets", Some(body)).await;
    check_invalid(&make(wish(&stage, "base")).await, "webhook_url");
    let wrong = json!({"blockchain": "bitcoin", "webhook_url": "hook", "network": "testnet"});
    check_invalid(&make(wrong).await, "blockchain network webhook_url");
    // Nobody gives it coins.
    let control = async |control: Value| {
        let body = json!({"blockchain": "base", "network": "main", "control": control});
        stage.host.operator().post("/v1/chains/control", body).await.check(200);
    };
    control(json!({"kind": "silent", "silence": "lost"})).await;
    let made = make(json!({"blockchain": "base", "webhook_url": LIVE_HOOK})).await.expect(201).json()["data"].clone();
    let wallet = Wallet { id: text(&made, "wallet_id"), address: text(&made, "address"), key: text(&made, "api_key") };
    assert_eq!((&made["network"], &made["blockchainInfo"]["networkName"]), (&json!("mainnet"), &json!("Mainnet")));
    check_invalid(
        &stage.send(&wallet, "PATCH", "", Some(json!({"webhook_url": stage.receiver.url()}))).await,
        "webhook_url",
    );
    stage.seen.note("limit: webhooks of live are https");
    let poor = stage.send(&wallet, "POST", "/addresses", Some(json!({}))).await;
    check_refusal(&poor, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    control(json!({"kind": "off"})).await;
    // The same address on the test network is another place.
    stage.give("base", &wallet.address, "USDC", "5").await;
    control(json!({"kind": "give", "address": wallet.address, "amount": "1"})).await;
    eventually("coins of the main network", async || {
        stage.holds(&wallet, "", "ETH").await[0].starts_with('1').then_some(())
    })
    .await;
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["0", "0", "0"]);
    stage.address(&wallet, json!({})).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
