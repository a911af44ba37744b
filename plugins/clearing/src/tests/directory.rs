//! Accounts and partners: what is kept, and what is refused.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::support::*;

const ACCOUNTS: &str = "/v1/clearing/accounts";
const PARTNERS: &str = "/v1/clearing/partners";

fn put(host: &TestHost, path: &str, body: &Value) -> TestAnswer {
    host.call(TestCall::put(path).json(body))
}

#[test]
fn an_account_is_created_read_changed_and_deleted() {
    let host = partner(json!({}));
    let body =
        json!({"account_number": "gb33 bukb-1", "currency": "EUR", "credit_limit": 1000.00, "proxies": ["Bob@bank"]});
    let created = send(&host, ACCOUNTS, &body);
    assert_eq!((created.status, created.json()["id"].clone()), (201, json!("GB33BUKB1")));
    assert_eq!(host.call(TestCall::get("/v1/clearing/accounts/gb33-bukb1")).body, created.body);
    let body = json!({"status": "blocked", "currency": "EUR"});
    let changed = put(&host, "/v1/clearing/accounts/GB33BUKB1", &body).json();
    assert_eq!((&changed["status"], &changed["proxies"]), (&json!("blocked"), &json!([])));
    assert_eq!(changed["account_number"], "gb33 bukb-1");
    let other = json!({"account_number": "8"});
    assert_eq!(put(&host, "/v1/clearing/accounts/GB33BUKB1", &other).status, 422);
    // The proxy is free again.
    assert_eq!(send(&host, ACCOUNTS, &json!({"account_number": "7", "proxies": ["bob@bank"]})).status, 201);
    assert_eq!(host.call(TestCall::delete("/v1/clearing/accounts/GB33BUKB1")).status, 200);
    assert_eq!(host.call(TestCall::get("/v1/clearing/accounts/GB33BUKB1")).status, 404);
}

#[test]
fn what_is_wrong_with_an_account_is_told_by_name() {
    let host = partner(json!({}));
    let table = [
        (json!({}), "account_number is required."),
        (json!({"account_number": "62001"}), "account_number must not be taken already."),
        (json!({"account_number": "-"}), "account_number must be more than grouping."),
        (json!({"account_number": "1", "status": "ajar"}), "status must be one of: open, blocked, closed."),
        (json!({"account_number": "1", "currency": "XXX"}), "currency must be a currency of ISO 4217."),
        (json!({"account_number": "1", "credit_limit": "5"}), "credit_limit must be a number that is not below zero."),
        (
            json!({"account_number": "1", "debit_limit": 0.001}),
            "debit_limit must be an amount of the account's currency.",
        ),
        (json!({"account_number": "1", "proxies": ["a", "A"]}), "proxies must not repeat each other."),
        (
            json!({"account_number": "1", "proxies": ["ada@BANK"]}),
            "proxies must not stand for another account already.",
        ),
    ];
    for (body, expected) in table {
        let answer = send(&host, ACCOUNTS, &body);
        assert_eq!(refusal(&answer), (422, "INBOUND_UNPROCESSABLE".to_owned(), expected.to_owned()), "{body}");
    }
}

#[test]
fn an_import_is_taken_as_a_whole_or_not_at_all() {
    let host = partner(json!({}));
    let import = format!("{ACCOUNTS}/import");
    let answer = send(&host, &import, &json!({"accounts": [{"account_number": "1"}, {"account_number": "62001"}]}));
    assert_eq!(answer.json(), json!({"created": 1, "updated": 1}));
    let answer = send(&host, &import, &json!({"accounts": [{"account_number": "2"}, {"status": "odd"}]}));
    assert!(refusal(&answer).2.starts_with("accounts[1].account_number is required."), "{}", answer.body);
    assert_eq!(host.call(TestCall::get("/v1/clearing/accounts/2")).status, 404);
    for body in [json!({}), json!({"accounts": 1}), json!({"accounts": vec![json!({"account_number": "1"}); 501]})] {
        assert_eq!(send(&host, &import, &body).status, 422);
    }
}

#[test]
fn lists_have_pages_and_filters() {
    let host = partner(json!({}));
    for number in 1..=3 {
        host.advance_ms(1);
        send(&host, ACCOUNTS, &json!({"account_number": number.to_string()}));
    }
    let page = host.call(TestCall::get("/v1/clearing/accounts?limit=3")).json();
    assert_eq!((page["accounts"].as_array().unwrap().len(), &page["accounts"][0]["id"]), (3, &json!("3")));
    let next = page["next"].as_str().unwrap();
    let page = host.call(TestCall::get(&format!("/v1/clearing/accounts?after={next}"))).json();
    assert_eq!((&page["accounts"][0]["id"], &page["next"]), (&json!("62001"), &json!(null)));
    for query in ["limit=0", "limit=x", "after=nowhere"] {
        assert_eq!(host.call(TestCall::get(&format!("/v1/clearing/accounts?{query}"))).status, 422, "{query}");
    }
}

#[test]
fn a_cursor_goes_on_in_its_own_list_alone() {
    let host = platform(json!({}));
    for number in 1..=2 {
        host.advance_ms(1);
        send(&host, ACCOUNTS, &json!({"account_number": number.to_string(), "partner": "bank-a"}));
    }
    let page = host.call(TestCall::get(&format!("{ACCOUNTS}?limit=1"))).json();
    let next = page["next"].as_str().unwrap();
    let rest = host.call(TestCall::get(&format!("{ACCOUNTS}?after={next}"))).json();
    assert_eq!((&rest["accounts"][0]["account_number"], &rest["next"]), (&json!("1"), &json!(null)));
    let bare = next.strip_prefix("accounts.").unwrap();
    for (path, cursor) in [
        (PARTNERS, next),
        ("/v1/clearing/transactions", next),
        ("/v1/clearing/reports/reconciliation", next),
        (ACCOUNTS, bare),
        (ACCOUNTS, &format!("partners.{bare}")),
        (ACCOUNTS, "accounts."),
    ] {
        let (status, _, detail) = refusal(&host.call(TestCall::get(&format!("{path}?after={cursor}"))));
        let expected = (422, "after must be where a page of this list ended.");
        assert_eq!((status, detail.as_str()), expected, "{path} {cursor}");
    }
}

#[test]
fn a_cursor_goes_on_with_the_filters_of_its_page_alone() {
    let host = platform(json!({}));
    for number in 1..=3 {
        host.advance_ms(1);
        send(&host, ACCOUNTS, &json!({"account_number": number.to_string(), "partner": "bank-a"}));
    }
    let list = |query: &str| host.call(TestCall::get(&format!("{ACCOUNTS}?{query}")));
    let page = list("partner=bank-a&limit=1").json();
    let next = page["next"].as_str().unwrap();
    // The limit is no filter, and the order of the parameters says nothing.
    let rest = list(&format!("limit=2&after={next}&partner=bank-a")).json();
    assert_eq!(rest["accounts"].as_array().unwrap().len(), 2);
    for filters in ["", "&partner=bank-b", "&partner="] {
        let (status, _, detail) = refusal(&list(&format!("after={next}{filters}")));
        let expected = (422, "after must be sent with the filters of the page that ended there.");
        assert_eq!((status, detail.as_str()), expected, "{filters}");
    }
}

#[test]
fn a_bank_has_no_filter_by_partner() {
    let host = partner(json!({}));
    for path in [ACCOUNTS, "/v1/clearing/transactions"] {
        for name in ["nonexistent", ""] {
            let (status, _, detail) = refusal(&host.call(TestCall::get(&format!("{path}?partner={name}"))));
            assert_eq!((status, detail.as_str()), (422, "partner is a filter of platforms only."), "{path} {name}");
        }
    }
}

#[test]
fn a_partner_is_created_read_changed_and_deleted() {
    let host = platform(json!({"client_ids": ["client-a"]}));
    let shown = host.call(TestCall::get("/v1/clearing/partners/bank-a")).json();
    assert_eq!((&shown["account_mirroring"], &shown["client_ids"]), (&json!(false), &json!(["client-a"])));
    let body = json!({"payment_schemes": ["ZA_EFT"], "proxy_management": true, "name": "Bank A"});
    let changed = put(&host, "/v1/clearing/partners/bank-a", &body).json();
    assert_eq!((&changed["proxy_management"], &changed["client_ids"]), (&json!(true), &json!(["client-a"])));
    let body = json!({"payment_schemes": ["ZA_EFT"], "client_ids": []});
    let changed = put(&host, "/v1/clearing/partners/bank-a", &body).json();
    assert_eq!(changed["client_ids"], json!([]));
    let other = json!({"id": "bank-b", "payment_schemes": []});
    assert_eq!(put(&host, "/v1/clearing/partners/bank-a", &other).status, 422);
    let list = host.call(TestCall::get(PARTNERS)).json();
    assert_eq!(list["partners"][0], changed);
    assert_eq!(host.call(TestCall::delete("/v1/clearing/partners/bank-a")).status, 200);
    assert_eq!(host.call(TestCall::get("/v1/clearing/partners/bank-a")).status, 404);
}

#[test]
fn a_partner_has_a_destination_whose_secrets_are_never_shown() {
    let host = platform(json!({}));
    let path = "/v1/clearing/partners/bank-a";
    let destination = json!({
        "base_url": "https://bank.example.com/v1", "kind": "oauth2", "token_url": "https://bank.example.com/oauth2/token",
        "client_id": "hub", "client_secret": "s3cret",
    });
    let changed = put(&host, path, &json!({"payment_schemes": [], "destination": destination})).json();
    assert_eq!(
        (&changed["destination"]["client_id"], &changed["destination"]["client_secret"]),
        (&json!("hub"), &json!(null))
    );
    assert_eq!(host.destination("bank-a").unwrap().secrets[0].value, "s3cret");
    // Absent it stays, with null it goes.
    assert_eq!(put(&host, path, &json!({"payment_schemes": []})).json(), changed);
    assert_eq!(
        put(&host, path, &json!({"payment_schemes": [], "destination": null})).json()["destination"],
        json!(null)
    );
    assert!(host.destination("bank-a").is_none() && !format!("{:?}", host.journal()).contains("s3cret"));
    for (destination, expected) in [
        (json!("x"), "destination must be an object."),
        (json!({}), "destination.base_url is required."),
        (json!({"base_url": "bank"}), "destination must have addresses that begin with https://."),
        (json!({"base_url": "https://127.0.0.1/v1"}), "destination must have public addresses."),
        (json!({"base_url": "https://bank.example.com", "kind": "bearer"}), "destination is not accepted: "),
        (json!({"base_url": "https://bank.example.com", "token": 7}), "destination.token must be a text."),
    ] {
        let (status, _, detail) =
            refusal(&put(&host, path, &json!({"payment_schemes": [], "destination": destination})));
        assert!(status == 422 && detail.starts_with(expected), "{destination}: {detail}");
    }
}

#[test]
fn a_bank_says_where_its_messages_go_and_its_secrets_are_never_shown() {
    let host = partner(json!({"bank": "core"}));
    let path = "/v1/clearing/destinations/platform";
    assert_eq!(host.call(TestCall::get(path)).status, 404);
    let destination = json!({"base_url": "https://hub.example.com/v1", "kind": "bearer", "token": "s3cret"});
    let shown = put(&host, path, &destination);
    assert_eq!(
        (shown.status, shown.json()),
        (200, json!({"base_url": "https://hub.example.com/v1", "kind": "bearer"}))
    );
    assert_eq!(host.destination("platform").unwrap().secrets[0].value, "s3cret");
    assert_eq!(put(&host, "/v1/clearing/destinations/core", &destination).status, 200);
    for name in ["bank", "other"] {
        assert_eq!(put(&host, &format!("/v1/clearing/destinations/{name}"), &destination).status, 404, "{name}");
    }
    let (status, _, detail) = refusal(&put(&host, path, &json!({"kind": 7})));
    assert_eq!((status, detail.as_str()), (422, "base_url is required. kind must be a text."));
    assert_eq!(host.call(TestCall::delete(path)).json(), json!({"id": "platform", "deleted": true}));
    assert_eq!(host.call(TestCall::delete(path)).status, 404);
    let hub = platform(json!({}));
    assert_eq!(put(&hub, path, &destination).status, 404);
}

#[test]
fn a_partner_with_open_payments_stays() {
    let delete = |host: &TestHost| host.call(TestCall::delete("/v1/clearing/partners/bank-a")).status;
    let ends = [(AUTHORISE, AUTHORISED, "APPROVED"), (AUTHORISE, AUTHORISED, "REJECTED"), (DEBIT, DEBITED, "")];
    for (path, response, settled) in ends {
        let host = platform(json!({}));
        submit(&host, path, json!({}));
        assert_eq!(delete(&host), 422, "{path}");
        reply(&host, 202, &json!({}));
        assert_eq!(delete(&host), 422, "{path}");
        send(&host, response, &minimal(response));
        if path == AUTHORISE {
            assert_eq!(delete(&host), 422, "{path}");
            settle(&host, json!({"transaction_status": settled}));
            assert_eq!(delete(&host), 422, "{path}");
            reply(&host, 202, &json!({}));
        }
        assert_eq!(delete(&host), 200, "{path}");
    }
}

#[test]
fn what_is_wrong_with_a_partner_is_told_by_name() {
    let host = platform(json!({"client_ids": ["client-a"]}));
    let table = [
        (json!({"payment_schemes": []}), "id is required."),
        (json!({"id": "Bank", "payment_schemes": []}), "id must consist of lower case letters, digits and hyphens."),
        (json!({"id": "bank-a", "payment_schemes": []}), "id must not be taken already."),
        (json!({"id": "b"}), "payment_schemes is required."),
        (
            json!({"id": "b", "payment_schemes": ["ZA_AC"]}),
            "payment_schemes must consist of ZA_RTC, ZA_RPP, ZA_EFT, CBPR+.",
        ),
        (json!({"id": "b", "payment_schemes": [], "account_mirroring": 1}), "account_mirroring must be true or false."),
        (
            json!({"id": "b", "payment_schemes": [], "client_ids": ["client-a"]}),
            "client_ids must not speak for another partner already.",
        ),
    ];
    for (body, expected) in table {
        let (status, _, detail) = refusal(&send(&host, PARTNERS, &body));
        assert_eq!(status, 422);
        assert!(detail.starts_with(expected), "{body}: {detail}");
    }
}

#[test]
fn each_side_serves_its_own_operations_only() {
    let (bank, hub) = (partner(json!({})), platform(json!({})));
    for path in [AUTHORISED, TRANSFERRED, DEBITED] {
        assert_eq!(send(&bank, path, &minimal(path)).status, 404, "{path}");
    }
    for path in [DETERMINE, AUTHORISE, AUTHORISE_SYNC, COMPLETE, TRANSFER, DEBIT] {
        assert_eq!(send(&hub, path, &minimal(path)).status, 404, "{path}");
    }
    assert_eq!(send(&bank, PARTNERS, &json!({})).status, 404);
    let odd = TestHost::new(&crate::PLUGIN).setting("acme", r#"{"side": "partner", "colour": "red"}"#);
    assert!(
        odd.try_call(TestCall::post(AUTHORISE).json(&minimal(AUTHORISE))).is_err_and(|fault| fault.contains("colour"))
    );
    for (setting, ms) in [("eft-decision-ms", u64::MAX), ("rtc-decision-ms", 2_678_400_001), ("bank-ms", u64::MAX)] {
        let endless = json!({"side": "partner", setting: ms}).to_string();
        let endless = TestHost::new(&crate::PLUGIN).setting("acme", &endless);
        let fault = endless.try_call(TestCall::post(TRANSFER).json(&minimal(TRANSFER))).unwrap_err();
        assert!(fault.contains("are more than 2678400000"), "{setting}: {fault}");
    }
    let live = partner(json!({})).setting("acme/test", r#"{"side": "platform"}"#);
    assert_eq!(live.call(TestCall::get(PARTNERS)).status, 200);
    let nobody = TestHost::new(&crate::PLUGIN);
    assert_eq!(refusal(&send(&nobody, AUTHORISE, &minimal(AUTHORISE))).1, "INBOUND_NOT_FOUND");
}
