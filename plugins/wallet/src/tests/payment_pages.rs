//! The page of a link: what its token opens, and that it follows what arrives.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::support::*;
use crate::records::payment_links::ATTRIBUTE;

/// A link for ten USDC on Base: its id and its address.
fn linked(world: &World) -> (String, String) {
    let wallet = world.wallet("base");
    let body = json!({"name": "Invoice <7>", "asset_id": world.asset(&wallet, "USDC"), "amount": "10", "redirect_url": "https://shop.example"});
    let call =
        TestCall::post(&format!("/v1/wallets/{wallet}/payment-links")).context("base-url", "https://pay.example.com");
    let link = world.host.call(call.json(&body)).json()["data"].clone();
    let text = |name: &str| link[name].as_str().unwrap().to_owned();
    (text("payment_link_id"), text("address"))
}

/// As the host calls it: the ticket itself it keeps.
fn open(world: &World, link: &str, target: &str) -> TestAnswer {
    world.host.call(TestCall::get(target).token().attribute(ATTRIBUTE, link))
}

fn state(world: &World, link: &str) -> Value {
    open(world, link, "/pay/token_1/status").json()["data"].clone()
}

#[test]
fn the_page_of_a_link_shows_what_it_asks_for() {
    let world = World::new();
    let (link, address) = linked(&world);
    let page = open(&world, &link, "/pay/token_1");
    assert_eq!(page.status, 200);
    for text in ["Invoice &lt;7&gt;", "Send 10 USDC to", address.as_str(), "Test network: Base Sepolia"] {
        assert!(page.body.contains(text), "{text}");
    }
    assert!(page.headers.iter().any(|(name, _)| name == "content-security-policy"));
}

#[test]
fn the_page_follows_what_arrives() {
    let world = World::new();
    let (link, address) = linked(&world);
    assert_eq!(state(&world, &link)["state"], "waiting");
    let hash = world.hash();
    world.tell("base", &address, (&hash, "seen", 3), Some("USDC"), "4000000");
    let seen = state(&world, &link);
    assert_eq!((&seen["state"], &seen["open"]), (&json!("seen"), &json!(false)));
    assert!(seen["detail"].as_str().unwrap().starts_with("3 of 12 confirmations"));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "4000000");
    let part = state(&world, &link);
    assert_eq!((&part["state"], &part["due"], &part["open"]), (&json!("underpaid"), &json!("6"), &json!(true)));
    world.arrive("base", &address, Some("USDC"), "6000000");
    let paid = state(&world, &link);
    assert_eq!((&paid["state"], &paid["redirect_url"]), (&json!("paid"), &json!("https://shop.example")));
}

#[test]
fn a_link_opens_with_parameters_that_others_have_added_to_it() {
    let world = World::new();
    let (link, _) = linked(&world);
    for target in ["/pay/token_1?utm_source=mail&utm_source=post", "/pay/token_1/status?x"] {
        assert_eq!(open(&world, &link, target).status, 200, "{target}");
    }
}

#[test]
fn a_ticket_opens_its_own_link_alone() {
    let world = World::new();
    linked(&world);
    let unknown = "00000000-0000-4000-8000-000000000000";
    assert_eq!(open(&world, unknown, "/pay/token_1").status, 404);
    assert_eq!(world.host.call(TestCall::get("/pay/token_1").token()).status, 404);
}
