//! Virtual accounts and payments to them.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::support::*;

fn create(host: &TestHost, id: &str, last_name: &str) -> TestAnswer {
    let holder =
        json!({"first_name": "Ada", "last_name": last_name, "email": "ada@example.com", "phone": "+2348012345678"});
    let settlement = json!({"blockchain": "base", "asset": "cNGN", "address": OURS});
    post(host, "/v1/virtual-accounts", json!({"id": id, "currency": "NGN", "holder": holder, "settlement": settlement}))
}

fn pay(host: &TestHost, id: &str, amount: &str) -> TestAnswer {
    post(host, &format!("/v1/virtual-accounts/{id}/simulate-payment"), json!({ "amount": amount }))
}

#[test]
fn a_payment_becomes_coins_of_the_same_amount() {
    let host = host();
    create(&host, "va1", "Okafor");
    let payment = pay(&host, "va1", "5000.5").json();
    assert_eq!((&payment["status"], &payment["settlement"]["transaction_hash"]), (&json!("received"), &json!(null)));
    host.run_due();
    give_coins(&host);
    assert!(sending(&host).1.contains("amount: \"5000500000\""));
    finish(&host);
    let id = payment["id"].as_str().unwrap();
    let shown = get(&host, &format!("/v1/virtual-accounts/va1/payments/{id}"));
    assert_eq!((&shown["status"], &shown["settlement"]["transaction_hash"]), (&json!("settled"), &json!("0xbase-0")));
    assert_eq!(get(&host, "/v1/virtual-accounts/va1/payments")["payments"], json!([shown]));
    create(&host, "va2", "Okafor");
    assert_eq!(host.call(TestCall::get(&format!("/v1/virtual-accounts/va2/payments/{id}"))).status, 404);
}

#[test]
fn a_payment_is_rejected_or_stalls_by_its_amount() {
    let host = host();
    create(&host, "va1", "Okafor");
    assert_eq!(pay(&host, "va1", "10.13").json()["status"], "rejected");
    assert_eq!(pay(&host, "va1", "10.14").json()["status"], "received");
    assert!(host.tasks().iter().all(|task| task.name != "deliver"));
}

#[test]
fn an_account_is_created_once_and_another_content_is_a_conflict() {
    let host = host();
    let first = create(&host, "va1", "Okafor");
    let again = create(&host, "va1", "Okafor");
    assert_eq!((first.status, again.status, first.json()), (201, 200, again.json()));
    assert_eq!(refusal(&create(&host, "va1", "Eze")), no(409, "CONFLICT"));
    assert_eq!(first.json()["account_number"], "9900000001");
}

#[test]
fn only_an_active_account_takes_payments_and_gets_new_numbers() {
    let host = host();
    create(&host, "va1", "Okafor");
    let act = |what: &str| post(&host, &format!("/v1/virtual-accounts/va1/{what}"), json!({}));
    assert_eq!(act("regenerate").json()["account_number"], "9900000002");
    assert_eq!(act("deactivate").json()["status"], "inactive");
    assert_eq!(act("deactivate").status, 200, "a repeat is harmless");
    assert_eq!(refusal(&act("regenerate")), no(409, "NOT_POSSIBLE"));
    assert_eq!(refusal(&pay(&host, "va1", "10")), no(409, "NOT_POSSIBLE"));
    assert_eq!(act("activate").json()["status"], "active");
    assert_eq!(pay(&host, "va1", "10").status, 201);
}

#[test]
fn a_holder_who_is_not_taken_has_no_number() {
    let host = host();
    let rejected = create(&host, "va1", "Rejected").json();
    assert_eq!((&rejected["status"], &rejected["account_number"]), (&json!("rejected"), &Value::Null));
    assert_eq!(refusal(&post(&host, "/v1/virtual-accounts/va1/activate", json!({}))), no(409, "NOT_POSSIBLE"));
}

#[test]
fn accounts_are_listed_in_pages_newest_first() {
    let host = host();
    for id in ["va1", "va2", "va3"] {
        create(&host, id, "Okafor");
        host.advance_ms(1);
    }
    let page = get(&host, "/v1/virtual-accounts?limit=2");
    let ids = |page: &Value| -> Vec<String> {
        page["virtual_accounts"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&page), ["va3", "va2"]);
    let next = page["next"].as_str().unwrap();
    let page = get(&host, &format!("/v1/virtual-accounts?limit=2&after={next}"));
    assert_eq!((ids(&page), &page["next"]), (vec!["va1".to_owned()], &Value::Null));
}
