//! Auto-settlement: which deposits a rule takes, what it makes of them, and whose rules count.

use serde_json::{Value, json};

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::stage::{Address, OUTSIDE, Stage, Wallet};
use crate::support::eventually;

/// USDC of Base to somebody outside.
fn rule(more: Value) -> Value {
    let body = json!({"settlement_rule_name": "To the bank", "source": {"assets": ["USDC"]},
        "destination": {"blockchain": "base", "asset": "USDC", "address": OUTSIDE}});
    with(body, more)
}

fn into_dai(address: &str) -> Value {
    json!({"destination": {"blockchain": "base", "asset": "DAI", "address": address}})
}

fn into_gateway() -> Value {
    json!({"is_gateway": true, "destination": {}})
}

/// Below the path of a wallet (""), or of an address under it.
async fn add(stage: &Stage, wallet: &Wallet, place: &str, more: Value) -> Value {
    stage.make(wallet, &format!("{place}/auto-settlements/rules"), rule(more)).await
}

fn place(address: &Address) -> String {
    format!("/addresses/{}", address.id)
}

/// What rules make of deposits: in no list of kinds but these.
const KINDS: [&str; 3] = ["WITHDRAW", "SWAP", "GATEWAY_DEPOSIT"];

/// What a wallet has sent, swapped or put into the gateway, the newest first.
async fn settled(stage: &Stage, wallet: &Wallet) -> Vec<Value> {
    let all = stage.list(wallet, "/transactions").await["data"].clone();
    all.as_array().unwrap().iter().filter(|it| KINDS.iter().any(|kind| it["type"] == *kind)).cloned().collect()
}

/// The one transaction that a rule has made, once it is over.
async fn only(stage: &Stage, wallet: &Wallet, count: usize) -> Value {
    let made =
        eventually("a settlement", async || Some(settled(stage, wallet).await).filter(|made| made.len() == count));
    let made = made.await.remove(0);
    stage.until(wallet, &text(&made, "id"), "SUCCESS").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_takes_what_lies_within_its_thresholds_and_the_rest_is_swept() {
    let stage = Stage::open().await.covers(&[
        "create-settlement-rule answers",
        "event withdraw.success",
        "event deposit.swept.success",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let source = json!({"source": {"assets": ["USDC"], "min_amount": "10", "max_amount": "20"}});
    add(&stage, &wallet, "", source).await;
    let swept = async |amount: &str| {
        let hash = stage.deposit(&wallet, "base", &address.address, ("USDC", amount)).await;
        eventually("a sweep", async || {
            let names = stage.receiver.received().into_iter().map(|it| it.json());
            let mut swept = names.filter(|it| it["event"] == "deposit.swept.success" && it["data"]["amount"] == amount);
            swept.next()
        })
        .await;
        hash
    };
    // Just below and just above.
    swept("9.999999").await;
    swept("20.000001").await;
    assert!(settled(&stage, &wallet).await.is_empty());
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "30");
    // Both limits belong to it.
    for (count, amount, sum) in [(1, "10", "10"), (2, "20", "30")] {
        stage.deposit(&wallet, "base", &address.address, ("USDC", amount)).await;
        let made = only(&stage, &wallet, count).await;
        assert_eq!(
            (&made["type"], &made["amount"], &made["destination_address"]),
            (&json!("WITHDRAW"), &json!(amount), &json!(OUTSIDE))
        );
        stage.told_of(&wallet, "withdraw.success", &text(&made, "id")).await;
        assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, sum);
    }
    // Another asset is none of its business.
    stage.deposit(&wallet, "base", &address.address, ("DAI", "15")).await;
    stage.told_where(&wallet, "deposit.swept.success", ("amount", "15")).await;
    assert_eq!(settled(&stage, &wallet).await.len(), 2);
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_swaps_and_its_webhook_names_both_assets_twice() {
    let stage = Stage::open().await.covers(&["create-settlement-rule answers", "event swap.success"]);
    let wallet = stage.wallet("base").await;
    add(&stage, &wallet, "", with(into_dai(&wallet.address), json!({"settlement_order": "NO_SLIPPAGE"}))).await;
    stage.deposit(&wallet, "base", &wallet.address, ("USDC", "100")).await;
    let made = only(&stage, &wallet, 1).await;
    let told = stage.told_of(&wallet, "swap.success", &text(&made, "id")).await;
    check_fields(&told, "wallet_id, from_asset, to_asset, amount, source_asset, destination_asset");
    let named = ["from_asset", "to_asset", "source_asset", "destination_asset"].map(|field| text(&told, field));
    assert_eq!(named, ["USDC", "DAI", "USDC", "DAI"]);
    assert_eq!((&told["amount"], &made["toAmount"]), (&json!("100"), &json!("99")));
    // What it has brought is no deposit, so no rule takes it again.
    assert_eq!(stage.available(&wallet, "", "DAI").await, "99");
    assert_eq!(stage.list(&wallet, "/transactions?assets=DAI").await["meta"]["totalItems"], 0);
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_an_address_replace_those_of_its_wallet_also_while_they_are_off() {
    let stage = Stage::open().await.covers(&[
        "create-settlement-rule-of-address answers",
        "update-settlement-rule-of-address answers",
        "update-auto-settlement-of-address answers",
        "delete-settlement-rule-of-address answers",
        "event gateway.deposit.success",
    ]);
    let wallet = stage.wallet("base").await;
    let quiet = json!({"disable_auto_sweep": true});
    let [own, plain] = [stage.address(&wallet, quiet.clone()).await, stage.address(&wallet, quiet).await];
    let receive = async |address: &Address, amount: &str| {
        stage.deposit(&wallet, "base", &address.address, ("USDC", amount)).await;
    };
    add(&stage, &wallet, "", json!({})).await;
    let made = add(&stage, &wallet, &place(&own), into_gateway()).await;
    let rules = format!("{}/auto-settlements/rules/{}", place(&own), text(&made, "id"));
    receive(&own, "5").await;
    let settlement = only(&stage, &wallet, 1).await;
    assert_eq!((&settlement["type"], &settlement["address_id"]), (&json!("GATEWAY_DEPOSIT"), &json!(own.id)));
    // Its rule is off, then all of its rules: whoever switches them off wants nothing settled there.
    stage.ask(&wallet, "PATCH", &rules, Some(json!({"is_active": false}))).await;
    receive(&own, "6").await;
    stage.ask(&wallet, "PATCH", &rules, Some(json!({"is_active": true}))).await;
    let switch = format!("{}/auto-settlements", place(&own));
    stage.ask(&wallet, "PATCH", &switch, Some(json!({"is_active": false}))).await;
    receive(&own, "7").await;
    // An address without rules has those of its wallet.
    receive(&plain, "8").await;
    let settlement = only(&stage, &wallet, 2).await;
    assert_eq!(
        (&settlement["type"], &settlement["amount"], &settlement["address_id"]),
        (&json!("WITHDRAW"), &json!("8"), &json!(plain.id))
    );
    // And so has one whose last rule is gone.
    stage.ask(&wallet, "DELETE", &rules, None).await;
    receive(&own, "9").await;
    let settlement = only(&stage, &wallet, 3).await;
    assert_eq!((&settlement["amount"], &settlement["address_id"]), (&json!("9"), &json!(own.id)));
    assert_eq!(stage.available(&wallet, &place(&own), "USDC").await, "13", "what came meanwhile rests");
    for address in [&own, &plain] {
        stage.agrees_at(&wallet, address).await;
    }
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_counts_on_its_own_blockchain_alone() {
    let stage = Stage::open().await.covers(&["create-settlement-rule* answers", "event withdraw.success"]);
    let (base, there) = (stage.wallet("base").await, stage.wallet("arbitrum").await);
    let address = stage.address(&base, json!({"disable_auto_sweep": true})).await;
    add(&stage, &base, "", json!({})).await;
    add(&stage, &base, &place(&address), json!({"is_active": false})).await;
    let outside = json!({"destination": {"blockchain": "arbitrum", "asset": "USDC", "address": OUTSIDE}});
    // Nothing of Base is settled on the other blockchain.
    stage.deposit(&there, "arbitrum", &there.address, ("USDC", "4")).await;
    stage.agrees(&there).await;
    assert!(settled(&stage, &there).await.is_empty());
    add(&stage, &there, "", outside).await;
    // The address has rules on Base, where they are off; on the other blockchain those of that wallet count.
    stage.deposit(&base, "base", &address.address, ("USDC", "5")).await;
    stage.deposit(&there, "arbitrum", &address.address, ("USDC", "6")).await;
    let made = only(&stage, &there, 1).await;
    assert_eq!((&made["amount"], &made["wallet_id"]), (&json!("6"), &json!(there.id)));
    assert_eq!(stage.on_chain("arbitrum", OUTSIDE, "USDC").await, "6");
    assert!(settled(&stage, &base).await.is_empty());
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "0");
    stage.agrees_at(&base, &address).await;
    stage.agrees(&base).await;
    stage.agrees(&there).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_cannot_begin_is_told_and_the_money_rests() {
    let stage = Stage::open().await.covers(&["event swap.failed", "code SWAP_FAILED"]);
    let wallet = stage.wallet("base").await;
    add(&stage, &wallet, "", into_dai(&wallet.address)).await;
    // The provider takes its coins and sends them back.
    stage.deposit(&wallet, "base", &wallet.address, ("USDC", "30.13")).await;
    let made = eventually("a settlement", async || settled(&stage, &wallet).await.pop()).await;
    let id = text(&made, "id");
    stage.until(&wallet, &id, "FAILED").await;
    let told = stage.told_of(&wallet, "swap.failed", &id).await;
    check_fields(&told, "wallet_id, error_code");
    assert_eq!(told["error_code"], "SWAP_FAILED");
    stage.agrees(&wallet).await;
    assert_eq!(stage.available(&wallet, "", "USDC").await, "30.13");
    assert_eq!(settled(&stage, &wallet).await.len(), 1, "what comes back meets no rule");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_listed_read_changed_and_removed() {
    let stage = Stage::open().await.covers(&["*-auto-settlement* answers", "*-settlement-rule* answers"]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    for place in [String::new(), place(&address)] {
        let root = format!("{place}/auto-settlements");
        assert_eq!(stage.get(&wallet, &root).await, json!({"is_active": false, "isActive": false, "rules": []}));
        let made = add(&stage, &wallet, &place, json!({"slippage_tolerance": "0.5", "order": "CHEAPEST"})).await;
        check_fields(&made, "id, settlement_rule_name, slippage_tolerance, settlement_order, source, destination");
        let path = format!("{root}/rules/{}", text(&made, "id"));
        let all = stage.get(&wallet, &root).await;
        assert_eq!(
            (&all["is_active"], &all["rules"][0]["id"]),
            (&json!(true), &made["id"]),
            "the first one switches it on"
        );
        let changed = stage
            .ask(&wallet, "PATCH", &path, Some(json!({"source": {"assets": ["USDC", "DAI"], "max_amount": "50"}})))
            .await;
        assert_eq!(
            changed["source"],
            json!({"assets": ["USDC", "DAI"], "minAmount": "-1", "maxAmount": "50", "blockchain": "base"})
        );
        let read = stage.get(&wallet, &path).await;
        assert_eq!(
            (&read["settlement_rule_name"], &read["slippage_tolerance"], &read["settlement_order"]),
            (&json!("To the bank"), &json!("0.5"), &json!("CHEAPEST"))
        );
        let second = add(&stage, &wallet, &place, into_gateway()).await;
        assert_eq!((&second["isGateway"], &second["destination"]), (&json!(true), &json!({})));
        assert_eq!(stage.list(&wallet, &format!("{root}/rules")).await["meta"]["totalItems"], 2);
        let off = stage.ask(&wallet, "PATCH", &root, Some(json!({"is_active": false}))).await;
        assert_eq!(off["is_active"], false);
        stage.ask(&wallet, "DELETE", &path, None).await;
        let gone = stage.call(&wallet.key, "GET", &format!("/v1/wallets/{}{path}", wallet.id), None).await;
        check_refusal(&gone, (404, "SERVICE_NOT_FOUND", ""));
    }
    for (more, fields) in [
        (json!({"settlement_rule_name": null}), "settlement_rule_name"),
        (json!({"source": {"assets": ["BTC"]}}), "source.assets"),
        (json!({"source": {"assets": ["USDC"], "min_amount": "5", "max_amount": "4"}}), "source.max_amount"),
        (json!({"destination": {"blockchain": "tron", "asset": "USDT", "address": OUTSIDE}}), "destination.address"),
        (with(into_gateway(), json!({"source": {"assets": ["DAI"]}})), "source.assets"),
        (json!({"settlement_order": "BEST", "slippage_tolerance": "101"}), "settlement_order slippage_tolerance"),
    ] {
        check_invalid(&stage.post(&wallet, "/auto-settlements/rules", rule(more)).await, fields);
    }
    let listed = json!({"destination": {"blockchain": "base", "asset": "USDC", "address": "0x0000000000000000000000000000000000000bad"}});
    let refused = stage.post(&wallet, "/auto-settlements/rules", rule(listed)).await;
    check_refusal(&refused, (403, "SERVICE_VALIDATION_ERROR", "destination.address"));
    stage.finish().await;
}
