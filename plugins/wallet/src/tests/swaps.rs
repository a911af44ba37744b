//! Swaps.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestAnswer;

use super::support::*;

const SWAPS: &str = "/v1/swaps";

fn swap(world: &World, wallet: &str, path: &str, more: &Value) -> TestAnswer {
    let (from, to) = (world.asset(wallet, "USDC"), world.asset(wallet, "DAI"));
    let mut body = json!({"from_asset_id": from, "to_asset_id": to, "amount": "100"});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    world.post(&format!("/v1/wallets/{wallet}/{path}"), &body)
}

fn begun(world: &World, answer: &TestAnswer) -> String {
    assert_eq!(answer.status, 200, "{}", answer.body);
    world.host.run_due();
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

/// Delivered to the master wallet, with this hash.
fn deliver(world: &World, wallet: &str, id: &str, (amount, units): (&str, &str)) {
    world.take_order(SWAPS, id, ("USDC", "100"));
    world.settle(id, "done");
    let hash = world.hash();
    world.provider.change(SWAPS, id, &json!({"delivery": {"amount": amount, "transaction_hash": hash}}));
    // It is seen here before the provider says that it is done.
    let address = world.host.record("wallets", wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &address, (&hash, "final", 12), Some("DAI"), units);
    world.order_becomes(SWAPS, id, &json!({"status": "success"}));
}

#[test]
fn a_swap_without_a_quote_is_quoted_and_executed() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({"slippage_tolerance": "1"})));
    let order = world.ordered(&id);
    assert_eq!((&order["offer_id"], &order["minimum_amount"]), (&json!("best"), &json!("98.901")));
    deliver(&world, &wallet, &id, ("99.9", "99900000000000000000"));
    assert_eq!((world.status(&id).as_str(), world.events().last().unwrap().as_str()), ("success", "swap.success"));
    // Booked once, whoever told of it first.
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_900_000_000_000_000_000);
    let event = world.last_event();
    assert_eq!(
        (&event["from_asset"], &event["to_asset"], &event["amount"]),
        (&json!("USDC"), &json!("DAI"), &json!("100"))
    );
    assert!(!world.events().iter().any(|name| name == "deposit.success" && event["asset"]["symbol"] == "DAI"));
    let shown = world.get(&format!("/v1/wallets/{wallet}/transactions/{id}")).json()["data"].clone();
    assert_eq!((&shown["toAmount"], &shown["toAssetSymbol"]), (&json!("99.9"), &json!("DAI")));
    world.check_books();
}

#[test]
fn however_many_swaps_fill_a_balance_each_delivery_is_booked_once() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let ids: Vec<String> =
        (0..30).map(|_| begun(&world, &swap(&world, &wallet, "swap", &json!({"amount": "1"})))).collect();
    for id in &ids {
        world.take_order(SWAPS, id, ("USDC", "1"));
        world.settle(id, "done");
    }
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let dai = || world.balance(&format!("available/wallet/{wallet}"), "base/DAI");
    // The last one first: all others are asked about it.
    for id in ids.iter().rev() {
        let hash = world.hash();
        world.provider.change(SWAPS, id, &json!({"delivery": {"amount": "1", "transaction_hash": hash}}));
        world.tell("base", &address, (&hash, "final", 12), Some("DAI"), "1000000000000000000");
    }
    assert_eq!(dai(), 0, "a delivery is no deposit");
    for id in &ids {
        world.order_becomes(SWAPS, id, &json!({"status": "success"}));
    }
    assert_eq!(dai(), 30_000_000_000_000_000_000);
    world.arrive("base", &address, Some("DAI"), "1");
    assert_eq!(dai(), 30_000_000_000_000_000_001);
    world.check_books();
}

#[test]
fn a_delivery_that_had_to_be_sent_again_is_booked_once() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({})));
    world.take_order(SWAPS, &id, ("USDC", "100"));
    world.settle(&id, "done");
    let first = json!({"delivery": {"amount": "99.9", "transaction_hash": world.hash()}});
    world.order_becomes(SWAPS, &id, &first);
    let hash = world.hash();
    world.provider.change(SWAPS, &id, &json!({"delivery": {"amount": "99.9", "transaction_hash": hash}}));
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &address, (&hash, "final", 12), Some("DAI"), "99900000000000000000");
    world.order_becomes(SWAPS, &id, &json!({"status": "success"}));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_900_000_000_000_000_000);
    world.check_books();
}

#[test]
fn a_swap_by_quote_uses_it_once() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let quote = swap(&world, &wallet, "swaps/quote", &json!({"order": "FASTEST"})).json()["data"].clone();
    assert_eq!((&quote["amount"], &quote["estimatedArrivalTime"]), (&json!("99.5"), &json!(30)));
    let with = |order: &str| json!({"quote_id": quote["quote_id"], "order": order});
    let other = swap(&world, &wallet, "swaps/execute", &with("CHEAPEST"));
    assert!(other.body.contains("another request"), "{}", other.body);
    let id = begun(&world, &swap(&world, &wallet, "swaps/execute", &with("FASTEST")));
    assert_eq!(world.ordered(&id)["offer_id"], "fast");
    let again = swap(&world, &wallet, "swaps/execute", &with("FASTEST"));
    assert_eq!(refusal(&again), expected(409, "SERVICE_VALIDATION_ERROR", "quote_id"));
}

#[test]
fn a_quote_of_a_swap_is_none_of_a_payout() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let quote = swap(&world, &wallet, "swaps/quote", &json!({})).json()["data"]["quote_id"].clone();
    let path = format!("/v1/wallets/{wallet}/withdraw/fiat/quotes/{}/accept", quote.as_str().unwrap());
    assert_eq!(world.post(&path, &json!({})).status, 404);
}

#[test]
fn each_priority_takes_its_offer() {
    let world = World::new();
    let wallet = world.rich_wallet();
    for (order, amount) in [("FASTEST", "99.5"), ("CHEAPEST", "99.7"), ("RECOMMENDED", "99.9"), ("NO_SLIPPAGE", "99")] {
        let quote = swap(&world, &wallet, "swap/quote", &json!({"settlement_order": order}));
        assert_eq!(quote.json()["data"]["amount"], amount, "{order}");
    }
}

#[test]
fn a_swap_that_brings_too_little_waits_for_somebody() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({"slippage_tolerance": "1"})));
    deliver(&world, &wallet, &id, ("95", "95000000000000000000"));
    assert_eq!(world.status(&id), "incomplete");
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 100_000_000);
    // Who goes on with it takes what has come, and pays the gas that went.
    let made = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({}));
    let taken = begun(&world, &made);
    world.host.run_due();
    assert_eq!(world.status(&taken), "success");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 95_000_000_000_000_000_000);
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/ETH"), COINS.parse::<i128>().unwrap() - 700);
    world.check_books();
}

/// Ours is sent, and the provider says that it has delivered so much, with the hash that it gives.
fn says_done(world: &World, id: &str, amount: &str) -> String {
    world.take_order(SWAPS, id, ("USDC", "100"));
    world.settle(id, "done");
    let hash = world.hash();
    let delivery = json!({"amount": amount, "transaction_hash": hash});
    world.order_becomes(SWAPS, id, &json!({"status": "success", "delivery": delivery}));
    hash
}

#[test]
fn a_swap_is_credited_with_what_has_arrived_and_not_before() {
    // Less than was said, and something that nobody can read: as long as it is enough.
    for (said, slippage) in [("99.9", "1"), ("a lot", "-1")] {
        let world = World::new();
        let wallet = world.rich_wallet();
        let id = begun(&world, &swap(&world, &wallet, "swap", &json!({"slippage_tolerance": slippage})));
        let hash = says_done(&world, &id, said);
        assert_eq!(world.status(&id), "processing", "nothing has arrived");
        let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
        world.tell("base", &address, (&hash, "seen", 1), Some("DAI"), "99000000000000000000");
        world.host.advance_ms(60_000);
        world.host.run_due();
        assert_eq!(world.status(&id), "processing", "it is not final");
        world.tell("base", &address, (&hash, "final", 12), Some("DAI"), "99000000000000000000");
        assert_eq!(world.status(&id), "success");
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_000_000_000_000_000_000);
        let shown = world.get(&format!("/v1/wallets/{wallet}/transactions/{id}")).json()["data"].clone();
        assert_eq!(shown["toAmount"], "99");
        world.check_books();
    }
}

/// A swap whose coins are with the provider, and the wallet's address.
fn under_way(world: &World, wallet: &str) -> (String, String) {
    let id = begun(world, &swap(world, wallet, "swap", &json!({})));
    world.take_order(SWAPS, &id, ("USDC", "100"));
    world.settle(&id, "done");
    (id, world.host.record("wallets", wallet).unwrap()["address"].as_str().unwrap().to_owned())
}

#[test]
fn what_a_swap_has_brought_and_is_a_deposit_already_settles_it_and_is_not_credited_again() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let (id, address) = under_way(&world, &wallet);
    // The provider says nothing of it until it is credited.
    let hash = world.arrive("base", &address, Some("DAI"), "99900000000000000000");
    let delivery = json!({"amount": "99.9", "transaction_hash": hash});
    world.order_becomes(SWAPS, &id, &json!({"status": "success", "delivery": delivery}));
    assert_eq!((world.status(&id).as_str(), world.events().last().unwrap().as_str()), ("success", "swap.success"));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_900_000_000_000_000_000);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    // It is the delivery of one swap alone.
    world.arrive("base", &address, Some("USDC"), "100000000");
    let (other, _) = under_way(&world, &wallet);
    world.order_becomes(SWAPS, &other, &json!({"status": "success", "delivery": delivery}));
    assert_eq!(world.status(&other), "incomplete");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_900_000_000_000_000_000);
    world.check_books();
}

#[test]
fn what_has_come_back_and_is_a_deposit_already_is_not_credited_again() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let (id, address) = under_way(&world, &wallet);
    let hash = world.arrive("base", &address, Some("USDC"), "100000000");
    let refund = json!({"amount": "100", "transaction_hash": hash});
    world.order_becomes(SWAPS, &id, &json!({"status": "failed", "reason": "RATE_MOVED", "refund": refund}));
    assert_eq!((world.status(&id).as_str(), world.events().last().unwrap().as_str()), ("failed", "swap.failed"));
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    world.check_books();
}

#[test]
fn of_what_one_transaction_brings_a_swap_has_its_own_and_the_rest_is_a_deposit() {
    // Told in either order.
    for order in [[0, 1], [1, 0]] {
        let world = World::new();
        let wallet = world.rich_wallet();
        let (id, address) = under_way(&world, &wallet);
        let hash = world.hash();
        let delivery = json!({"amount": "99.9", "transaction_hash": hash});
        world.provider.change(SWAPS, &id, &json!({ "delivery": delivery }));
        let amounts = ["7000000000000000000", "99900000000000000000"];
        for at in order {
            world.tell_all("base", &address, &hash, Some("DAI"), (&amounts, at));
        }
        world.order_becomes(SWAPS, &id, &json!({"status": "success"}));
        assert_eq!(world.status(&id), "success");
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 106_900_000_000_000_000_000);
        let list = world.get(&format!("/v1/wallets/{wallet}/transactions?type=DEPOSIT&assets=DAI")).json();
        assert_eq!((&list["meta"]["totalItems"], &list["data"][0]["amount"]), (&json!(1), &json!("7")));
        world.check_books();
    }
}

#[test]
fn two_swaps_that_one_transaction_delivers_have_one_movement_each() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let hash = world.hash();
    let ids = ["1", "2"].map(|amount| {
        let id = begun(&world, &swap(&world, &wallet, "swap", &json!({ "amount": amount })));
        world.take_order(SWAPS, &id, ("USDC", amount));
        world.settle(&id, "done");
        world.provider.change(SWAPS, &id, &json!({"delivery": {"amount": amount, "transaction_hash": hash}}));
        id
    });
    for at in [0, 1] {
        world.tell_all("base", &address, &hash, Some("DAI"), (&["1000000000000000000", "2000000000000000000"], at));
    }
    for id in &ids {
        world.order_becomes(SWAPS, id, &json!({"status": "success"}));
        assert_eq!(world.status(id), "success");
    }
    let taken =
        ids.map(|id| world.host.record("transactions", &id).unwrap()["outgoing"]["way"]["provider"]["took"].clone());
    assert_eq!(taken, [json!(0), json!(1)]);
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 3_000_000_000_000_000_000);
    world.check_books();
}

#[test]
fn a_swap_that_has_failed_is_free_again_when_all_of_it_is_back() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({})));
    world.take_order(SWAPS, &id, ("USDC", "100"));
    world.settle(&id, "done");
    let hash = world.hash();
    let refund = json!({"amount": "100", "transaction_hash": hash});
    world.order_becomes(SWAPS, &id, &json!({"status": "failed", "reason": "RATE_MOVED", "refund": refund}));
    assert_eq!(world.status(&id), "processing", "nothing is back");
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "100000000");
    assert_eq!(world.status(&id), "failed");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    world.check_books();
}

#[test]
fn a_swap_that_is_refused_gives_the_money_back() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({})));
    world.refuse_order(&id, "QUOTE_EXPIRED");
    assert_eq!(world.last_event()["error_code"], "SWAP_FAILED");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    world.check_books();
}

#[test]
fn a_failed_swap_is_retried_by_another_quote_as_it_was_asked_for() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let mut asked = json!({"order": "FASTEST", "slippage_tolerance": "1"});
    asked["quote_id"] = swap(&world, &wallet, "swaps/quote", &asked).json()["data"]["quote_id"].clone();
    let id = begun(&world, &swap(&world, &wallet, "swap", &asked));
    let first = world.ordered(&id);
    world.refuse_order(&id, "QUOTE_EXPIRED");
    let quotes = || world.provider.0.borrow().quotes;
    let before = quotes();
    let next = begun(&world, &world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({})));
    assert_eq!(quotes(), before + 1);
    let order = world.ordered(&next);
    assert_eq!((&order["offer_id"], &order["minimum_amount"]), (&first["offer_id"], &first["minimum_amount"]));
    assert_eq!((&order["id"], &order["recipient_address"]), (&json!(next), &first["recipient_address"]));
    deliver(&world, &wallet, &next, ("99.5", "99500000000000000000"));
    assert_eq!(world.status(&next), "success");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 99_500_000_000_000_000_000);
    world.check_books();
}

#[test]
fn what_is_wrong_with_a_swap_is_said_by_field() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let usdc = world.asset(&wallet, "USDC");
    for (more, fields) in [
        (json!({"to_asset_id": usdc}), "to_asset_id"),
        (json!({"amount": "0"}), "amount"),
        (json!({"settlement_order": "BEST"}), "settlement_order"),
        (json!({"slippage_tolerance": "101"}), "slippage_tolerance"),
        (json!({"recipient_address": "T1"}), "recipient_address"),
        (json!({"quote_id": "00000000-0000-4000-8000-000000000000"}), "quote_id"),
        (json!({"from_asset_id": 7}), "from_asset_id"),
    ] {
        let answer = swap(&world, &wallet, "swap", &more);
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", fields), "{more}");
    }
    let much = swap(&world, &wallet, "swap", &json!({"amount": "101"}));
    assert_eq!(refusal(&much).1, "SERVICE_INSUFFICIENT_BALANCE");
    let sanctioned = swap(&world, &wallet, "swap", &json!({"recipient_address": SANCTIONED}));
    assert_eq!(sanctioned.status, 403);
}

#[test]
fn what_is_bought_goes_to_somebody_else_where_that_is_wanted() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({"recipient_address": OUTSIDE})));
    assert_eq!(world.ordered(&id)["recipient_address"], OUTSIDE);
    deliver(&world, &wallet, &id, ("99.9", "1"));
    assert_eq!(world.status(&id), "success");
    // Whatever comes to us is a deposit.
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/DAI"), 1);
    world.check_books();
}

#[test]
fn what_is_bought_on_another_blockchain_arrives_there_as_a_deposit() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let there = world.wallet("polygon");
    let to = world.asset(&there, "USDT");
    let id = begun(&world, &swap(&world, &wallet, "swap", &json!({"to_asset_id": to})));
    let address = world.host.record("wallets", &there).unwrap()["address"].as_str().unwrap().to_owned();
    assert_eq!(world.ordered(&id)["recipient_address"], address);
    world.take_order(SWAPS, &id, ("USDC", "100"));
    world.settle(&id, "done");
    let hash = world.arrive("polygon", &address, Some("USDT"), "99900000");
    let delivery = json!({"amount": "99.9", "transaction_hash": hash});
    world.order_becomes(SWAPS, &id, &json!({"status": "success", "delivery": delivery}));
    assert_eq!(world.balance(&format!("available/wallet/{there}"), "polygon/USDT"), 99_900_000);
    world.check_books();
    let nowhere = world.post(
        &format!("/v1/wallets/{there}/swap"),
        &json!({"from_asset_id": to, "to_asset_id": world.asset(&wallet, "USDC"), "amount": "1"}),
    );
    assert_eq!(nowhere.status, 200, "{}", nowhere.body);
    let foreign = swap(&world, &wallet, "swap", &json!({"from_asset_id": to}));
    assert_eq!(refusal(&foreign).2, "from_asset_id");
}

#[test]
fn a_part_that_comes_back_is_a_deposit_and_somebody_has_to_look_at_the_swap() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let (id, address) = under_way(&world, &wallet);
    let hash = world.hash();
    let refund = json!({"amount": "60", "transaction_hash": hash});
    world.provider.change(SWAPS, &id, &json!({ "refund": refund }));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "60000000");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 60_000_000);
    world.order_becomes(SWAPS, &id, &json!({"status": "failed", "reason": "RATE_MOVED"}));
    assert_eq!(world.status(&id), "incomplete");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 60_000_000);
    world.check_books();
}
