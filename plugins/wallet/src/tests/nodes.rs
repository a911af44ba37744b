//! What nodes do to what is given to them: silence, loss, failure; and numbers that somebody else has used.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::response;

use super::provider::CONTRACT;
use super::support::*;

/// A hundred USDC on Base; the id of a withdrawal of one that is under way.
fn under_way(world: &World) -> (String, String) {
    let wallet = world.rich_wallet();
    let id = withdraw(world, &wallet);
    (wallet, id)
}

fn withdraw(world: &World, wallet: &str) -> String {
    let usdc = world.asset(wallet, "USDC");
    let body = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    begun(world, &format!("/v1/wallets/{wallet}/withdraw"), &body)
}

fn begun(world: &World, path: &str, body: &Value) -> String {
    let answer = world.post(path, body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    world.host.run_due();
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// All attempts are over, and no node has said whether it has it.
fn nobody_knows(world: &World, id: &str) {
    world.host.settle("sent", id, Outcome::Unknown("timeout".to_owned()));
    world.host.run_due();
}

fn sent(world: &World) -> String {
    world.host.effects()[0].effect.key.clone()
}

fn way(world: &World, id: &str) -> Value {
    world.host.record("transactions", id).unwrap()["outgoing"]["way"].clone()
}

fn address_of(world: &World, wallet: &str) -> String {
    world.host.record("wallets", wallet).unwrap()["address"].as_str().unwrap().to_owned()
}

fn retry(world: &World, wallet: &str, id: &str) -> tenon_plugin::test_kit::TestAnswer {
    world.post(&format!("/v1/wallets/{wallet}/transactions/retry"), &json!({ "id": id }))
}

#[test]
fn a_sweep_that_nobody_knows_of_waits_for_its_end() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (_, address) = world.address(&wallet, &json!({}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    world.settle(&sent(&world), "done");
    let sweep = sent(&world);
    nobody_knows(&world, &sweep);
    assert_eq!(world.status(&sweep), "processing");
    world.end(&sweep, "done");
    assert_eq!(
        (world.status(&sweep).as_str(), world.events().last().unwrap().as_str()),
        ("success", "deposit.swept.success")
    );
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn a_sweep_that_no_node_takes_any_more_has_failed() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    world.settle(&sent(&world), "done");
    let sweep = sent(&world);
    nobody_knows(&world, &sweep);
    world.host.advance_ms(300_000);
    world.host.run_due();
    let never = Outcome::Answered(response(422, &json!({"reason": "it has run out"})));
    world.host.settle("sent", &sweep, never);
    world.host.run_due();
    assert_eq!(
        (world.status(&sweep).as_str(), world.events().last().unwrap().as_str()),
        ("failed", "deposit.swept.failed")
    );
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn an_incomplete_transaction_that_turns_up_is_gone_on_from() {
    let world = World::new();
    let (wallet, id) = under_way(&world);
    nobody_knows(&world, &id);
    assert_eq!(world.status(&id), "incomplete");
    let hash = world.end(&id, "done");
    let next = world.host.record("transactions", &id).unwrap()["outgoing"]["continued_by"].as_str().unwrap().to_owned();
    assert_eq!(world.settle(&next, "done"), hash);
    assert_eq!((world.status(&id), world.status(&next)), ("incomplete".to_owned(), "success".to_owned()));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 99_000_000);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    world.check_books();
}

#[test]
fn a_broadcast_that_is_told_as_failed_is_not_sent_any_more() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &format!("/v1/wallets/{wallet}/signing/broadcast"), &json!({"transaction": "0x02aa"}));
    assert_eq!(world.host.followed().len(), 1);
    nobody_knows(&world, &id);
    assert_eq!((world.events().last().unwrap().as_str(), world.host.followed().len()), ("signed.failed", 0));
}

#[test]
fn bytes_that_have_failed_on_the_blockchain_are_not_paid_for_again() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &format!("/v1/wallets/{wallet}/signing/broadcast"), &json!({"transaction": "0x02aa"}));
    world.settle(&id, "failed");
    assert_eq!(world.balance("fees/base", "base/ETH"), 700);
    assert_eq!(retry(&world, &wallet, &id).status, 409);
    world.check_books();
}

#[test]
fn what_follows_a_broadcast_takes_the_number_after_it() {
    let world = World::new();
    let (wallet, first) = under_way(&world);
    world.settle(&first, "done");
    let id = begun(&world, &format!("/v1/wallets/{wallet}/signing/broadcast"), &json!({"transaction": "0x02aa"}));
    let place = ("base".to_owned(), address_of(&world, &wallet));
    world.chain.0.borrow_mut().sequences.insert(place, 2);
    world.settle(&id, "done");
    let next = withdraw(&world, &wallet);
    assert_eq!(way(&world, &next)["sequence"], 2);
}

#[test]
fn a_retry_is_screened_again_and_holds_its_gas_again() {
    let world = World::new();
    let (wallet, id) = under_way(&world);
    world.settle(&id, "failed");
    let next = retry(&world, &wallet, &id).json()["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(way(&world, &next)["unscreened"], true);
    let (address_id, address) =
        world.address(&wallet, &json!({"disable_auto_sweep": true, "enable_gasless_withdraw": true}));
    world.arrive("base", &address, Some("USDC"), "100000000");
    let (from, to) = (world.asset(&wallet, "USDC"), world.asset(&wallet, "DAI"));
    let body = json!({"from_asset_id": from, "to_asset_id": to, "amount": "100"});
    let swap = begun(&world, &format!("/v1/wallets/{wallet}/addresses/{address_id}/swap"), &body);
    let gas = |id: &str| world.host.record("transactions", id).unwrap()["outgoing"]["gas"].clone();
    let held = gas(&swap);
    assert!(!held.is_null());
    world.take_order("/v1/swaps", &swap, ("USDC", "100"));
    let fund = world.host.effects().iter().map(|it| it.effect.key.clone()).find(|key| *key != next).unwrap();
    world.settle(&fund, "failed");
    assert_eq!((world.status(&swap).as_str(), gas(&swap)), ("failed", Value::Null));
    let again = retry(&world, &wallet, &swap);
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(gas(again.json()["data"]["id"].as_str().unwrap()), held);
    world.check_books();
}

#[test]
fn an_order_whose_coins_nobody_knew_of_goes_on_when_they_turn_up() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &format!("/v1/wallets/{wallet}/gateway/deposit"), &json!({"amount": "50"}));
    world.take_order("/v1/gateway/deposits", &id, ("USDC", "50"));
    nobody_knows(&world, &id);
    assert_eq!(world.status(&id), "incomplete");
    world.end(&id, "done");
    let next = world.host.record("transactions", &id).unwrap()["outgoing"]["continued_by"].as_str().unwrap().to_owned();
    // The coins are there: they are not sent again, and the provider is asked for what it has made of them.
    assert!(world.host.effects().iter().all(|it| it.effect.then != "sent"));
    world.provider.change("/v1/gateway/deposits", &id, &json!({"status": "success"}));
    world.host.put_task("poll", &next, world.host.now(), "0");
    world.host.run_due();
    assert_eq!(
        (world.status(&next).as_str(), world.events().last().unwrap().as_str()),
        ("success", "gateway.deposit.success")
    );
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    world.check_books();
}

#[test]
fn what_is_dropped_has_failed_and_can_be_retried() {
    // Its bytes have expired, and its number is free; or other transactions of the same key have used it and more.
    for seen in [0, 5] {
        let world = World::new();
        let (wallet, id) = under_way(&world);
        world.host.accept_transaction("sent", &id);
        world.host.run_due();
        let hash = world.host.record("transactions", &id).unwrap()["hash"].as_str().unwrap().to_owned();
        world.chain.0.borrow_mut().sequences.insert(("base".to_owned(), address_of(&world, &wallet)), seen);
        let dropped =
            json!({"state": "dropped", "block": null, "confirmations": 0, "fee": "0", "movements": [], "reason": "x"});
        world.host.finish_transaction("base", &hash, &dropped);
        world.host.run_due();
        assert_eq!(
            (world.status(&id).as_str(), world.events().last().unwrap().as_str()),
            ("failed", "withdraw.failed")
        );
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
        assert_eq!(world.balance("fees/base", "base/ETH"), 0);
        let next = retry(&world, &wallet, &id).json()["data"]["id"].as_str().unwrap().to_owned();
        world.host.run_due();
        assert_eq!(way(&world, &next)["sequence"], seen);
        world.settle(&next, "done");
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 99_000_000);
        world.check_books();
    }
}

#[test]
fn what_was_incomplete_and_is_dropped_is_refused_once_more_and_has_failed() {
    let world = World::new();
    let (wallet, id) = under_way(&world);
    nobody_knows(&world, &id);
    let hash = world.host.record("transactions", &id).unwrap()["hash"].as_str().unwrap().to_owned();
    world.host.finish_transaction("base", &hash, &json!({"state": "dropped", "block": null, "reason": "x"}));
    world.host.run_due();
    let next = world.host.record("transactions", &id).unwrap()["outgoing"]["continued_by"].as_str().unwrap().to_owned();
    world.host.settle("sent", &next, Outcome::Answered(response(422, &json!({"reason": "x"}))));
    world.host.run_due();
    assert_eq!((world.status(&next).as_str(), world.events().last().unwrap().as_str()), ("failed", "withdraw.failed"));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    world.check_books();
}

#[test]
fn a_swap_and_a_gateway_withdrawal_are_screened_again_when_they_are_retried() {
    let world = World::new();
    let wallet = world.rich_wallet();
    world.fill_gateway(&wallet);
    let (from, to) = (world.asset(&wallet, "USDC"), world.asset(&wallet, "DAI"));
    let swap = json!({"from_asset_id": from, "to_asset_id": to, "amount": "1", "recipient_address": OUTSIDE});
    let mint = json!({"amount": "1", "destination_chain": "polygon", "destination_address": OUTSIDE});
    let ids = [("swap", swap), ("gateway/withdraw", mint)].map(|(path, body)| {
        let id = begun(&world, &format!("/v1/wallets/{wallet}/{path}"), &body);
        world.refuse_order(&id, "QUOTE_EXPIRED");
        assert_eq!(world.status(&id), "failed");
        id
    });
    world.provider.0.borrow_mut().listed = Some(OUTSIDE.to_owned());
    for id in &ids {
        assert_eq!(retry(&world, &wallet, id).status, 403);
    }
    world.provider.0.borrow_mut().listed = None;
    for id in &ids {
        assert_eq!(retry(&world, &wallet, id).status, 200);
    }
    world.check_books();
}

#[test]
fn a_contract_that_becomes_known_is_no_target_of_a_retry_or_of_a_rule() {
    let world = World::new();
    // Who knows the contract does not answer yet.
    world.provider.0.borrow_mut().is_silent = true;
    let wallet = world.rich_wallet();
    let master = address_of(&world, &wallet);
    let to = json!({"blockchain": "base", "asset": "USDC", "address": CONTRACT});
    let rule = json!({"name": "Lost", "source": {"assets": ["DAI"]}, "destination": to});
    assert_eq!(world.post(&format!("/v1/wallets/{wallet}/auto-settlements/rules"), &rule).status, 201);
    let body = json!({"asset_id": world.asset(&wallet, "USDC"), "amount": "1", "destination_address": CONTRACT});
    let id = begun(&world, &format!("/v1/wallets/{wallet}/withdraw"), &body);
    world.settle(&id, "failed");
    world.provider.0.borrow_mut().is_silent = false;
    world.host.advance_ms(600_000);
    world.host.run_due();
    let expected = expected(400, "GATEWAY_DIRECT_TRANSFER", "destination_address");
    assert_eq!(refusal(&retry(&world, &wallet, &id)), expected);
    world.arrive("base", &master, Some("DAI"), "5000000000000000000");
    assert_eq!(world.events().last().unwrap(), "swap.failed");
    assert!(world.host.effects().iter().all(|it| it.effect.then != "ordered"));
    world.check_books();
}
