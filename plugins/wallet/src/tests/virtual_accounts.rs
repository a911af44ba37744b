//! Virtual accounts; rates and the sanctions look-up.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestAnswer, TestCall, response};

use super::support::*;

const LIVE: &str = "acme/live";

fn live(world: &World, method: &str, path: &str, body: &Value) -> TestAnswer {
    world.host.call(TestCall::new(method, path).tenant(LIVE).json(body))
}

fn owner() -> Value {
    json!({"firstname": "Ada", "lastname": "Okafor", "email": "ada@example.com", "phone": "+2348012345678"})
}

/// A live wallet on Base whose business has done its due diligence.
fn wallet(world: &World) -> String {
    let body = json!({"blockchain": "base", "webhook_url": "https://example.com/hook"});
    let made = live(world, "POST", "/v1/wallets", &body).json()["data"].clone();
    for (step, body) in [("submit", json!({})), ("decide", json!({"state": "approved"}))] {
        live(world, "POST", &format!("/v1/compliance/forms/due-diligence/{step}"), &body);
    }
    made["wallet_id"].as_str().unwrap().to_owned()
}

/// The bank answers a change; "" makes the account.
fn told(world: &World, id: &str, change: &str, status: &str) {
    let shown = json!({"status": status, "account_name": "ADA OKAFOR", "account_number": "9900000017",
        "bank_code": "SANDNGLA", "bank_name": "Sandbox Bank"});
    world.host.settle("virtual-account", &format!("{id}/{change}"), Outcome::Answered(response(200, &shown)));
    world.host.run_due();
}

#[test]
fn a_virtual_account_has_a_number_when_the_bank_gives_one() {
    let world = World::new();
    let wallet = wallet(&world);
    let root = format!("/v1/wallets/{wallet}/virtual-accounts");
    let made = live(&world, "POST", &root, &owner());
    assert_eq!((made.status, &made.json()["data"]["status"]), (201, &json!("requested")));
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    told(&world, &id, "", "active");
    let path = format!("{root}/{id}");
    let read = live(&world, "GET", &path, &json!({})).json()["data"].clone();
    assert_eq!((&read["accountNumber"], &read["isActive"]), (&json!("9900000017"), &json!(true)));
    let off = live(&world, "PATCH", &path, &json!({"isActive": false})).json();
    assert_eq!(off["data"]["status"], "inactive");
    told(&world, &id, "deactivate", "inactive");
    assert_eq!(live(&world, "POST", &format!("{path}/regenerate"), &json!({})).status, 409);
    live(&world, "PATCH", &path, &json!({"isActive": true}));
    told(&world, &id, "activate", "active");
    let again = live(&world, "POST", &format!("{path}/regenerate"), &json!({})).json();
    assert_eq!(again["data"]["status"], "requested");
    assert_eq!(live(&world, "GET", &root, &json!({})).json()["meta"]["totalItems"], 1);
}

#[test]
fn payments_are_paged_beyond_the_first_page_of_the_provider() {
    let world = World::new();
    let root = format!("/v1/wallets/{}/virtual-accounts", wallet(&world));
    let made = live(&world, "POST", &root, &owner()).json();
    let path = format!("{root}/{}/transactions", made["data"]["id"].as_str().unwrap());
    let list = |query: &str| live(&world, "GET", &format!("{path}{query}"), &json!({})).json();
    let check = |query: &str, total: u64, first: Option<&str>, count: u64| {
        let list = list(query);
        assert_eq!(list["meta"]["totalItems"], total, "{query}");
        assert_eq!(list["meta"]["itemCount"], count, "{query}");
        assert_eq!(list["data"][0]["id"].as_str(), first, "{query}");
    };
    check("", 0, None, 0);
    world.provider.0.borrow_mut().payments = 150;
    check("", 150, Some("payment 0"), 100);
    check("?page=2", 150, Some("payment 100"), 50);
    check("?page=3&limit=60", 150, Some("payment 120"), 30);
    world.provider.0.borrow_mut().payments = 1_000;
    check("?page=3", 300, Some("payment 200"), 100);
    check("?page=4", 300, None, 0);
}

#[test]
fn there_are_none_on_a_test_network_and_none_without_due_diligence() {
    let world = World::new();
    let test = world.poor_wallet("base");
    let answer = world.post(&format!("/v1/wallets/{test}/virtual-accounts"), &owner());
    assert_eq!(refusal(&answer), expected(400, "VIRTUAL_ACCOUNT_TESTNET", ""));
    let body = json!({"blockchain": "base", "webhook_url": "https://example.com/hook"});
    let id = live(&world, "POST", "/v1/wallets", &body).json()["data"]["wallet_id"].as_str().unwrap().to_owned();
    let answer = live(&world, "POST", &format!("/v1/wallets/{id}/virtual-accounts"), &owner());
    assert_eq!(refusal(&answer), expected(403, "SERVICE_VALIDATION_ERROR", ""));
    let missing = live(&world, "POST", &format!("/v1/wallets/{}/virtual-accounts", id), &json!({"email": 7}));
    assert_eq!(missing.status, 403);
}

#[test]
fn rates_are_numbers_by_asset_and_currency() {
    let world = World::new();
    let rates = world.get("/v1/assets/rates?assets=USDC,BTC&currency=NGN");
    assert!(rates.body.contains(r#""data":{"USDC":{"NGN":1510.25}}"#), "{}", rates.body);
    for query in ["", "?assets=", "?assets=US%20DC", "?assets=USDC&currency=A,B"] {
        assert_eq!(world.get(&format!("/v1/assets/rates{query}")).status, 400, "{query}");
    }
}

#[test]
fn an_address_is_looked_up_in_both_spellings() {
    let world = World::new();
    let found = world.get(&format!("/v1/aml/lookup?address={SANCTIONED}&blockchain=base")).json();
    assert_eq!((&found["data"]["isBlackListed"], &found["data"]["isBlacklisted"]), (&json!(true), &json!(true)));
    let clean = world.get(&format!("/v1/aml/lookup?address={OUTSIDE}")).json();
    assert_eq!(clean["data"]["message"], "Address is not sanctioned");
    assert_eq!(refusal(&world.get("/v1/aml/lookup?address=x")).2, "address");
    assert_eq!(refusal(&world.get("/v1/aml/lookup")).2, "address");
}
