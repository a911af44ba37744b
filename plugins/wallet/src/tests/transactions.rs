//! Lists of transactions, what may be done to one, its webhooks; balances and assets.

use serde_json::{Value, json};
use tenon_plugin::subscriptions::Attempt;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::TestCall;

use super::support::*;

fn made(world: &World, wallet: &str, amount: &str, reference: &str) -> String {
    let usdc = world.asset(wallet, "USDC");
    let body = json!({"asset_id": usdc, "amount": amount, "destination_address": OUTSIDE, "reference": reference});
    let answer = world.post(&format!("/v1/wallets/{wallet}/withdraw"), &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn transactions_are_listed_by_filter_and_page() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = made(&world, &wallet, "1", "r1");
    let list = |query: &str| world.get(&format!("/v1/wallets/{wallet}/transactions?{query}")).json();
    let all = list("");
    assert_eq!((&all["meta"]["totalItems"], &all["analytics"]["withdrawsCount"]), (&json!(2), &json!(1)));
    for (query, count) in [
        ("type=DEPOSIT", 1),
        ("status=PENDING", 1),
        ("transaction_status=success&type=WITHDRAW", 0),
        ("reference=r1", 1),
        ("assets=USDC,DAI", 2),
        ("assets=DAI", 0),
        (&format!("id={id}"), 1),
        ("hash=0x1", 0),
    ] {
        assert_eq!(list(query)["meta"]["totalItems"], count, "{query}");
        assert_eq!(list(query)["data"].as_array().unwrap().len(), count, "{query}");
    }
    assert_eq!(refusal(&world.get(&format!("/v1/wallets/{wallet}/transactions?order=UP&page=0"))).2, "page order");
}

#[test]
fn what_is_not_taken_up_yet_can_be_cancelled() {
    let world = World::with(|host| host.setting("process-after-ms", "5000"));
    let wallet = world.rich_wallet();
    let id = made(&world, &wallet, "1", "r1");
    let cancel = || world.post(&format!("/v1/wallets/{wallet}/transactions/cancel"), &json!({ "id": id }));
    assert_eq!(cancel().json()["data"]["status"], "CANCELLED");
    assert_eq!(cancel().status, 200);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    let late = made(&world, &wallet, "1", "r2");
    world.host.advance_ms(5_000);
    world.host.run_due();
    let path = format!("/v1/wallets/{wallet}/transactions/{late}/cancel");
    assert_eq!(refusal(&world.post(&path, &json!({}))), expected(409, "SERVICE_VALIDATION_ERROR", ""));
    world.check_books();
}

#[test]
fn a_failed_one_is_retried_once_as_a_new_transaction() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = made(&world, &wallet, "1", "r1");
    world.host.run_due();
    world.settle(&id, "failed");
    let retry = || world.post(&format!("/v1/wallets/{wallet}/transactions/retry"), &json!({ "id": id }));
    let next = retry().json()["data"].clone();
    assert_eq!((&next["continues"], &next["status"]), (&json!(id), &json!("PENDING")));
    assert_eq!(retry().status, 409);
    world.host.run_due();
    world.settle(next["id"].as_str().unwrap(), "done");
    assert_eq!(world.events().last().unwrap(), "withdraw.success");
    world.check_books();
}

#[test]
fn what_nobody_knows_of_is_incomplete_and_goes_on_with_the_same_bytes() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = made(&world, &wallet, "1", "r1");
    world.host.run_due();
    let bytes = world.host.effects()[0].effect.call.content.clone();
    world.host.settle("sent", &id, Outcome::Unknown("timeout".to_owned()));
    world.host.run_due();
    let path = format!("/v1/wallets/{wallet}/transactions");
    assert_eq!(world.get(&format!("{path}/{id}")).json()["data"]["transaction_status"], "incomplete");
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 1_000_000);
    let next = world.post(&format!("{path}/{id}/retry"), &json!({})).json()["data"]["id"].clone();
    world.host.run_due();
    assert_eq!(format!("{:?}", world.host.effects()[0].effect.call.content), format!("{bytes:?}"));
    world.settle(next.as_str().unwrap(), "done");
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    world.check_books();
}

#[test]
fn a_transaction_of_another_wallet_is_unknown() {
    let world = World::new();
    let (wallet, other) = (world.rich_wallet(), world.wallet("polygon"));
    let id = made(&world, &wallet, "1", "r1");
    let unknown = world.get(&format!("/v1/wallets/{other}/transactions/00000000-0000-4000-8000-000000000000"));
    let foreign = world.get(&format!("/v1/wallets/{other}/transactions/{id}"));
    assert_eq!((foreign.status, unknown.status), (404, 404));
    let cancel = world.post(&format!("/v1/wallets/{other}/transactions/cancel"), &json!({ "id": id }));
    assert_eq!(cancel.status, 404);
}

#[test]
fn a_webhook_is_logged_and_sent_again() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let event = world.host.deliveries().last().unwrap().delivery.event.clone();
    let attempt = Attempt {
        number: 1,
        at: world.host.now(),
        duration: 5,
        outcome: "status".to_owned(),
        status: Some(500),
        answer: "no".to_owned(),
    };
    world.host.record_attempt(&wallet, &event, attempt, "failed");
    let log = world.get(&format!("/v1/wallets/{wallet}/webhooks")).json();
    assert_eq!((&log["data"][0]["event"], &log["data"][0]["status"]), (&json!("deposit.success"), &json!("failed")));
    let list = world.get(&format!("/v1/wallets/{wallet}/transactions?type=DEPOSIT")).json();
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    let of_one = world.get(&format!("/v1/wallets/{wallet}/transactions/{id}/webhooks")).json();
    assert_eq!(of_one["data"][0]["response"]["status"], 500);
    let resent = world.post(&format!("/v1/wallets/{wallet}/transactions/webhooks/resend"), &json!({ "id": id }));
    assert_eq!((resent.status, &resent.json()["data"]["event_id"]), (200, &json!(event)));
    assert_eq!(world.host.deliveries().last().unwrap().delivery.state, "retrying");
}

#[test]
fn the_log_of_webhooks_says_the_reference_of_each_transaction() {
    let world = World::new();
    let wallet = world.rich_wallet();
    for reference in ["r1", "r2", "r3"] {
        let id = made(&world, &wallet, "1", reference);
        world.host.run_due();
        world.settle(&id, "done");
    }
    let log = |page: usize| {
        let rows = world.get(&format!("/v1/wallets/{wallet}/webhooks?limit=2&page={page}")).json()["data"].clone();
        rows.as_array().unwrap().iter().map(|row| row["reference"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((log(1), log(2)[0].clone()), (vec![json!("r3"), json!("r2")], json!("r1")));
    // A wallet that was made, and deposits, have none.
    assert!(log(2)[1].is_null() && log(3).iter().all(Value::is_null));
}

#[test]
fn balances_and_the_blockchain_are_compared() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let path = format!("/v1/wallets/{wallet}");
    let usdc = world.asset(&wallet, "USDC");
    assert_eq!(world.get(&format!("{path}/balance?assetId={usdc}")).json()["data"]["available"], "100");
    let balances = world.get(&format!("{path}/balances")).json();
    assert!(balances["data"].as_array().unwrap().iter().any(|row| row["balance"] == "10"));
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let key = |token: &str| ("base".to_owned(), address.clone(), token.to_owned());
    world.chain.0.borrow_mut().balances.insert(key(""), COINS.to_owned());
    world.chain.0.borrow_mut().balances.insert(key("token-USDC"), "99000000".to_owned());
    let compared = world.get(&format!("{path}/reconciliation")).json()["data"].clone();
    let row = |symbol: &str| -> Value {
        compared["assets"].as_array().unwrap().iter().find(|row| row["symbol"] == symbol).unwrap().clone()
    };
    assert_eq!((&compared["matches"], &row("USDC")["difference"]), (&json!(false), &json!("-1")));
    assert_eq!(row("ETH")["matches"], true);
}

#[test]
fn an_asset_that_is_switched_off_cannot_be_sent() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let usdc = world.asset(&wallet, "USDC");
    let path = format!("/v1/wallets/{wallet}/assets/{usdc}");
    assert_eq!(world.host.call(TestCall::delete(&path)).json()["data"]["isActive"], false);
    let body = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    assert_eq!(refusal(&world.post(&format!("/v1/wallets/{wallet}/withdraw"), &body)).2, "asset_id");
    let on = world.host.call(TestCall::patch(&path).json(&json!({"isActive": true})));
    assert_eq!(on.json()["data"]["isActive"], true);
    assert_eq!(world.get("/v1/blockchains").json()["meta"]["totalItems"], 15);
    assert_eq!(world.get("/v1/assets?symbol=USDC&blockchain=base").json()["meta"]["totalItems"], 1);
}
