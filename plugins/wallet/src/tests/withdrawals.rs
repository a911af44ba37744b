//! What leaves: alone and in batches, who pays the gas, what goes wrong on the way.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::response;

use super::support::*;

/// A wallet on Base with a hundred USDC, and its asset_id.
fn rich(world: &World) -> (String, String) {
    let wallet = world.rich_wallet();
    let usdc = world.asset(&wallet, "USDC");
    (wallet, usdc)
}

fn withdraw(world: &World, wallet: &str, body: &Value) -> Value {
    let answer = world.post(&format!("/v1/wallets/{wallet}/withdraw"), body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["data"].clone()
}

#[test]
fn a_withdrawal_holds_first_and_is_spent_when_final() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let body = json!({"asset_id": usdc, "amount": "40", "destination_address": OUTSIDE, "reference": "r1"});
    let made = withdraw(&world, &wallet, &body);
    assert_eq!((&made["transaction_status"], &made["type"]), (&json!("pending"), &json!("WITHDRAW")));
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 40_000_000);
    world.host.run_due();
    let hash = world.settle(made["id"].as_str().unwrap(), "done");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 60_000_000);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    assert_eq!(world.balance("fees/base", "base/ETH"), 700);
    let event = world.last_event();
    assert_eq!(world.events().last().unwrap(), "withdraw.success");
    assert_eq!((&event["destination_address"], &event["transaction_hash"]), (&json!(OUTSIDE), &json!(hash)));
    assert_eq!(event["asset_id"], usdc.as_str());
    world.check_books();
}

#[test]
fn two_names_of_a_member_with_different_values_move_no_money() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let dai = world.asset(&wallet, "DAI");
    let path = format!("/v1/wallets/{wallet}/withdraw");
    for (changes, field) in [
        (json!({"address": SANCTIONED}), "destination_address"),
        (json!({"destinationAddress": SANCTIONED}), "destination_address"),
        (json!({"address": null}), "destination_address"),
        (json!({"assetId": dai}), "asset_id"),
        (json!({"assetId": "unknown"}), "asset_id"),
    ] {
        let mut body = json!({"asset_id": usdc, "amount": "40", "destination_address": OUTSIDE});
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        assert_eq!(refusal(&world.post(&path, &body)), expected(400, "SERVICE_VALIDATION_ERROR", field), "{changes}");
        let batch = world.post(&path, &json!({ "assets": [body] }));
        let place = format!("assets[0].{field}");
        assert_eq!(refusal(&batch), expected(400, "SERVICE_VALIDATION_ERROR", &place), "{changes}");
    }
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    let equal = json!({
        "asset_id": usdc, "assetId": usdc, "amount": "40", "destination_address": OUTSIDE, "address": OUTSIDE,
    });
    withdraw(&world, &wallet, &equal);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 40_000_000);
}

#[test]
fn a_withdrawal_that_fails_gives_back_all_but_the_gas() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let made = withdraw(&world, &wallet, &json!({"assetId": usdc, "amount": 40, "address": OUTSIDE}));
    world.host.run_due();
    world.settle(made["id"].as_str().unwrap(), "failed");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    assert_eq!(world.balance("fees/base", "base/ETH"), 700);
    assert_eq!(world.last_event()["error_code"], "WITHDRAWAL_FAILED");
    world.check_books();
}

#[test]
fn what_a_node_refuses_has_failed_and_its_number_is_used_again() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let body = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    let refused = |id: &str| {
        world.host.settle("sent", id, Outcome::Answered(response(422, &json!({"reason": "never"}))));
        world.host.run_due();
    };
    let sequence = |id: &str| world.host.record("transactions", id).unwrap()["outgoing"]["way"]["sequence"].clone();
    let first = withdraw(&world, &wallet, &body)["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    refused(&first);
    assert_eq!(world.events().last().unwrap(), "withdraw.failed");
    let second = withdraw(&world, &wallet, &body)["id"].as_str().unwrap().to_owned();
    let third = withdraw(&world, &wallet, &body)["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    let mut taken = [sequence(&second), sequence(&third)];
    taken.sort_by_key(|number| number.as_u64());
    assert_eq!(taken, [json!(0), json!(1)]);
    // The later one waits for the number of the earlier: it is filled with nothing, sent to oneself.
    let earlier = if sequence(&second) == 0 { &second } else { &third };
    refused(earlier);
    let filler = world.host.effects().into_iter().map(|it| it.effect.key).find(|key| sequence(key) == 0).unwrap();
    world.settle(&filler, "done");
    assert_eq!(world.balance("fees/base", "base/ETH"), 700);
    world.check_books();
}

#[test]
fn a_reference_finds_the_first_and_refuses_another_request() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let body = json!({"asset_id": usdc, "amount": "40", "destination_address": OUTSIDE, "reference": "r1"});
    let (first, again) = (withdraw(&world, &wallet, &body), withdraw(&world, &wallet, &body));
    assert_eq!(first["id"], again["id"]);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 40_000_000);
    let other = json!({"asset_id": usdc, "amount": "41", "destination_address": OUTSIDE, "reference": "r1"});
    let answer = world.post(&format!("/v1/wallets/{wallet}/withdraw"), &other);
    assert_eq!(refusal(&answer), expected(409, "SERVICE_VALIDATION_ERROR", "reference"));
}

#[test]
fn a_batch_has_one_hold_and_a_transaction_for_each_recipient() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let recipient = |amount: &str| json!({"id": usdc, "amount": amount, "address": OUTSIDE});
    let rows = withdraw(&world, &wallet, &json!({"assets": [recipient("10"), recipient("20")]}));
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 30_000_000);
    world.host.run_due();
    for row in rows.as_array().unwrap() {
        world.settle(row["id"].as_str().unwrap(), "done");
    }
    assert_eq!(world.events().iter().filter(|name| *name == "withdraw.success").count(), 2);
    let path = format!("/v1/wallets/{wallet}/withdraw");
    let too_much = world.post(&path, &json!({"assets": [recipient("60"), recipient("20")]}));
    assert_eq!(refusal(&too_much), expected(422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let many: Vec<Value> = (0..21).map(|_| recipient("1")).collect();
    assert_eq!(refusal(&world.post(&path, &json!({ "assets": many }))).1, "BATCH_SIZE_EXCEEDED");
    world.check_books();
}

#[test]
fn a_repeated_batch_finds_the_first_and_a_changed_one_is_refused() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let recipient = |amount: &str, reference: Value| json!({"id": usdc, "amount": amount, "address": OUTSIDE, "reference": reference});
    let (one, two) = (recipient("1", json!("a")), recipient("2", json!("b")));
    let both = json!({"assets": [one, two]});
    let ids = |rows: &Value| rows.as_array().unwrap().iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&withdraw(&world, &wallet, &both)), ids(&withdraw(&world, &wallet, &both)));
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 3_000_000);
    let path = format!("/v1/wallets/{wallet}/withdraw");
    for more in [recipient("3", Value::Null), recipient("3", json!("c"))] {
        let answer = world.post(&path, &json!({"assets": [one, two, more]}));
        assert_eq!(refusal(&answer), expected(409, "SERVICE_VALIDATION_ERROR", "reference"));
    }
    // One recipient has no reference of its own, and is another.
    let mixed = |amount: &str| json!({"assets": [recipient("1", json!("d")), recipient(amount, Value::Null)]});
    assert_eq!(ids(&withdraw(&world, &wallet, &mixed("2"))), ids(&withdraw(&world, &wallet, &mixed("2"))));
    let answer = world.post(&path, &mixed("3"));
    assert_eq!(refusal(&answer), expected(409, "SERVICE_VALIDATION_ERROR", "reference"));
}

#[test]
fn the_master_pays_the_gas_of_a_gasless_withdrawal() {
    let world = World::new();
    let wallet = world.wallet("base");
    let options = json!({"disable_auto_sweep": true, "enable_gasless_withdraw": true});
    let (id, address) = world.address(&wallet, &options);
    world.arrive("base", &address, Some("USDC"), "5000000");
    let usdc = world.asset(&wallet, "USDC");
    let path = format!("/v1/wallets/{wallet}/addresses/{id}/withdraw");
    let made = world.post(&path, &json!({"asset_id": usdc, "amount": "5", "destination_address": OUTSIDE}));
    assert_eq!(made.status, 200, "{}", made.body);
    world.host.run_due();
    let fund = world.host.effects()[0].effect.key.clone();
    world.settle(&fund, "done");
    world.settle(made.json()["data"]["id"].as_str().unwrap(), "done");
    assert_eq!(world.events().last().unwrap(), "withdraw.success");
    // Ten ether, less two transactions, less the coins that the address has left.
    let rest = 3_000 - 700;
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/ETH"), rest);
    assert_eq!(
        world.balance(&format!("available/wallet/{wallet}"), "base/ETH"),
        10_000_000_000_000_000_000 - 3_000 - 700
    );
    world.check_books();
}

#[test]
fn gasless_withdrawals_at_once_do_not_count_on_the_same_coins() {
    let world = World::new();
    let wallet = world.wallet("base");
    let options = json!({"disable_auto_sweep": true, "enable_gasless_withdraw": true});
    let (id, address) = world.address(&wallet, &options);
    world.arrive("base", &address, Some("USDC"), "5000000");
    // Not enough for one of them.
    world.arrive("base", &address, None, "2000");
    let usdc = world.asset(&wallet, "USDC");
    let path = format!("/v1/wallets/{wallet}/addresses/{id}/withdraw");
    let body = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    let made = [&body, &body].map(|body| world.post(&path, body).json()["data"]["id"].as_str().unwrap().to_owned());
    world.host.run_due();
    let funds: Vec<String> = world.host.effects().iter().map(|it| it.effect.key.clone()).collect();
    assert_eq!(funds.len(), 2);
    for fund in &funds {
        world.settle(fund, "done");
    }
    for id in &made {
        world.settle(id, "done");
    }
    assert_eq!(world.balance("external/base", "base/USDC"), -3_000_000);
    world.check_books();
}

#[test]
fn a_silent_blockchain_is_asked_again_and_nothing_goes_twice() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let body = json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE});
    let made = withdraw(&world, &wallet, &body);
    world.chain.0.borrow_mut().is_silent = true;
    world.host.run_due();
    assert_eq!(world.host.effects().len(), 0);
    world.chain.0.borrow_mut().is_silent = false;
    world.host.advance_ms(10_000);
    world.host.run_due();
    let id = made["id"].as_str().unwrap();
    let hash = world.host.record("transactions", id).unwrap()["hash"].clone();
    world.host.put_task("process", id, world.host.now(), "{}");
    world.host.run_due();
    assert_eq!(world.host.record("transactions", id).unwrap()["hash"], hash);
    assert_eq!(world.host.effects().len(), 1);
}

#[test]
fn nobody_on_a_sanctions_list_is_paid_alone_or_in_a_batch() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let path = format!("/v1/wallets/{wallet}/withdraw");
    let single = json!({"asset_id": usdc, "amount": "1", "destination_address": SANCTIONED});
    assert_eq!(refusal(&world.post(&path, &single)), expected(403, "SERVICE_VALIDATION_ERROR", "destination_address"));
    let recipient = |address: &str| json!({"id": usdc, "amount": "1", "address": address});
    let all: Vec<Value> = (0..20).map(|at| recipient(if at == 3 { SANCTIONED } else { OUTSIDE })).collect();
    let rows = withdraw(&world, &wallet, &json!({ "assets": all }));
    world.host.run_due();
    let status =
        |at: usize| world.host.record("transactions", rows[at]["id"].as_str().unwrap()).unwrap()["status"].clone();
    assert_eq!((status(2), status(3)), (json!("processing"), json!("failed")));
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 19_000_000);
    world.check_books();
}

#[test]
fn who_lacks_money_and_who_lacks_gas_are_told_apart() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let body = |id: &str, amount: &str| json!({"asset_id": id, "amount": amount, "destination_address": OUTSIDE});
    let path = format!("/v1/wallets/{wallet}/withdraw");
    assert_eq!(refusal(&world.post(&path, &body(&usdc, "101"))), expected(422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let (id, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    let from_address = format!("/v1/wallets/{wallet}/addresses/{id}/withdraw");
    assert_eq!(refusal(&world.post(&from_address, &body(&usdc, "5"))), expected(422, "SERVICE_INSUFFICIENT_GAS", ""));
    let fee = world.post(&format!("{path}/network-fee"), &body(&usdc, "5")).json()["data"].clone();
    assert_eq!((&fee["networkFee"], &fee["estimatedArrivalTime"]), (&json!("0.000000000000003"), &json!(24)));
}

#[test]
fn mistakes_are_told_by_field_and_nothing_changes() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let path = format!("/v1/wallets/{wallet}/withdraw");
    for (body, fields) in [
        (json!({}), "asset_id amount destination_address"),
        (json!({"asset_id": 1, "amount": [], "destination_address": {}}), "asset_id amount destination_address"),
        (json!({"asset_id": usdc, "amount": "0", "destination_address": OUTSIDE}), "amount"),
        (json!({"asset_id": usdc, "amount": -1, "destination_address": OUTSIDE}), "amount"),
        (json!({"asset_id": usdc, "amount": "1e3", "destination_address": OUTSIDE}), "amount"),
        (json!({"asset_id": usdc, "amount": "0.0000001", "destination_address": OUTSIDE}), "amount"),
        (
            json!({"asset_id": usdc, "amount": "1", "destination_address": "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6"}),
            "destination_address",
        ),
        (json!({"asset_id": wallet, "amount": "1", "destination_address": OUTSIDE}), "asset_id"),
        (json!({"assets": []}), "assets"),
        (json!({"assets": "x"}), "assets"),
    ] {
        let answer = world.post(&path, &body);
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", fields), "{body}");
        assert!(answer.refused);
    }
}

#[test]
fn a_gasless_withdrawal_whose_coins_did_not_come_has_failed_and_can_be_retried() {
    let world = World::new();
    let wallet = world.wallet("base");
    let options = json!({"disable_auto_sweep": true, "enable_gasless_withdraw": true});
    let (id, address) = world.address(&wallet, &options);
    world.arrive("base", &address, Some("USDC"), "5000000");
    let usdc = world.asset(&wallet, "USDC");
    let path = format!("/v1/wallets/{wallet}/addresses/{id}/withdraw");
    let made = world.post(&path, &json!({"asset_id": usdc, "amount": "5", "destination_address": OUTSIDE}));
    let first = made.json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    world.settle(&world.host.effects()[0].effect.key.clone(), "failed");
    assert_eq!(world.last_event()["error_code"], "SERVICE_INSUFFICIENT_GAS");
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    let next = world.post(&format!("/v1/wallets/{wallet}/transactions/retry"), &json!({ "id": first }));
    assert_eq!(next.status, 200, "{}", next.body);
    world.host.run_due();
    world.settle(&world.host.effects()[0].effect.key.clone(), "done");
    world.settle(next.json()["data"]["id"].as_str().unwrap(), "done");
    assert_eq!(world.events().last().unwrap(), "withdraw.success");
    world.check_books();
}

#[test]
fn nothing_is_sent_to_nobody_or_to_who_sends_it() {
    let world = World::new();
    let (wallet, usdc) = rich(&world);
    let own = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    let recipient = |to: &str| json!({"asset_id": usdc, "amount": "1", "destination_address": to});
    let zero = "0x0000000000000000000000000000000000000000";
    let path = |what: &str| format!("/v1/wallets/{wallet}/{what}");
    for to in [zero, &own] {
        let answer = world.post(&path("withdraw"), &recipient(to));
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", "destination_address"), "{to}");
    }
    let answer = world.post(&path("withdraw"), &json!({"assets": [recipient(OUTSIDE), recipient(zero)]}));
    assert_eq!(refusal(&answer).2, "assets[1].destination_address");
    let body = json!({"from_asset_id": usdc, "to_asset_id": world.asset(&wallet, "DAI"), "amount": "1"});
    let mut swap = body.clone();
    swap["recipient_address"] = json!(zero);
    assert_eq!(refusal(&world.post(&path("swap"), &swap)).2, "recipient_address");
    world.fill_gateway(&wallet);
    let out = json!({"amount": "1", "destination_chain": "polygon", "destination_address": zero});
    assert_eq!(refusal(&world.post(&path("gateway/withdraw"), &out)).2, "destination_address");
}
