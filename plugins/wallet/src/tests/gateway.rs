//! The unified USDC balance.

use serde_json::json;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestCall, response};

use super::provider::CONTRACT;
use super::support::*;

const WITHDRAWALS: &str = "/v1/gateway/withdrawals";

/// A wallet with fifty USDC in the gateway.
fn filled(world: &World) -> String {
    let wallet = world.rich_wallet();
    world.fill_gateway(&wallet);
    wallet
}

fn gateway_balance(world: &World, wallet: &str) -> serde_json::Value {
    world.get(&format!("/v1/wallets/{wallet}/gateway/balance")).json()["data"]["gateway_balance"].clone()
}

#[test]
fn usdc_goes_into_the_gateway_and_out_again() {
    let world = World::new();
    let wallet = filled(&world);
    assert_eq!(
        (gateway_balance(&world, &wallet), world.events().last().unwrap().as_str()),
        (json!("50"), "gateway.deposit.success")
    );
    assert_eq!(world.last_event()["source_chain"], "base");
    let body = json!({"amount": "20", "destination_chain": "polygon", "destination_address": OUTSIDE});
    let made = world.post(&format!("/v1/wallets/{wallet}/gateway/withdraw"), &body);
    assert_eq!(made.status, 200, "{}", made.body);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(gateway_balance(&world, &wallet), "30");
    world.host.run_due();
    assert_eq!(world.ordered(&id)["recipient_address"], OUTSIDE);
    world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
    let delivery = json!({"amount": "20", "transaction_hash": world.hash()});
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success", "delivery": delivery}));
    assert_eq!(world.events().last().unwrap(), "gateway.withdraw.success");
    assert_eq!(world.last_event()["destination_chain"], "polygon");
    let list = world.get(&format!("/v1/wallets/{wallet}/gateway/transactions")).json();
    assert_eq!(list["meta"]["totalItems"], 2);
    world.check_books();
}

/// USDC on their way from the gateway to the wallet's own balance on Base: id of the transaction, and the wallet's address.
fn minting_of(world: &World, wallet: &str, amount: &str) -> (String, String) {
    let body = json!({"amount": amount, "destination_chain": "base"});
    let made = world.post(&format!("/v1/wallets/{wallet}/gateway/withdraw"), &body);
    assert_eq!(made.status, 200, "{}", made.body);
    world.host.run_due();
    let address = world.host.record("wallets", wallet).unwrap()["address"].as_str().unwrap().to_owned();
    (made.json()["data"]["id"].as_str().unwrap().to_owned(), address)
}

fn minting(world: &World, wallet: &str) -> (String, String) {
    minting_of(world, wallet, "20")
}

fn retried(world: &World, wallet: &str, id: &str) -> String {
    let again = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({}));
    assert_eq!(again.status, 200, "{}", again.body);
    world.host.run_due();
    again.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// The gateway takes the order, names its delivery, which is seen, and is done.
fn mint(world: &World, (id, address): (&str, &str)) {
    world.take_order(WITHDRAWALS, id, ("USDC", "20"));
    let hash = world.hash();
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    world.provider.change(WITHDRAWALS, id, &json!({"delivery": delivery}));
    world.tell("base", address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.order_becomes(WITHDRAWALS, id, &json!({"status": "success"}));
}

/// The gateway's balance and what lies on Base, as they are when twenty of the fifty have come out once.
fn check_came_once(world: &World, wallet: &str) {
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 70_000_000);
    assert_eq!(world.balance(&format!("pending/wallet/{wallet}"), "base/USDC"), 0);
    assert_eq!(gateway_balance(world, wallet), "30");
    world.check_books();
}

#[test]
fn a_withdrawal_that_fails_fills_the_balance_again() {
    let world = World::new();
    let wallet = filled(&world);
    let (id, _) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "failed", "reason": "DELIVERY_FAILED"}));
    assert_eq!((world.status(&id).as_str(), gateway_balance(&world, &wallet)), ("failed", json!("50")));
    let next = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({})).json()["data"].clone();
    let master = world.host.record("wallets", &wallet).unwrap()["address"].clone();
    assert_eq!((&next["destination_address"], &next["continues"]), (&master, &json!(id)));
    world.check_books();
}

#[test]
fn what_the_gateway_mints_for_us_is_booked_once() {
    let world = World::new();
    let wallet = filled(&world);
    let (id, address) = minting(&world, &wallet);
    mint(&world, (&id, &address));
    check_came_once(&world, &wallet);
}

#[test]
fn what_a_retried_withdrawal_mints_is_booked_once() {
    let world = World::new();
    let wallet = filled(&world);
    let (first, address) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &first, ("USDC", "20"));
    world.order_becomes(WITHDRAWALS, &first, &json!({"status": "failed", "reason": "DELIVERY_FAILED"}));
    // Longer than anything may take: the retry has time of its own.
    world.host.advance_ms(4 * 86_400_000);
    let id = retried(&world, &wallet, &first);
    world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
    assert_eq!(world.status(&id), "processing");
    let hash = world.hash();
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    world.provider.change(WITHDRAWALS, &id, &json!({"delivery": delivery}));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success"}));
    assert_eq!(world.status(&id), "success");
    check_came_once(&world, &wallet);
}

#[test]
fn what_was_taken_for_a_deposit_is_none_when_the_gateway_says_so() {
    let world = World::new();
    let wallet = filled(&world);
    let (id, address) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
    let hash = world.hash();
    world.tell("base", &address, (&hash, "seen", 1), Some("USDC"), "20000000");
    assert_eq!(world.balance(&format!("pending/wallet/{wallet}"), "base/USDC"), 20_000_000);
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    world.provider.change(WITHDRAWALS, &id, &json!({"delivery": delivery}));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success"}));
    check_came_once(&world, &wallet);
}

#[test]
fn what_the_gateway_mints_before_its_answer_is_known_is_booked_once() {
    let world = World::new();
    let wallet = filled(&world);
    let (id, address) = minting(&world, &wallet);
    let hash = world.hash();
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    let order = json!({"id": id, "status": "success", "delivery": delivery});
    world.provider.0.borrow_mut().orders.insert(format!("{WITHDRAWALS}/{id}"), order);
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.host.settle("ordered", &id, Outcome::Unknown("timeout".to_owned()));
    world.host.run_due();
    assert_eq!(world.status(&id), "success");
    check_came_once(&world, &wallet);
}

#[test]
fn what_a_silent_provider_may_have_sent_is_shown_and_credited_when_it_has_answered() {
    for is_delivery in [true, false] {
        let world = World::new();
        let wallet = filled(&world);
        let (id, address) = minting(&world, &wallet);
        world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
        let hash = world.hash();
        world.provider.0.borrow_mut().is_silent = true;
        for (state, confirmations) in [("seen", 1), ("final", 64)] {
            world.tell("base", &address, (&hash, state, confirmations), Some("USDC"), "20000000");
            assert_eq!(world.events().last().unwrap(), "deposit.processing");
            assert_eq!(world.balance(&format!("pending/wallet/{wallet}"), "base/USDC"), 20_000_000);
        }
        world.host.advance_ms(10_000);
        world.host.run_due();
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 50_000_000);
        world.provider.0.borrow_mut().is_silent = false;
        if is_delivery {
            let delivery = json!({"amount": "20", "transaction_hash": hash});
            world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success", "delivery": delivery}));
        }
        world.host.advance_ms(10_000);
        world.host.run_due();
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 70_000_000);
        assert_eq!(world.balance(&format!("pending/wallet/{wallet}"), "base/USDC"), 0);
        assert_eq!(world.status(&id), if is_delivery { "success" } else { "processing" });
        world.check_books();
    }
}

#[test]
fn an_order_without_an_answer_fails_when_it_can_be_under_way_no_more() {
    for is_late in [true, false] {
        let world = World::new();
        let wallet = filled(&world);
        let (id, address) = minting(&world, &wallet);
        world.host.settle("ordered", &id, Outcome::Unknown("timeout".to_owned()));
        world.host.run_due();
        assert_eq!(world.status(&id), "processing", "the gateway does not know it yet");
        if is_late {
            let hash = world.hash();
            let delivery = json!({"amount": "20", "transaction_hash": hash});
            let order = json!({"id": id, "status": "success", "delivery": delivery});
            world.provider.0.borrow_mut().orders.insert(format!("{WITHDRAWALS}/{id}"), order);
            world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
            check_came_once(&world, &wallet);
        } else {
            for _ in 0..10 {
                world.host.advance_ms(60_000);
                world.host.run_due();
            }
            assert_eq!(gateway_balance(&world, &wallet), "50");
        }
        assert_eq!(world.status(&id), if is_late { "success" } else { "failed" });
        world.check_books();
    }
}

#[test]
fn what_has_ended_hides_nothing_that_is_still_expected() {
    let world = World::new();
    let wallet = filled(&world);
    for _ in 0..48 {
        let body = json!({"amount": "1", "destination_chain": "base"});
        let made = world.post(&format!("/v1/wallets/{wallet}/gateway/withdraw"), &body).json()["data"]["id"].clone();
        let path = format!("/v1/wallets/{wallet}/transactions/cancel");
        assert_eq!(world.post(&path, &json!({ "id": made })).status, 200);
    }
    let (id, address) = minting(&world, &wallet);
    mint(&world, (&id, &address));
    check_came_once(&world, &wallet);
}

#[test]
fn a_delivery_that_is_signed_anew_is_booked_once() {
    let world = World::new();
    let wallet = filled(&world);
    let (id, address) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &id, ("USDC", "20"));
    let delivery = |hash: &str| json!({"delivery": {"amount": "20", "transaction_hash": hash}});
    world.order_becomes(WITHDRAWALS, &id, &delivery(&world.hash()));
    // The blockchain has never heard of the first.
    let hash = world.hash();
    world.provider.change(WITHDRAWALS, &id, &delivery(&hash));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success"}));
    assert_eq!(world.status(&id), "success");
    check_came_once(&world, &wallet);
}

#[test]
fn what_came_once_is_the_delivery_of_one_order() {
    let world = World::new();
    let wallet = filled(&world);
    let (first, address) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &first, ("USDC", "20"));
    let hash = world.hash();
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    world.provider.change(WITHDRAWALS, &first, &json!({"status": "success", "delivery": delivery}));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    check_came_once(&world, &wallet);
    let (second, _) = minting(&world, &wallet);
    world.take_order(WITHDRAWALS, &second, ("USDC", "20"));
    world.order_becomes(WITHDRAWALS, &second, &json!({"status": "success", "delivery": delivery}));
    assert_eq!((world.status(&first).as_str(), world.status(&second).as_str()), ("success", "incomplete"));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 70_000_000);
    world.check_books();
}

#[test]
fn what_arrives_is_compared_with_everything_expected() {
    let world = World::new();
    let wallet = filled(&world);
    let open: Vec<(String, String)> = (0..20)
        .map(|_| {
            let (id, address) = minting_of(&world, &wallet, "1");
            world.take_order(WITHDRAWALS, &id, ("USDC", "1"));
            (id, address)
        })
        .collect();
    let hash = world.hash();
    let delivery = json!({"amount": "1", "transaction_hash": hash});
    world.provider.change(WITHDRAWALS, &open[19].0, &json!({ "delivery": delivery }));
    world.tell("base", &open[0].1, (&hash, "final", 12), Some("USDC"), "1000000");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 50_000_000);
    world.order_becomes(WITHDRAWALS, &open[19].0, &json!({"status": "success"}));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 51_000_000);
    assert_eq!(world.balance(&format!("pending/wallet/{wallet}"), "base/USDC"), 0);
    world.check_books();
}

#[test]
fn what_the_gateway_mints_before_its_answer_is_heard_is_booked_once() {
    let world = World::new();
    let wallet = filled(&world);
    let made = world
        .post(&format!("/v1/wallets/{wallet}/gateway/withdraw"), &json!({"amount": "20", "destination_chain": "base"}));
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    let hash = world.hash();
    let delivery = json!({"amount": "20", "transaction_hash": hash});
    let order = json!({"id": id, "status": "processing", "delivery": delivery, "deposit": null, "refund": null});
    world.provider.0.borrow_mut().orders.insert(format!("{WITHDRAWALS}/{id}"), order.clone());
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "20000000");
    world.host.settle("ordered", &id, Outcome::Answered(response(201, &order)));
    world.host.run_due();
    world.order_becomes(WITHDRAWALS, &id, &json!({"status": "success"}));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 70_000_000);
    world.check_books();
}

#[test]
fn usdc_is_never_sent_to_the_gateways_contract() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let body = json!({"asset_id": world.asset(&wallet, "USDC"), "amount": "1", "destination_address": CONTRACT});
    let answer = world.post(&format!("/v1/wallets/{wallet}/withdraw"), &body);
    assert_eq!(refusal(&answer), expected(400, "GATEWAY_DIRECT_TRANSFER", "destination_address"));
    let body = json!({"amount": "1", "destination_chain": "base", "destination_address": CONTRACT});
    let answer = world.post(&format!("/v1/wallets/{wallet}/gateway/withdraw"), &body);
    assert_eq!(refusal(&answer).1, "GATEWAY_DIRECT_TRANSFER");
}

#[test]
fn coins_do_not_go_to_the_contract_even_if_the_provider_says_so() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let made = world.post(&format!("/v1/wallets/{wallet}/gateway/deposit"), &json!({"amount": "50"}));
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    let deposit = json!({"blockchain": "base", "asset": "USDC", "address": CONTRACT, "amount": "50"});
    let order = json!({"id": id, "status": "awaiting_deposit", "deposit": deposit, "delivery": null, "refund": null});
    world.host.settle("ordered", &id, Outcome::Answered(response(201, &order)));
    world.host.run_due();
    assert_eq!(world.status(&id), "failed");
    assert!(world.host.effects().iter().all(|it| it.effect.then != "sent"));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    world.check_books();
}

#[test]
fn what_is_wrong_at_the_gateway_is_said_by_field() {
    let world = World::new();
    let wallet = filled(&world);
    let tron = world.wallet("tron");
    let post = |wallet: &str, path: &str, body| world.post(&format!("/v1/wallets/{wallet}/gateway/{path}"), &body);
    assert_eq!(refusal(&post(&tron, "deposit", json!({"amount": "1"}))).2, "blockchain");
    assert_eq!(refusal(&post(&wallet, "deposit", json!({}))).2, "amount");
    assert_eq!(refusal(&post(&wallet, "withdraw", json!({"amount": "x"}))).2, "amount destination_chain");
    let much = post(&wallet, "withdraw", json!({"amount": "51", "destination_chain": "base"}));
    assert_eq!(refusal(&much), expected(422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let nowhere = post(&wallet, "withdraw", json!({"amount": "1", "destination_chain": "polygon"}));
    assert_eq!(refusal(&nowhere).2, "destination_address");
    assert_eq!(world.post(&format!("/v1/gateway/deposit/{wallet}/network-fee"), &json!({"amount": "1"})).status, 200);
}

#[test]
fn the_real_products_paths_find_their_wallet() {
    let world = World::new();
    let wallet = filled(&world);
    let body = json!({"assetId": world.asset(&wallet, "USDC"), "amount": "1", "address": OUTSIDE});
    let made = world.post("/v1/gateway/withdraw", &body);
    assert_eq!((made.status, &made.json()["data"]["type"]), (200, &json!("GATEWAY_WITHDRAW")), "{}", made.body);
    assert_eq!(refusal(&world.post("/v1/gateway/withdraw", &json!({"amount": "1"}))).2, "asset_id");
    let (address, _) = world.address(&wallet, &json!({}));
    let path = format!("/v1/addresses/{address}/gateway/balance");
    assert_eq!(world.get(&path).json()["data"]["gateway_balance"], "0");
    let tron = world.wallet("tron");
    assert_eq!(world.host.call(TestCall::get(&path).attribute("wallet", &tron)).status, 404);
    let foreign = TestCall::post("/v1/gateway/withdraw").attribute("wallet", &tron).json(&body);
    assert_eq!(world.host.call(foreign).status, 422);
}
