//! Bad input: a clear code, and nothing changed.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::support::*;
use crate::PLUGIN;

#[test]
fn no_route_with_a_body_breaks_on_nonsense() {
    let deep = ["{\"from\":", &"[".repeat(40), &"]".repeat(40), "}"].concat();
    let long = json!({ "id": "x".repeat(5_000), "amount": "9".repeat(5_000) }).to_string();
    let wrong = json!({"id": 7, "amount": 1.5, "holder": [], "from": "x", "entries": [1], "version": {}}).to_string();
    let controls = json!({"id": "a\u{0}b", "base_url": "\n", "version": "a/b", "quote_id": "\u{0}"}).to_string();
    for route in PLUGIN.route_table().iter().filter(|route| route.method != "GET" && route.method != "DELETE") {
        let path = route.path.replace("{id}", "x").replace("{name}", "ofac");
        for body in ["", "{", "[]", "null", "{}", &deep, &long, &wrong, &controls] {
            let host = host();
            let answer = host.call(TestCall::new(route.method, &path).text(body));
            assert!((400..500).contains(&answer.status), "{} {body:.80}: {}", route.operation, answer.body);
            assert!(answer.json()["code"].is_string() && answer.json()["message"].is_string());
        }
    }
}

#[test]
fn ids_that_cannot_be_are_not_found() {
    let host = host();
    let long = "x".repeat(300);
    for id in ["a b", "ü", long.as_str(), "unknown"] {
        for path in ["/v1/payouts", "/v1/swaps", "/v1/gateway/deposits", "/v1/virtual-accounts", "/v1/sanctions/lists"]
        {
            let answer = host.call(TestCall::get(&format!("{path}/{id}")));
            assert_eq!(refusal(&answer), no(404, "NOT_FOUND"), "{path}/{id}");
        }
    }
}

#[test]
fn what_belongs_to_another_customer_is_not_found() {
    let host = host();
    payout(&host, "p1", "100", "0123456789");
    let foreign = host.call(TestCall::get("/v1/payouts/p1").tenant("globex/test"));
    let unknown = host.call(TestCall::get("/v1/payouts/p2"));
    assert_eq!((foreign.status, foreign.body), (404, unknown.body));
}

#[test]
fn amounts_and_addresses_are_read_strictly() {
    let host = host();
    let quote = |amount: Value| {
        let body = json!({"blockchain": "base", "asset": "USDC", "amount": amount, "currency": "NGN"});
        refusal(&post(&host, "/v1/payout/quotes", body))
    };
    for amount in [json!("0"), json!("-1"), json!("1e3"), json!("1.0000001"), json!(100), json!("")] {
        assert_eq!(quote(amount.clone()), no(422, "INVALID_REQUEST"), "{amount}");
    }
    assert_eq!(quote(json!("0.01")), no(422, "AMOUNT_TOO_SMALL"));
    assert_eq!(quote(json!("99999999999999999999999999999999")), no(422, "AMOUNT_TOO_LARGE"));
    let body = json!({"id": "d1", "blockchain": "base", "amount": "1", "refund_address": "0x12"});
    assert_eq!(refusal(&post(&host, "/v1/gateway/deposits", body)), no(422, "INVALID_REQUEST"));
}

#[test]
fn queries_are_bounded() {
    let host = host();
    let refused = |path: &str| refusal(&host.call(TestCall::get(path)));
    let many = vec!["USDC"; 51].join(",");
    assert_eq!(refused(&format!("/v1/rates?currency=NGN&assets={many}")), no(422, "INVALID_REQUEST"));
    assert_eq!(refused("/v1/rates?currency=XXX"), no(422, "CURRENCY_NOT_SUPPORTED"));
    assert_eq!(refused("/v1/screening"), no(422, "INVALID_REQUEST"));
    assert_eq!(refused("/v1/screening?address=a b"), no(422, "INVALID_REQUEST"));
    for limit in ["0", "101", "-1", "x"] {
        assert_eq!(refused(&format!("/v1/virtual-accounts?limit={limit}")), no(422, "INVALID_REQUEST"));
    }
    assert_eq!(refused("/v1/virtual-accounts?after=nowhere"), no(422, "INVALID_REQUEST"));
}

#[test]
fn rates_leave_out_what_is_unknown() {
    let rates = get(&host(), "/v1/rates?currency=NGN&assets=USDC,ETH,SHELLS");
    assert_eq!(rates["rates"], json!({"USDC": "1510.25", "ETH": "4530750"}));
    assert!(get(&host(), "/v1/rates?currency=USD")["rates"].as_object().unwrap().len() > 15);
}
