//! Payment links.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::support::*;
use crate::page::Status;
use crate::records::payment_links::ATTRIBUTE;
use crate::rules::amount::Units;

fn create(world: &World, path: &str, body: &Value) -> TestAnswer {
    world.host.call(TestCall::post(path).context("base-url", "https://pay.example.com/").json(body))
}

/// A wallet on Base, and a link for ten USDC.
fn linked(world: &World, more: &Value) -> (String, Value) {
    let wallet = world.wallet("base");
    let mut body = json!({"name": "Invoice 7", "asset_id": world.asset(&wallet, "USDC"), "amount": "10"});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let answer = create(world, &format!("/v1/wallets/{wallet}/payment-links"), &body);
    assert_eq!(answer.status, 201, "{}", answer.body);
    (wallet, answer.json()["data"].clone())
}

fn status(world: &World, link: &Value) -> (String, String) {
    let id = link["payment_link_id"].as_str().unwrap();
    let data = world.get(&format!("/v1/payment_links/{id}")).json()["data"].clone();
    (data["payment_status"].as_str().unwrap().to_owned(), data["amount_paid"].as_str().unwrap().to_owned())
}

fn is(state: Status, paid: &str) -> (String, String) {
    (state.name().to_owned(), paid.to_owned())
}

#[test]
fn a_link_has_an_address_and_a_page_of_its_own() {
    let world = World::new();
    let (wallet, link) = linked(&world, &json!({"redirectUrl": "https://shop.example.com", "metadata": {"order": 7}}));
    assert_eq!(
        (&link["amount"], &link["active"], &link["metadata"]),
        (&json!("10"), &json!(true), &json!({"order": 7}))
    );
    let token = world.host.issued().pop().unwrap();
    assert_eq!(link["payment_link_url"], format!("https://pay.example.com/pay/{}", token.secret));
    assert_eq!(token.kind, "token");
    let carried = token.grant.attributes.iter().find(|it| it.name == ATTRIBUTE).unwrap();
    assert_eq!(carried.value, link["payment_link_id"].as_str().unwrap());
    assert_eq!(world.events().last().unwrap(), "checkout.link_created");
    let event = world.last_event();
    assert_eq!((&event["wallet_id"], &event["payment_link_url"]), (&json!(wallet), &link["payment_link_url"]));
    let address = link["address"].as_str().unwrap();
    assert!(world.host.watched().iter().any(|it| it.address == address));
}

#[test]
fn what_arrives_at_the_address_of_a_link_is_paid_for_it() {
    let world = World::new();
    let (_, link) = linked(&world, &json!({}));
    let address = link["address"].as_str().unwrap();
    assert_eq!(status(&world, &link), is(Status::Waiting, "0"));
    let hash = world.hash();
    world.tell("base", address, (&hash, "seen", 3), Some("USDC"), "4000000");
    assert_eq!(status(&world, &link), is(Status::Seen { confirmations: 3, required: 12 }, "0"));
    world.tell("base", address, (&hash, "final", 12), Some("USDC"), "4000000");
    assert_eq!(status(&world, &link), is(Status::Underpaid { received: Units::ZERO }, "4"));
    // Another asset pays for nothing.
    world.arrive("base", address, Some("DAI"), "6000000000000000000");
    assert_eq!(status(&world, &link), is(Status::Underpaid { received: Units::ZERO }, "4"));
    world.arrive("base", address, Some("USDC"), "6000000");
    assert_eq!(status(&world, &link), is(Status::Paid, "10"));
    world.arrive("base", address, Some("USDC"), "1");
    assert_eq!(status(&world, &link), is(Status::Overpaid { received: Units::ZERO }, "10.000001"));
    let id = link["payment_link_id"].as_str().unwrap();
    let paid = world.get(&format!("/v1/payment_links/{id}/transactions")).json();
    assert_eq!((&paid["meta"]["totalItems"], &paid["data"][0]["type"]), (&json!(4), &json!("DEPOSIT")));
}

#[test]
fn a_link_ends_with_its_time_or_when_it_is_switched_off() {
    let world = World::new();
    let (_, link) = linked(&world, &json!({"expires_at": "2100-01-01T00:00:00Z"}));
    let path = format!("/v1/payment_links/{}", link["payment_link_id"].as_str().unwrap());
    let off = world.host.call(TestCall::patch(&path).json(&json!({"active": false, "name": "Late"})));
    assert_eq!((off.status, &off.json()["data"]["name"]), (200, &json!("Late")));
    assert_eq!(status(&world, &link), is(Status::Inactive, "0"));
    world.host.call(TestCall::patch(&path).json(&json!({"active": true})));
    world.host.advance_ms(100 * 366 * 86_400_000);
    assert_eq!(status(&world, &link), is(Status::Expired, "0"));
    let fixed = world.host.call(TestCall::patch(&path).json(&json!({"amount": "1", "assetId": "x"})));
    assert_eq!(refusal(&fixed), expected(400, "SERVICE_VALIDATION_ERROR", "asset_id amount"));
}

#[test]
fn the_real_products_path_finds_the_wallet_of_the_asset() {
    let world = World::new();
    let (base, _) = linked(&world, &json!({}));
    let tron = world.wallet("tron");
    let body = json!({"name": "Any amount", "assetId": world.asset(&tron, "USDT")});
    let made = create(&world, "/v1/payment_links", &body).json()["data"].clone();
    assert_eq!((&made["wallet_id"], &made["amount"]), (&json!(tron), &json!(null)));
    assert_eq!(world.get("/v1/payment_links").json()["meta"]["totalItems"], 2);
    let own = world.host.call(TestCall::get("/v1/payment_links").attribute("wallet", &base)).json();
    assert_eq!(own["meta"]["totalItems"], 1);
    let nameless = create(&world, "/v1/payment_links", &json!({"name": "x"}));
    assert_eq!(refusal(&nameless).2, "wallet_id");
}

#[test]
fn a_link_of_another_wallet_is_as_unknown_as_none() {
    let world = World::new();
    let (_, link) = linked(&world, &json!({}));
    let tron = world.wallet("tron");
    let id = link["payment_link_id"].as_str().unwrap();
    let get = |path: &str| world.host.call(TestCall::get(path).attribute("wallet", &tron)).status;
    assert_eq!(get(&format!("/v1/payment_links/{id}")), 404);
    assert_eq!(get(&format!("/v1/wallets/{tron}/payment-links/{id}")), 404);
    assert_eq!(world.get(&format!("/v1/wallets/{tron}/payment-links/{id}")).status, 404);
    assert_eq!(get("/v1/payment_links/x"), 404);
}

#[test]
fn the_token_of_a_page_opens_nothing_else() {
    let world = World::new();
    let (wallet, _) = linked(&world, &json!({}));
    let token = world.host.issued().pop().unwrap();
    let shown = |call: TestCall| {
        let with = |call: TestCall, it: &tenon_plugin::Pair| call.attribute(&it.name, &it.value);
        token.grant.attributes.iter().fold(call.token(), with)
    };
    assert_eq!(world.host.call(shown(TestCall::get(&format!("/v1/wallets/{wallet}")))).status, 404);
    assert_eq!(world.host.call(shown(TestCall::get("/v1/wallets"))).json()["meta"]["totalItems"], 0);
    assert_eq!(world.host.call(shown(TestCall::post("/v1/wallets").json(&json!({})))).status, 403);
}

#[test]
fn what_is_wrong_with_a_link_is_said_by_field() {
    let world = World::new();
    let wallet = world.wallet("base");
    let usdc = world.asset(&wallet, "USDC");
    for (body, fields) in [
        (json!({}), "name asset_id"),
        (json!({"name": 7, "asset_id": usdc, "active": "yes"}), "name is_active"),
        (json!({"name": "x", "asset_id": "00000000-0000-4000-8000-000000000000"}), "asset_id"),
        (json!({"name": "x", "asset_id": usdc, "amount": "0"}), "amount"),
        (json!({"name": "x", "asset_id": usdc, "amount": "1.0000001"}), "amount"),
        (json!({"name": "x", "asset_id": usdc, "redirect_url": "javascript:alert(1)"}), "redirect_url"),
        (json!({"name": "x", "asset_id": usdc, "expires_at": "yesterday"}), "expires_at"),
        (json!({"name": "x\u{0}", "asset_id": usdc}), "name"),
    ] {
        let answer = create(&world, &format!("/v1/wallets/{wallet}/payment-links"), &body);
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", fields), "{body}");
    }
    let poor = world.poor_wallet("tron");
    let body = json!({"name": "x", "asset_id": world.asset(&poor, "USDT")});
    let answer = create(&world, &format!("/v1/wallets/{poor}/payment-links"), &body);
    assert_eq!(refusal(&answer).1, "SERVICE_INSUFFICIENT_GAS");
}

#[test]
fn the_page_of_a_link_shows_what_is_asked_for() {
    let world = World::new();
    let (_, link) = linked(&world, &json!({}));
    let id = link["payment_link_id"].as_str().unwrap();
    let open = |path: &str| world.host.call(TestCall::get(path).attribute(ATTRIBUTE, id).token());
    let page = open("/pay/cred_1");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Invoice 7") && page.body.contains(link["address"].as_str().unwrap()));
    assert_eq!(open("/pay/cred_1/status").json()["data"]["state"], "waiting");
    assert_eq!(world.host.call(TestCall::get("/pay/cred_1").token()).status, 404);
}

#[test]
fn what_is_told_of_a_payment_says_what_it_was_for() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let body =
        json!({"name": "Invoice", "asset_id": world.asset(&wallet, "USDC"), "amount": "5", "metadata": {"invoice": 8}});
    let made = create(&world, &format!("/v1/wallets/{wallet}/payment-links"), &body).json()["data"].clone();
    world.host.run_due();
    world.arrive("base", made["address"].as_str().unwrap(), Some("USDC"), "5000000");
    let events = world.host.events();
    let paid = events.iter().rfind(|event| event.event_type == "deposit.success").unwrap();
    assert_eq!((&paid.payload["metadata"], &paid.payload["address_id"]), (&json!({"invoice": 8}), &made["address_id"]));
}
