//! Dedicated addresses, and those of others that are watched: what they are, and what arrives there.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    acts::{check_fields, check_invalid, check_refusal, text, with},
    look::{column, meta, outside},
    stage::{Address, OUTSIDE, Stage},
};
use crate::support::eventually;

/// Stands on the list that the sandbox has out of the box.
const SANCTIONED: &str = "0x0000000000000000000000000000000000000Bad";

#[tokio::test(flavor = "multi_thread")]
async fn a_dedicated_address_is_told_screened_shown_and_changed() {
    let stage = Stage::open().await.covers(&[
        "create-address answers",
        "read-address answers",
        "update-address answers",
        "event address.created",
        "default: disable_auto_sweep is false",
        "default: enable_gasless_withdraw is false",
    ]);
    let wallet = stage.wallet("base").await;
    let made = stage.make(&wallet, "/addresses", json!({"name": "Ann", "metadata": {"user": [7, null]}})).await;
    let id = text(&made, "address_id");
    check_fields(&made, "wallet_id, address_id, address, address_name, blockchain, blockchain_id, derivation_path");
    let expected = json!({
        "wallet_id": wallet.id, "address_name": "Ann", "metadata": {"user": [7, null]}, "blockchain": "base",
        "network": "testnet", "disable_auto_sweep": false, "enable_gasless_withdraw": false, "type": "INTERNAL",
        "is_evm_compatible": true, "isActive": true,
    });
    assert_eq!(with(made.clone(), expected), made);
    assert_ne!((&made["address"], &made["derivation_path"]), (&json!(wallet.address), &Value::Null));
    stage.seen.note("default: disable_auto_sweep is false");
    stage.seen.note("default: enable_gasless_withdraw is false");
    let told = stage.told_where(&wallet, "address.created", ("address_id", &id)).await;
    check_fields(&told, "wallet_id, address_id, address, blockchain");
    assert_eq!(told["address"], made["address"]);

    let path = format!("/addresses/{id}");
    let screened = eventually("a look at the sanctions lists", async || {
        let shown = stage.get(&wallet, &path).await;
        (shown["configurations"]["aml"]["status"] == "success").then_some(shown)
    });
    assert_eq!(screened.await["configurations"]["aml"]["version"], "sandbox 1");
    let changes = json!({"address_name": "Bob", "enable_gasless_withdraw": true, "is_active": false, "metadata": 1});
    let changed = stage.ask(&wallet, "PATCH", &path, Some(changes)).await;
    let expected = json!({
        "address_name": "Bob", "enable_gasless_withdraw": true, "isActive": false, "metadata": 1,
        "address": made["address"], "disable_auto_sweep": false,
    });
    assert_eq!(with(changed.clone(), expected), changed);
    for (body, fields) in [
        (json!({"address_name": "x".repeat(129), "metadata": "x".repeat(4_097)}), "address_name metadata"),
        (json!({"name": 7, "disable_auto_sweep": "no", "is_active": 0}), "address_name disable_auto_sweep is_active"),
    ] {
        check_invalid(&stage.send(&wallet, "PATCH", &path, Some(body)).await, fields);
    }
    assert_eq!(stage.get(&wallet, &path).await["address_name"], "Bob");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_come_in_pages_of_a_hundred_and_every_one_is_another() {
    let stage = Stage::open().await.covers(&[
        "list-addresses answers",
        "create-address answers",
        "default: the page is 1",
        "default: a page has 100 rows",
    ]);
    let wallet = stage.wallet("base").await;
    for _ in 0..7 {
        join_all((0..15).map(|_| stage.address(&wallet, json!({})))).await;
    }
    let first = stage.list(&wallet, "/addresses").await;
    assert_eq!(meta(&first), [105, 100, 100, 2, 1]);
    stage.seen.note("default: the page is 1");
    stage.seen.note("default: a page has 100 rows");
    let second = stage.list(&wallet, "/addresses?page=2").await;
    assert_eq!(meta(&second), [105, 5, 100, 2, 2]);
    let mut all: Vec<String> =
        [column(&first, "address"), column(&second, "address")].concat().iter().map(Value::to_string).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 105);
    assert_eq!(meta(&stage.list(&wallet, "/addresses?page=4&limit=30").await), [105, 15, 30, 4, 4]);
    assert_eq!(meta(&stage.list(&wallet, "/addresses?page=9").await), [105, 0, 100, 2, 9]);
    assert_eq!(
        first["analytics"],
        json!({"addressesCount": 105, "externalAddressesCount": 0, "internalAddressesCount": 105})
    );
    for (query, fields) in [("page=0", "page"), ("limit=101", "limit"), ("page=x&limit=-1", "page limit")] {
        check_invalid(&stage.send(&wallet, "GET", &format!("/addresses?{query}"), None).await, fields);
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_at_a_whitelisted_address_is_told_and_belongs_to_somebody_else() {
    let stage = Stage::open().await.covers(&[
        "whitelist-address answers",
        "remove-whitelisted-address answers",
        "event address.whitelisted",
        "event deposit.success",
        "limit: an address of another blockchain",
        "limit: an address with a wrong checksum",
    ]);
    let wallet = stage.wallet("base").await;
    let own = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
    let made = stage.make(&wallet, "/addresses/whitelist", json!({"address": OUTSIDE, "name": "Treasury"})).await;
    let watched = Address { id: text(&made, "address_id"), address: text(&made, "address") };
    assert_eq!((&made["type"], &made["derivation_path"]), (&json!("EXTERNAL"), &Value::Null));
    let told = stage.told_where(&wallet, "address.whitelisted", ("address_id", &watched.id)).await;
    check_fields(&told, "wallet_id, address_id, address");
    let before = stage.holds(&wallet, "", "USDC").await;
    stage.deposit(&wallet, "base", OUTSIDE, ("USDC", "5")).await;
    let told = stage.told_where(&wallet, "deposit.success", ("address_id", &watched.id)).await;
    check_fields(&told, "wallet_id, address_id, amount, asset_id, transaction_hash");
    assert_eq!(stage.holds(&wallet, "", "USDC").await, before);
    for known in [OUTSIDE, &OUTSIDE.to_lowercase(), &own.address, &wallet.address] {
        check_invalid(&stage.post(&wallet, "/addresses/whitelist", json!({"address": known})).await, "address");
    }
    let listed = stage.post(&wallet, "/addresses/whitelist", json!({"address": SANCTIONED})).await;
    check_refusal(&listed, (403, "SERVICE_VALIDATION_ERROR", "address"));
    for (address, row) in [
        (outside("tron"), "limit: an address of another blockchain"),
        (outside("solana"), "limit: an address of another blockchain"),
        ("0x000000000000000000000000000000000000dEad", "limit: an address with a wrong checksum"),
    ] {
        check_invalid(&stage.post(&wallet, "/addresses/whitelist", json!({"address": address})).await, "address");
        stage.seen.note(row);
    }

    let place = format!("/addresses/whitelist/{}", watched.id);
    let ours = format!("/addresses/whitelist/{}", own.id);
    check_refusal(&stage.send(&wallet, "DELETE", &ours, None).await, (404, "SERVICE_NOT_FOUND", ""));
    assert_eq!(stage.ask(&wallet, "DELETE", &place, None).await["address_id"], watched.id.as_str());
    check_refusal(&stage.send(&wallet, "DELETE", &place, None).await, (404, "SERVICE_NOT_FOUND", ""));
    stage.give("base", OUTSIDE, "USDC", "6").await;
    stage.deposit(&wallet, "base", &own.address, ("USDC", "7")).await;
    let amounts: Vec<Value> = stage.receiver.received().iter().map(|it| it.json()["data"]["amount"].clone()).collect();
    assert!(!amounts.contains(&json!("6")), "nobody watches it any more: {amounts:?}");
    // What was told before stays in the list, with the address that is no more.
    assert_eq!(meta(&stage.list(&wallet, "/transactions").await)[0], 2);
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_receives_on_every_evm_blockchain_of_the_account_and_pays_from_there() {
    let stage = Stage::open().await.covers(&[
        "list-address-balances answers",
        "read-address-balance answers",
        "reconcile-address answers",
        "list-address-transactions answers",
        "read-address-transaction answers",
        "withdraw-from-address answers",
        "withdraw-fee-from-address answers",
    ]);
    let (base, celo) = (stage.wallet("base").await, stage.wallet("celo").await);
    let address = stage.address_with(&base, "base", ("USDC", "3")).await;
    let at = |path: &str| format!("/addresses/{}{path}", address.id);
    stage.deposit(&celo, "celo", &address.address, ("cUSD", "9")).await;
    let told = stage.told_where(&celo, "deposit.success", ("amount", "9")).await;
    assert_eq!((&told["address_id"], &told["blockchain"]), (&json!(address.id), &json!("celo")));
    assert_eq!((&told["wallet_id"], &told["blockchain"]), (&json!(celo.id), &json!("celo")));
    let cusd = stage.asset(&celo, "cUSD").await;
    let balance = stage.get(&base, &at(&format!("/balance?asset_id={cusd}"))).await;
    assert_eq!((&balance["available"], &balance["wallet_id"]), (&json!("9"), &json!(celo.id)));
    assert_eq!(stage.holds(&base, &at(""), "USDC").await, ["3", "0", "0"]);
    check_invalid(&stage.send(&base, "GET", &at("/balance"), None).await, "asset_id");

    // It has no coins there. That its own master wallet pays was said for that one alone.
    let body = json!({"asset_id": cusd, "amount": "4.5", "destination_address": OUTSIDE});
    let refused = stage.send(&base, "POST", &at("/withdraw"), Some(body.clone())).await;
    check_refusal(&refused, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    stage.ask(&celo, "PATCH", "", Some(json!({"enable_gasless_withdraw": true}))).await;
    let fee = stage.make(&base, &at("/withdraw/network-fee"), body.clone()).await;
    assert_eq!((&fee["symbol"], &fee["transactionFee"]), (&json!("CELO"), &json!("0")));
    let sent = stage.make(&base, &at("/withdraw"), body).await;
    let done = stage.until(&celo, &text(&sent, "id"), "SUCCESS").await;
    assert_eq!((&done["blockchain"], &done["address_id"]), (&json!("celo"), &json!(address.id)));
    stage.told_of(&celo, "withdraw.success", &text(&sent, "id")).await;
    assert_eq!(stage.on_chain("celo", &address.address, "cUSD").await, "4.5");
    let on_celo = eventually("books that agree on celo", async || {
        let found = stage.get(&base, &at("/reconciliation?blockchain=celo")).await;
        (found["matches"] == true).then_some(found)
    });
    assert_eq!(on_celo.await["address"], address.address.as_str());
    stage.agrees_at(&base, &address).await;
    check_invalid(&stage.send(&base, "GET", &at("/reconciliation?blockchain=tron"), None).await, "blockchain");

    let rows = stage.list(&base, &at("/transactions")).await;
    assert_eq!(meta(&rows)[0], 3, "two deposits and a withdrawal");
    let one = stage.get(&base, &at(&format!("/transactions/{}", text(&sent, "id")))).await;
    assert_eq!(one["transaction_hash"], done["transaction_hash"]);
    let mut kinds = column(&stage.list(&base, "/transactions").await, "type");
    kinds.sort_by_key(Value::to_string);
    assert_eq!(json!(kinds), json!(["DEPOSIT"]), "what happened on celo is in the list of that wallet");
    stage.agrees(&celo).await;
    stage.finish().await;
}
