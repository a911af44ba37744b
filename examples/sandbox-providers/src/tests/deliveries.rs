//! How the sandbox sends coins: what happens when blockchain, faucet or node do not do as they should.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestHost, response};

use super::support::*;

/// A swap whose coins have come.
fn started(host: &TestHost, id: &str) {
    swap(host, id, "100");
    pay_in(host, Some(USDC), "100000000");
}

#[test]
fn the_hash_is_stored_before_anything_is_sent() {
    let host = host();
    started(&host, "s1");
    give_coins(&host);
    let (_, raw) = sending(&host);
    assert!(raw.contains("sequence: 0"), "{raw}");
    assert_eq!(get(&host, "/v1/swaps/s1")["delivery"]["transaction_hash"], "0xpolygon-0");
}

#[test]
fn two_deliveries_have_two_sequences() {
    let host = host();
    started(&host, "s1");
    started(&host, "s2");
    give_coins(&host);
    let hashes = ["s1", "s2"].map(|id| get(&host, &format!("/v1/swaps/{id}"))["delivery"]["transaction_hash"].clone());
    assert_eq!(json!(hashes), json!(["0xpolygon-0", "0xpolygon-1"]));
}

#[test]
fn without_a_faucet_the_treasury_pays_with_what_it_has() {
    let chains = Chains::new();
    chains.has_faucet.set(false);
    chains.sequence.set(7);
    let host = host_on(chains);
    started(&host, "s1");
    assert!(sending(&host).1.contains("sequence: 7"));
}

#[test]
fn a_transaction_that_no_node_takes_is_signed_anew_in_its_place() {
    let host = host();
    started(&host, "s1");
    give_coins(&host);
    let (key, _) = sending(&host);
    host.settle("delivery-sent", &key, Outcome::Answered(response(422, &json!({"reason": "too poor"}))));
    host.run_due();
    assert_eq!(get(&host, "/v1/swaps/s1")["delivery"]["transaction_hash"], json!(null));
    host.advance_ms(1_000);
    host.run_due();
    give_coins(&host);
    assert!(sending(&host).1.contains("sequence: 0"), "no gap stays");
    finish(&host);
    assert_eq!(get(&host, "/v1/swaps/s1")["status"], "success");
}

#[test]
fn a_node_that_does_not_answer_ends_nothing_and_the_host_keeps_the_bytes() {
    let host = host();
    started(&host, "s1");
    give_coins(&host);
    let (key, raw) = sending(&host);
    host.settle("delivery-sent", &key, Outcome::Unknown("timeout".to_owned()));
    host.run_due();
    let followed = host.followed();
    assert_eq!(followed.iter().filter_map(|following| following.raw.as_ref()).collect::<Vec<_>>(), [&raw]);
    end_with(&host, "done");
    assert_eq!(get(&host, "/v1/swaps/s1")["status"], "success");
}

#[test]
fn coins_that_never_come_from_the_faucet_are_not_waited_for_for_ever() {
    let host = host();
    started(&host, "s1");
    // Given, and dropped by its blockchain: nobody hears of it again. First the coins for gas, then the token.
    for hash in ["0xlost1", "0xlost2"] {
        let effects = host.effects();
        let wish = effects.iter().find(|started| started.effect.then == "coins-given").expect("a wish");
        let given = Outcome::Answered(response(200, &json!({ "hash": hash })));
        host.settle("coins-given", &wish.effect.key, given);
        host.run_due();
        host.advance_ms(300_000);
        host.run_due();
    }
    finish(&host);
    assert_eq!(get(&host, "/v1/swaps/s1")["status"], "success");
}

#[test]
fn what_a_faucet_does_not_give_at_once_is_asked_for_several_times() {
    let host = host();
    swap(&host, "s1", "2502502.5");
    pay_in(&host, Some(USDC), "2502502500000");
    let tokens = give_coins(&host).into_iter().filter(|wish| wish["token"] == USDT);
    let amounts: Vec<Value> = tokens.map(|wish| wish["amount"].clone()).collect();
    assert_eq!(json!(amounts), json!(["1000000000000", "1000000000000", "499999997500"]));
    assert!(sending(&host).1.contains("amount: \"2499999997500\""));
}

#[test]
fn a_delivery_that_fails_for_good_ends_in_a_refund() {
    let host = host();
    started(&host, "s1");
    for attempt in 0..5 {
        give_coins(&host);
        let (key, _) = sending(&host);
        host.accept_transaction("delivery-sent", &key);
        host.run_due();
        end_with(&host, "failed");
        host.advance_ms(1_000 << attempt);
        host.run_due();
    }
    assert_eq!(get(&host, "/v1/swaps/s1")["status"], "processing", "the coins are still on their way back");
    give_coins(&host);
    finish(&host);
    let shown = get(&host, "/v1/swaps/s1");
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("failed"), &json!("DELIVERY_FAILED")));
    assert_eq!(shown["refund"]["transaction_hash"], "0xbase-0");
}

#[test]
fn a_faucet_that_refuses_is_asked_again_and_a_silent_blockchain_waited_for() {
    let chains = Chains::new();
    let host = host_on(chains.clone());
    started(&host, "s1");
    let key = host.effects().iter().find(|it| it.effect.then == "coins-given").unwrap().effect.key.clone();
    host.settle("coins-given", &key, Outcome::NotSent("refused".to_owned()));
    host.run_due();
    chains.answers.set(false);
    host.advance_ms(1_000);
    host.run_due();
    assert!(host.effects().is_empty());
    chains.answers.set(true);
    host.advance_ms(1_000);
    host.run_due();
    give_coins(&host);
    finish(&host);
    assert_eq!(get(&host, "/v1/swaps/s1")["status"], "success");
}
