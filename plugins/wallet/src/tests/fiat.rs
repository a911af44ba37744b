//! Payouts in fiat money.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::support::*;

const PAYOUTS: &str = "/v1/payouts";

fn comply(world: &World, form: &str) {
    assert_eq!(world.post(&format!("/v1/compliance/forms/{form}/submit"), &json!({})).status, 200);
    let decided = world.post(&format!("/v1/compliance/forms/{form}/decide"), &json!({"state": "approved"}));
    assert_eq!(decided.status, 200, "{}", decided.body);
}

fn payout(world: &World, wallet: &str) -> Value {
    json!({"asset_id": world.asset(wallet, "USDC"), "amount": 40, "currency": "NGN",
        "account_identifier": "0123456789", "institution_identifier": "SANDNGLA"})
}

fn at(world: &World, wallet: &str, path: &str, body: &Value) -> TestAnswer {
    world.post(&format!("/v1/wallets/{wallet}/withdraw/fiat/{path}"), body)
}

/// A wallet that may pay out, with an accepted quote; and the body of the execution.
fn ready(world: &World) -> (String, Value) {
    comply(world, "naira-onboarding");
    let wallet = world.rich_wallet();
    let mut body = payout(world, &wallet);
    assert_eq!(
        at(world, &wallet, "institution-account-verification", &body).json()["data"]["accountName"],
        "ADA OKAFOR"
    );
    let quote = at(world, &wallet, "quote", &body).json()["data"].clone();
    assert_eq!((&quote["payout_amount"], &quote["quote_status"]), (&json!("150269.87"), &json!("open")));
    let id = quote["quote_id"].as_str().unwrap().to_owned();
    assert_eq!(at(world, &wallet, &format!("quotes/{id}/accept"), &json!({})).status, 200);
    body["quote_id"] = json!(id);
    body["reference"] = json!("r1");
    (wallet, body)
}

fn execute(world: &World, wallet: &str, body: &Value) -> String {
    let made = at(world, wallet, "execute", body);
    assert_eq!(made.status, 200, "{}", made.body);
    world.host.run_due();
    made.json()["data"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_payout_is_held_ordered_sent_and_paid() {
    let world = World::new();
    let (wallet, body) = ready(&world);
    let id = execute(&world, &wallet, &body);
    assert_eq!(world.events().last().unwrap(), "offramp.processing");
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 40_000_000);
    assert_eq!(world.ordered(&id)["quote_id"], "quote_1");
    world.take_order(PAYOUTS, &id, ("USDC", "40"));
    world.settle(&id, "done");
    assert_eq!(world.status(&id), "processing");
    world.order_becomes(PAYOUTS, &id, &json!({"status": "success"}));
    assert_eq!(world.status(&id), "success");
    let event = world.last_event();
    assert_eq!(world.events().last().unwrap(), "offramp.success");
    assert_eq!((&event["currency"], &event["institution_identifier"]), (&json!("NGN"), &json!("SANDNGLA")));
    assert_eq!(world.balance("external/bank", "base/USDC"), 40_000_000);
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 0);
    // The same reference finds it; a quote pays once.
    assert_eq!(at(&world, &wallet, "execute", &body).json()["data"]["id"], id.as_str());
    let mut other = body.clone();
    other["reference"] = json!("r2");
    assert_eq!(refusal(&at(&world, &wallet, "execute", &other)), expected(409, "SERVICE_VALIDATION_ERROR", "quote_id"));
    world.check_books();
}

#[test]
fn a_payout_that_is_refused_or_unknown_gives_the_money_back() {
    for refuses in [true, false] {
        let world = World::new();
        let (wallet, body) = ready(&world);
        let id = execute(&world, &wallet, &body);
        if refuses {
            world.refuse_order(&id, "ACCOUNT_BLOCKED");
        } else {
            // No answer: the provider is asked by the id, and has never heard of it.
            world.host.settle("ordered", &id, Outcome::Unknown("timeout".to_owned()));
            world.host.run_due();
        }
        assert_eq!((world.status(&id).as_str(), world.events().last().unwrap().as_str()), ("failed", "offramp.failed"));
        assert_eq!(world.last_event()["error_code"], "OFFRAMP_FAILED");
        assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
        let retried = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({}));
        assert_eq!(refusal(&retried), expected(409, "SERVICE_VALIDATION_ERROR", ""));
        assert!(retried.body.contains("A new quote is needed"), "{}", retried.body);
        world.check_books();
    }
}

#[test]
fn what_comes_back_is_no_deposit() {
    let world = World::new();
    let (wallet, body) = ready(&world);
    let id = execute(&world, &wallet, &body);
    world.take_order(PAYOUTS, &id, ("USDC", "40"));
    world.settle(&id, "done");
    let hash = world.hash();
    let refund = json!({"amount": "40", "transaction_hash": hash});
    world.provider.change(PAYOUTS, &id, &json!({"status": "processing", "refund": refund}));
    let address = world.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "40000000");
    world.order_becomes(PAYOUTS, &id, &json!({"status": "failed", "reason": "ACCOUNT_CLOSED"}));
    world.tell("base", &address, (&hash, "final", 12), Some("USDC"), "40000000");
    assert_eq!(world.status(&id), "failed");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
    // Of the same size, but somebody else's.
    world.arrive("base", &address, Some("USDC"), "40000000");
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 140_000_000);
    world.check_books();
}

#[test]
fn nothing_is_sent_where_the_provider_wants_something_else() {
    let world = World::new();
    let (wallet, body) = ready(&world);
    let id = execute(&world, &wallet, &body);
    world.take_order(PAYOUTS, &id, ("USDC", "41"));
    assert_eq!(world.status(&id), "failed");
    assert_eq!(world.host.record("transactions", &id).unwrap()["hash"], Value::Null);
    assert_eq!(world.balance(&format!("available/wallet/{wallet}"), "base/USDC"), 100_000_000);
}

#[test]
fn a_silent_provider_is_asked_again_and_paid_once() {
    let world = World::new();
    let (wallet, body) = ready(&world);
    let id = execute(&world, &wallet, &body);
    let order = json!({"id": id, "status": "awaiting_deposit", "deposit":
        {"blockchain": "base", "asset": "USDC", "address": super::provider::TILL, "amount": "40"}});
    world.provider.0.borrow_mut().orders.insert(format!("{PAYOUTS}/{id}"), order);
    world.provider.0.borrow_mut().is_silent = true;
    world.host.settle("ordered", &id, Outcome::Unknown("timeout".to_owned()));
    world.host.run_due();
    assert_eq!(world.status(&id), "processing");
    world.provider.0.borrow_mut().is_silent = false;
    world.host.advance_ms(10_000);
    world.host.run_due();
    world.settle(&id, "done");
    world.order_becomes(PAYOUTS, &id, &json!({"status": "success"}));
    assert_eq!(world.balance("external/bank", "base/USDC"), 40_000_000);
    world.check_books();
}

#[test]
fn a_provider_that_stays_silent_is_asked_less_and_less_and_then_somebody_looks() {
    let world = World::new();
    let (wallet, body) = ready(&world);
    let id = execute(&world, &wallet, &body);
    world.take_order(PAYOUTS, &id, ("USDC", "40"));
    world.provider.0.borrow_mut().is_silent = true;
    world.settle(&id, "done");
    let mut looks = 0;
    while world.status(&id) == "processing" && looks < 300 {
        let next = world.host.tasks().into_iter().find(|task| task.name == "poll" && task.key == id).unwrap();
        world.host.advance_ms(next.at - world.host.now());
        world.host.run_due();
        looks += 1;
    }
    assert_eq!(world.status(&id), "incomplete");
    assert!((280..300).contains(&looks), "{looks} looks in three days");
    assert_eq!(world.balance(&format!("held/wallet/{wallet}"), "base/USDC"), 40_000_000);
    // Who goes on with it has three days of its own, and the provider has been at work all the time.
    world.provider.0.borrow_mut().is_silent = false;
    let again = world.post(&format!("/v1/wallets/{wallet}/transactions/{id}/retry"), &json!({}));
    let next = again.json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    assert_eq!(world.status(&next), "processing");
    world.provider.change(PAYOUTS, &id, &json!({"status": "success"}));
    world.host.put_task("poll", &next, world.host.now(), "0");
    world.host.run_due();
    assert_eq!(world.status(&next), "success");
    world.check_books();
}

#[test]
fn a_payout_asks_for_form_account_and_quote() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let mut body = payout(&world, &wallet);
    assert_eq!(refusal(&at(&world, &wallet, "quote", &body)), expected(403, "SERVICE_VALIDATION_ERROR", ""));
    comply(&world, "naira-onboarding");
    let quote = at(&world, &wallet, "quote", &body).json()["data"]["quote_id"].as_str().unwrap().to_owned();
    body["quote_id"] = json!(quote);
    // Not verified, then not accepted, then for something else, then too late.
    assert_eq!(at(&world, &wallet, "execute", &body).status, 422);
    at(&world, &wallet, "institution-account-verification", &body);
    assert!(at(&world, &wallet, "execute", &body).body.contains("has not been accepted"));
    at(&world, &wallet, &format!("quotes/{quote}/accept"), &json!({}));
    let mut other = body.clone();
    other["amount"] = json!("41");
    assert!(at(&world, &wallet, "execute", &other).body.contains("another request"));
    world.host.advance_ms(400_000);
    assert!(at(&world, &wallet, "execute", &body).body.contains("has expired"));
    let unknown = at(&world, &wallet, "execute", &json!({"amount": true, "currency": "USD"}));
    let fields = "amount";
    assert_eq!(refusal(&unknown), expected(400, "SERVICE_VALIDATION_ERROR", fields));
    let missing = at(&world, &wallet, "execute", &json!({"currency": "USD"}));
    let fields = "asset_id amount currency account_identifier institution_identifier quote_id";
    assert_eq!(refusal(&missing), expected(400, "SERVICE_VALIDATION_ERROR", fields));
}

#[test]
fn what_can_be_asked_of_payouts_is_answered() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let get = |path: &str| world.get(&format!("/v1/wallets/{wallet}/withdraw/fiat/{path}"));
    assert_eq!(get("currencies").json()["data"][0]["compliance_status"], "not_started");
    assert_eq!(get("assets").json()["data"][0]["asset"]["symbol"], "USDC");
    assert_eq!(get("institutions?currency=NGN").json()["data"][0]["code"], "SANDNGLA");
    assert_eq!(get("rates?currency=NGN").json()["data"][0]["rate"], "1510.25");
    assert_eq!(refusal(&get("institutions?currency=USD")).2, "currency");
    for path in ["institutions", "rates"] {
        let usdc = world.asset(&wallet, "USDC");
        assert_eq!(get(&format!("{path}?currency=NGN&amount=10.5&assetId={usdc}")).status, 200, "{path}");
        assert_eq!(refusal(&get(&format!("{path}?currency=NGN&amount=ten"))).2, "amount", "{path}");
        assert_eq!(refusal(&get(&format!("{path}?currency=NGN&asset_id=dollars"))).2, "asset_id", "{path}");
    }
    let unknown = json!({"currency": "NGN", "account_identifier": "0000000000", "institution_identifier": "SANDNGLA"});
    assert_eq!(refusal(&at(&world, &wallet, "institution-account-verification", &unknown)).2, "account_identifier");
    world.provider.0.borrow_mut().is_silent = true;
    assert_eq!(refusal(&get("currencies")), expected(503, "SERVICE_SERVER_ERROR", ""));
}

#[test]
fn a_list_without_page_and_limit_is_its_first_hundred_rows() {
    let world = World::new();
    let whole = world.get("/v1/compliance").json();
    assert_eq!(whole["meta"]["itemsPerPage"], 100);
    assert_eq!(whole["meta"]["itemCount"], 6);
    let page = world.get("/v1/compliance?limit=2&page=2").json();
    assert_eq!((&page["meta"]["currentPage"], &page["meta"]["itemCount"]), (&json!(2), &json!(2)));
    assert_eq!((&page["data"][0], &page["data"][1]), (&whole["data"][2], &whole["data"][3]));
    assert_eq!(page["meta"]["totalItems"], whole["meta"]["totalItems"]);
    assert_eq!(refusal(&world.get("/v1/compliance?page=0")).2, "page");
}

#[test]
fn forms_are_the_accounts_business() {
    let world = World::new();
    let wallet = world.poor_wallet("base");
    let post = |path: &str| TestCall::post(path).json(&json!({}));
    let own = world.host.call(post("/v1/compliance/forms/due-diligence/submit").attribute("wallet", &wallet));
    assert_eq!(own.status, 403);
    assert_eq!(world.host.call(post("/v1/compliance/forms/none/submit")).status, 404);
    let early = world.post("/v1/compliance/forms/due-diligence/decide", &json!({"state": "approved"}));
    assert_eq!(refusal(&early), expected(409, "SERVICE_VALIDATION_ERROR", ""));
    let unknown = world.post("/v1/compliance/forms/due-diligence/decide", &json!({"state": "open"}));
    assert_eq!(refusal(&unknown), expected(400, "SERVICE_VALIDATION_ERROR", "state"));
    comply(&world, "due-diligence");
    let all = world.get("/v1/compliance").json()["data"].clone();
    let brl = all.as_array().unwrap().iter().find(|row| row["currency"] == "BRL").unwrap().clone();
    assert_eq!((&brl["form"], &brl["is_enabled"]), (&json!("due-diligence"), &json!(true)));
}
