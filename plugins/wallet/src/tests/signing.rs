//! Signatures of messages, documents and raw transactions, and their broadcast.

use serde_json::json;
use tenon_plugin::tasks::Outcome;

use super::provider::CONTRACT;
use super::support::*;

#[test]
fn a_message_is_signed_once_for_a_reference() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/signing/message");
    let first = world.post(&path, &json!({"message": "hello", "reference": "m1"})).json()["data"].clone();
    assert!(first["signature"].as_str().unwrap().starts_with("0x"));
    assert_eq!((&first["type"], &first["status"]), (&json!("SIGNED"), &json!("SUCCESS")));
    assert_eq!(world.last_event()["signature"], first["signature"]);
    let again = world.post(&path, &json!({"message": "hello", "reference": "m1"})).json()["data"]["id"].clone();
    assert_eq!(again, first["id"]);
    let other = world.post(&path, &json!({"message": "bye", "reference": "m1"}));
    assert_eq!(refusal(&other), expected(409, "SERVICE_VALIDATION_ERROR", "reference"));
    assert_eq!(refusal(&world.post(&path, &json!({"message": "x".repeat(4_097)}))).2, "message");
    assert_eq!(world.events().iter().filter(|name| *name == "signed.success").count(), 1);
}

#[test]
fn typed_data_is_signed_on_evm_blockchains_alone() {
    let world = World::new();
    let document = json!({
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Mail": [{"name": "text", "type": "string"}]},
        "primaryType": "Mail", "domain": {"name": "x"}, "message": {"text": "hi"},
    });
    let path = |wallet: &str| format!("/v1/wallets/{wallet}/signing/typed-data");
    let signed = world.post(&path(&world.wallet("base")), &document);
    assert_eq!(signed.status, 200, "{}", signed.body);
    assert!(!signed.json()["data"]["signature"].is_null());
    assert_eq!(refusal(&world.post(&path(&world.wallet("tron")), &document)).2, "blockchain");
}

#[test]
fn typed_data_in_data_and_beside_it_is_refused() {
    let world = World::new();
    let path = format!("/v1/wallets/{}/signing/typed-data", world.wallet("base"));
    let document = json!({
        "types": {"Mail": [{"name": "text", "type": "string"}]}, "primaryType": "Mail", "domain": {"chainId": 1},
        "message": {"text": "hi"},
    });
    let answer = world.post(&path, &json!({"data": document, "message": {"text": "bye"}}));
    assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", "message"));
    assert!(world.events().iter().all(|name| *name != "signed.success"));
}

#[test]
fn what_is_wrong_with_typed_data_is_said_by_member() {
    let world = World::new();
    let wallet = world.wallet("base");
    let document = json!({
        "types": {"Mail": [{"name": "text", "type": "string"}]}, "primaryType": "Mail", "domain": {"chainId": 1},
        "message": {"text": "hi"},
    });
    for (member, value) in [
        ("types", json!([])),
        ("types", json!({"Mail": [{"name": "text"}]})),
        ("types", json!({"Mail": [{"name": "text", "type": "uint"}]})),
        ("types", json!({"Mail": [{"name": "text", "type": "Letter"}]})),
        ("types", json!({"Mail": [{"name": "text", "type": "string"}], "EIP712Domain": []})),
        ("primaryType", json!("Letter")),
        ("primaryType", json!(7)),
        ("domain", json!([])),
        ("domain", json!({})),
        ("domain", json!({"chainId": "one"})),
        ("message", json!({"text": 7})),
        ("message", json!({})),
        ("message", json!([])),
        ("message", json!({"text": "hi", "more": 1})),
    ] {
        let mut broken = document.clone();
        broken[member] = value.clone();
        for body in [broken.clone(), json!({ "data": broken })] {
            let answer = world.post(&format!("/v1/wallets/{wallet}/signing/typed-data"), &body);
            assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", member), "{value}");
        }
    }
}

#[test]
fn a_raw_transaction_is_signed_and_sent_until_nobody_can_any_more() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/signing/broadcast");
    assert_eq!(refusal(&world.post(&path, &json!({"transaction": "0x99"}))).2, "transaction");
    let made = world.post(&path, &json!({"transaction": "0x02aa"})).json()["data"].clone();
    assert!(made["hash"].as_str().unwrap().starts_with("0x"));
    world.host.run_due();
    assert_eq!(world.host.effects()[0].effect.delays, vec![300_000; 10]);
    // The attempts are counted until a node has it; from then on whatever a reorganisation loses is sent again.
    assert_eq!(world.host.followed()[0].raw, None);
    world.host.accept_transaction("sent", made["id"].as_str().unwrap());
    world.host.run_due();
    assert!(world.host.followed()[0].raw.is_some());
    let done = json!({"state": "done", "block": 9, "confirmations": 12, "fee": "700", "movements": []});
    world.host.finish_transaction("base", made["hash"].as_str().unwrap(), &done);
    world.host.run_due();
    assert_eq!(world.last_event()["transaction_hash"], made["hash"]);
    let other = world.post(&path, &json!({"transaction": "0x02bb"})).json()["data"]["id"].clone();
    world.host.run_due();
    world.host.settle("sent", other.as_str().unwrap(), Outcome::NotSent("refused".to_owned()));
    world.host.run_due();
    assert_eq!(world.events().last().unwrap(), "signed.failed");
    let silent = world.post(&path, &json!({"transaction": "0x02cc"})).json()["data"]["id"].clone();
    world.host.run_due();
    world.host.settle("sent", silent.as_str().unwrap(), Outcome::Unknown("timeout".to_owned()));
    world.host.run_due();
    assert_eq!(world.status(silent.as_str().unwrap()), "failed");
    assert!(world.host.followed().is_empty(), "nobody sends it any more");
    world.check_books();
}

#[test]
fn a_raw_transaction_may_be_signed_without_being_sent() {
    let world = World::new();
    let wallet = world.wallet("base");
    let path = format!("/v1/wallets/{wallet}/signing/transaction");
    let made = world.post(&path, &json!({"transaction": "0x02aa"})).json()["data"].clone();
    assert!(made["signedTransaction"].as_str().unwrap().contains("0x02aa"));
    world.host.run_due();
    assert!(world.host.effects().iter().all(|it| it.effect.then != "sent"));
}

#[test]
fn usdc_is_not_sent_to_the_gateways_contract_by_a_raw_transaction_either() {
    let world = World::new();
    let wallet = world.rich_wallet();
    world.fill_gateway(&wallet);
    let transfer = |to: &str| format!("0x02aaa9059cbb{}{}{:064x}", "0".repeat(24), to.trim_start_matches("0x"), 7);
    let path = |what: &str| format!("/v1/wallets/{wallet}/signing/{what}");
    for what in ["broadcast", "transaction"] {
        let answer = world.post(&path(what), &json!({"transaction": transfer(CONTRACT)}));
        assert_eq!(refusal(&answer), expected(400, "GATEWAY_DIRECT_TRANSFER", "transaction"));
    }
    assert_eq!(world.post(&path("transaction"), &json!({"transaction": transfer(OUTSIDE)})).status, 200);
}
