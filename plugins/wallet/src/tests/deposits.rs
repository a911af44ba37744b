//! What arrives: seen, final, lost, and swept to the master wallet.

use serde_json::json;

use super::support::*;

#[test]
fn a_deposit_is_told_when_seen_and_credited_when_final() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({"metadata": {"user": 7}, "disable_auto_sweep": true}));
    let hash = world.hash();
    world.tell("base", &address, (&hash, "seen", 1), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("pending/address/{id}"), "base/USDC"), 5_000_000);
    assert_eq!(world.events().last().unwrap(), "deposit.processing");
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    let event = world.last_event();
    assert_eq!(
        (&event["amount"], &event["metadata"], &event["address_id"]),
        (&json!("5"), &json!({"user": 7}), &json!(id))
    );
    assert_eq!((&event["transaction_hash"], &event["status"]), (&json!(hash), &json!("SUCCESS")));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn a_deposit_that_vanishes_is_lost_and_may_come_back() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({"disable_auto_sweep": true}));
    let hash = world.hash();
    world.tell("base", &address, (&hash, "seen", 1), Some("USDC"), "5000000");
    world.tell("base", &address, (&hash, "gone", 0), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("pending/address/{id}"), "base/USDC"), 0);
    assert_eq!(world.last_event()["error_code"], "SERVICE_NOT_FOUND");
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn what_comes_on_another_evm_blockchain_is_booked_to_its_wallet() {
    let world = World::new();
    let (base, polygon) = (world.wallet("base"), world.wallet("polygon"));
    let (id, address) = world.address(&base, &json!({"disable_auto_sweep": true}));
    world.arrive("polygon", &address, Some("USDC"), "9000000");
    assert_eq!(world.balance(&format!("available/address/{id}"), "polygon/USDC"), 9_000_000);
    assert_eq!(world.last_event()["wallet_id"], polygon.as_str());
}

#[test]
fn coins_come_silently_and_unknown_tokens_not_at_all() {
    let world = World::new();
    let wallet = world.wallet("base");
    assert_eq!(world.events(), ["wallet.created"]);
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/ETH"), 10_000_000_000_000_000_000);
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.arrive("base", &address, Some("FAKE"), "9000000");
    assert_eq!(world.host.balances().keys().filter(|(_, asset)| asset != "base/ETH").count(), 0);
}

#[test]
fn a_deposit_is_swept_with_coins_of_the_master() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (id, address) = world.address(&wallet, &json!({}));
    world.arrive("base", &address, Some("USDC"), "5000000");
    let sent = |world: &World| world.host.effects().iter().map(|it| it.effect.key.clone()).collect::<Vec<_>>();
    let fund = sent(&world).remove(0);
    world.settle(&fund, "done");
    let sweep = sent(&world).remove(0);
    let hash = world.settle(&sweep, "done");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 5_000_000);
    assert_eq!(world.balance(&format!("available/address/{id}"), "base/USDC"), 0);
    let event = world.last_event();
    assert_eq!(world.events().last().unwrap(), "deposit.swept.success");
    assert_eq!((&event["transaction_hash"], &event["amount"]), (&json!(hash), &json!("5")));
    // What the blockchain tells of our own movement is no deposit.
    let master = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &master, (&hash, "final", 12), Some("USDC"), "5000000");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 5_000_000);
    world.check_books();
}

#[test]
fn a_sweep_without_gas_has_failed_and_says_so() {
    let world = World::new();
    let wallet = world.wallet("base");
    let (_, address) = world.address(&wallet, &json!({}));
    let eth = world.asset(&wallet, "ETH");
    let body = json!({"asset_id": eth, "amount": "9.9999999999999975", "destination_address": OUTSIDE});
    let spent = world.post(&format!("/v1/wallets/{wallet}/withdraw"), &body);
    assert_eq!(spent.status, 200, "{}", spent.body);
    world.host.run_due();
    world.arrive("base", &address, Some("USDC"), "5000000");
    assert_eq!(world.events().last().unwrap(), "deposit.swept.failed");
    assert_eq!(world.last_event()["error_code"], "DEPOSIT_SWEEP_FAILED");
}

#[test]
fn deposits_below_the_threshold_rest_until_somebody_asks_for_them() {
    let world = World::new();
    let wallet = world.wallet("tron");
    let sweeping = json!({"configurations": {"autoSweeping": {"threshold": "10"}}});
    let patch = tenon_plugin::test_kit::TestCall::patch(&format!("/v1/wallets/{wallet}")).json(&sweeping);
    assert_eq!(world.host.call(patch).status, 200);
    let (id, address) = world.address(&wallet, &json!({}));
    world.arrive("tron", &address, Some("USDT"), "4000000");
    assert!(world.host.effects().is_empty());
    let asked = world.post(&format!("/v1/wallets/{wallet}/sweep/assets"), &json!({})).json();
    assert_eq!(asked["data"]["sweeps"], 1);
    world.host.run_due();
    world.settle(&world.host.effects()[0].effect.key.clone(), "done");
    // What comes while the sweep is under way goes with the next one.
    world.arrive("tron", &address, Some("USDT"), "20000000");
    world.settle(&world.host.effects()[0].effect.key.clone(), "done");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "tron/USDT"), 4_000_000);
    assert_eq!(world.balance(&format!("available/address/{id}"), "tron/USDT"), 20_000_000);
    world.settle(&world.host.effects()[0].effect.key.clone(), "done");
    world.settle(&world.host.effects()[0].effect.key.clone(), "done");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "tron/USDT"), 24_000_000);
    let list = world.get(&format!("/v1/wallets/{wallet}/transactions?type=DEPOSIT")).json();
    assert!(list["data"].as_array().unwrap().iter().all(|row| row["assetSwept"] == true));
    world.check_books();
}

#[test]
fn what_comes_to_a_watched_address_of_others_is_told_and_not_booked() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/addresses/whitelist");
    assert_eq!(world.post(&path, &json!({"address": OUTSIDE})).status, 201);
    world.arrive("base", OUTSIDE, Some("USDC"), "5000000");
    assert_eq!(world.events().last().unwrap(), "deposit.success");
    assert!(world.host.balances().keys().all(|(_, asset)| asset == "base/ETH"));
}
