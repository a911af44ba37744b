//! Who pays the gas of what leaves an address (spec/wallet: rule 4): its master wallet by operator and threshold, and what the
//! address says goes before that.

use serde_json::{Value, json};

use super::{
    acts::{check_refusal, text},
    stage::{Address, OUTSIDE, Stage, Wallet},
};

async fn withdraw(stage: &Stage, wallet: &Wallet, address: &Address, amount: &str) -> crate::support::Response {
    let body = json!({"asset_id": stage.asset(wallet, "USDC").await, "amount": amount, "destination_address": OUTSIDE});
    stage.send(wallet, "POST", &format!("/addresses/{}/withdraw", address.id), Some(body)).await
}

/// With thirty USDC and no coins.
async fn address(stage: &Stage, wallet: &Wallet, mut settings: Value) -> Address {
    settings["disable_auto_sweep"] = json!(true);
    let address = stage.address(wallet, settings).await;
    stage.deposit(wallet, "base", &address.address, ("USDC", "30")).await;
    address
}

async fn set_gasless(stage: &Stage, wallet: &Wallet, gasless: Value) {
    let body = json!({"configurations": {"withdrawal": {"gasless": gasless}}});
    let shown = stage.ask(wallet, "PATCH", "", Some(body)).await;
    assert_eq!(shown["configurations"]["withdrawal"]["gasless"], gasless);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_master_wallet_pays_where_the_amount_meets_the_threshold() {
    let stage = Stage::open().await.covers(&[
        "withdraw-from-address answers",
        "update-wallet answers",
        "code SERVICE_INSUFFICIENT_GAS",
        "event withdraw.success",
    ]);
    let wallet = stage.wallet("base").await;
    let mut sent = Vec::new();
    for (operator, paid) in [
        ("gt", [false, false, true]),
        ("gte", [false, true, true]),
        ("lt", [true, false, false]),
        ("lte", [true, true, false]),
        ("eq", [false, true, false]),
    ] {
        set_gasless(&stage, &wallet, json!({"isActive": true, "operator": operator, "threshold": "10"})).await;
        let address = address(&stage, &wallet, json!({})).await;
        let mut cases: Vec<(&str, bool)> = ["9", "10", "11"].into_iter().zip(paid).collect();
        // What was paid for leaves coins behind at the address.
        cases.sort_by_key(|(_, is_paid)| *is_paid);
        for (amount, is_paid) in cases {
            let answer = withdraw(&stage, &wallet, &address, amount).await;
            if is_paid {
                sent.push(text(&answer.expect(200).json()["data"], "id"));
            } else {
                check_refusal(&answer, (422, "SERVICE_INSUFFICIENT_GAS", ""));
            }
        }
    }
    for id in &sent {
        stage.until(&wallet, id, "SUCCESS").await;
        stage.told_of(&wallet, "withdraw.success", id).await;
    }
    assert_eq!((sent.len(), stage.on_chain("base", OUTSIDE, "USDC").await.as_str()), (7, "70"));
    for row in stage.list(&wallet, "/addresses").await["data"].as_array().unwrap() {
        let address = Address { id: text(row, "address_id"), address: text(row, "address") };
        stage.agrees_at(&wallet, &address).await;
    }
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_address_says_of_gas_and_sweeps_goes_before_its_wallet() {
    let stage = Stage::open().await.covers(&[
        "update-address answers",
        "update-wallet answers",
        "withdraw-from-address answers",
        "default: settings of an address go before those of its wallet",
        "default: enable_gasless_withdraw is false",
    ]);
    let wallet = stage.wallet("base").await;
    let [silent, willing] = [json!({}), json!({"enable_gasless_withdraw": true})];
    let (silent, willing) = (address(&stage, &wallet, silent).await, address(&stage, &wallet, willing).await);
    check_refusal(&withdraw(&stage, &wallet, &silent, "1").await, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    stage.seen.note("default: enable_gasless_withdraw is false");
    let first = text(&withdraw(&stage, &wallet, &willing, "1").await.expect(200).json()["data"], "id");
    set_gasless(&stage, &wallet, json!({"isActive": true, "operator": "gte", "threshold": "0"})).await;
    let refusing = address(&stage, &wallet, json!({"enable_gasless_withdraw": false})).await;
    check_refusal(&withdraw(&stage, &wallet, &refusing, "1").await, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    let second = text(&withdraw(&stage, &wallet, &silent, "1").await.expect(200).json()["data"], "id");
    for id in [&first, &second] {
        stage.until(&wallet, id, "SUCCESS").await;
    }

    // The three have refused to be swept, whatever the wallet says; now it refuses, and one of them does not.
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["0", "0", "0"]);
    stage.ask(&wallet, "PATCH", "", Some(json!({"disable_auto_sweep": true}))).await;
    let place = format!("/addresses/{}", refusing.id);
    stage.ask(&wallet, "PATCH", &place, Some(json!({"disable_auto_sweep": false}))).await;
    let resting = stage.address(&wallet, json!({})).await;
    stage.deposit(&wallet, "base", &resting.address, ("USDC", "4")).await;
    stage.deposit(&wallet, "base", &refusing.address, ("USDC", "2")).await;
    let swept = stage.told(&wallet, "deposit.swept.success").await;
    assert_eq!((&swept["address_id"], &swept["amount"]), (&json!(refusing.id), &json!("32")), "{swept}");
    assert_eq!(stage.holds(&wallet, &format!("/addresses/{}", resting.id), "USDC").await[0], "4");
    stage.seen.note("default: settings of an address go before those of its wallet");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gasless_withdrawal_whose_coins_do_not_come_has_failed_and_can_be_tried_again() {
    let stage = Stage::open().await.covers(&[
        "retry-transaction answers",
        "code SERVICE_INSUFFICIENT_GAS",
        "event withdraw.failed",
        "edge processing to failed",
    ]);
    let wallet = stage.wallet("base").await;
    let address = address(&stage, &wallet, json!({"enable_gasless_withdraw": true})).await;
    stage.control("base", json!({"kind": "fail", "count": 1})).await;
    let first = text(&withdraw(&stage, &wallet, &address, "12").await.expect(200).json()["data"], "id");
    let failed = stage.until(&wallet, &first, "FAILED").await;
    assert_eq!(failed["error_code"], "SERVICE_INSUFFICIENT_GAS");
    let told = stage.told_of(&wallet, "withdraw.failed", &first).await;
    assert_eq!(told["error_code"], "SERVICE_INSUFFICIENT_GAS");
    let at = format!("/addresses/{}", address.id);
    assert_eq!(stage.holds(&wallet, &at, "USDC").await, ["30", "0", "0"]);
    let second = text(&stage.make(&wallet, "/transactions/retry", json!({"id": first})).await, "id");
    stage.until(&wallet, &second, "SUCCESS").await;
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "12");
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
