//! The account directory: what is kept, what is refused, and what it decides, with the reasons of ISO 20022
//! (docs/clearing.md; spec/clearing: Resources).

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    coverage::Side::Bank,
    messages::{ACCOUNT, AUTHORISE_SYNC, DEBIT, DETERMINE, PROXY, TRANSFER, message, uetr},
    refusals::refused,
    routes::{ACCOUNTS, PARTNERS},
    stage::Stage,
};
use crate::support::Response;

#[track_caller]
fn unprocessable(answer: &Response) -> String {
    refused(answer, 422, "INBOUND_UNPROCESSABLE")
}

fn account(id: &str) -> String {
    format!("{ACCOUNTS}/{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_kept_found_in_any_spelling_changed_and_deleted() {
    let stage = Stage::both().await.covers(&[
        "create-account: 201",
        "read-account: 200",
        "update-account: 200",
        "delete-account: 200",
        "list-accounts: 200",
    ]);
    let body = json!({
        "account_number": "gb33 bukb-2020 15", "currency": "EUR", "credit_limit": 1000.00, "debit_limit": 0.5,
        "legal_name": "Bob & Söhne", "proxies": ["Bob@bank", "+27-821234567"], "unknown": {"a": 1},
    });
    let made = stage.bank.post(ACCOUNTS, body).await.expect(201);
    let expected = json!({
        "id": "GB33BUKB202015", "account_number": "gb33 bukb-2020 15", "status": "open", "currency": "EUR",
        "legal_name": "Bob & Söhne", "credit_limit": 1000.0, "debit_limit": 0.5,
        "proxies": ["+27-821234567", "Bob@bank"],
        "created_at": "2026-05-07T08:30:00.000000Z", "updated_at": "2026-05-07T08:30:00.000000Z",
    });
    assert_eq!(made.json(), expected);
    for spelling in ["GB33BUKB202015", "gb33bukb202015", "gb33%20bukb-2020%2015"] {
        assert_eq!(stage.bank.get(&account(spelling)).await.expect(200).body, made.body, "{spelling}");
    }
    assert_eq!(stage.bank.get(ACCOUNTS).await.expect(200).json()["accounts"][0], expected);
    stage.advance_ms(1_000);
    let changed = json!({"status": "blocked", "currency": "EUR", "proxies": ["bob@BANK"]});
    let changed = stage.bank.put(&account("gb33bukb202015"), changed).await.expect(200).json();
    let shown = ["status", "credit_limit", "legal_name", "created_at"].map(|name| changed[name].clone());
    assert_eq!(json!(shown), json!(["blocked", null, null, "2026-05-07T08:30:00.000000Z"]));
    assert_eq!(
        (&changed["updated_at"], &changed["proxies"]),
        (&json!("2026-05-07T08:30:01.000000Z"), &json!(["bob@BANK"]))
    );
    let gone = stage.bank.delete(&account("GB33BUKB202015")).await.expect(200).json();
    assert_eq!(gone, json!({"id": "GB33BUKB202015", "deleted": true}));
    refused(&stage.bank.get(&account("GB33BUKB202015")).await, 404, "INBOUND_NOT_FOUND");
    // Number and proxies are free again.
    stage.bank.post(ACCOUNTS, json!({"account_number": "GB33 BUKB 2020 15", "proxies": ["bob@bank"]})).await.check(201);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_account_is_told_by_name_and_not_by_value() {
    let stage = Stage::bank("").await;
    let (long, proxies) = ("9".repeat(41), vec!["p".repeat(129)]);
    let table = [
        (json!({"account_number": "6200 1234-567"}), "account_number must not be taken already."),
        (json!({"account_number": " - "}), "account_number must be more than grouping."),
        (json!({"account_number": long}), "account_number may have at most 40 characters."),
        (json!({"account_number": 620}), "account_number must be a text."),
        (json!({"account_number": "1\u{0}"}), "account_number must not contain control characters."),
        (json!({"account_number": "1", "status": "OPEN"}), "status must be one of: open, blocked, closed."),
        (json!({"account_number": "1", "currency": "XXX"}), "currency must be a currency of ISO 4217."),
        (json!({"account_number": "1", "credit_limit": "5"}), "credit_limit must be a number that is not below zero."),
        (json!({"account_number": "1", "credit_limit": -5}), "credit_limit must be a number that is not below zero."),
        (
            json!({"account_number": "1", "debit_limit": 0.001}),
            "debit_limit must be an amount of the account's currency.",
        ),
        (
            json!({"account_number": "1", "debit_limit": 1e30}),
            "debit_limit must be an amount of the account's currency.",
        ),
        (json!({"account_number": "1", "legal_name": "x".repeat(141)}), "legal_name may have at most 140 characters."),
        (json!({"account_number": "1", "proxies": "a"}), "proxies must be a list of texts."),
        (json!({"account_number": "1", "proxies": ["a", "A "]}), "proxies must not repeat each other."),
        (json!({"account_number": "1", "proxies": proxies}), "proxies may have at most 128 characters."),
        (json!({"account_number": "1", "proxies": (0..11).collect::<Vec<_>>()}), "proxies must be a list of texts."),
        (
            json!({"account_number": "1", "proxies": [" ADA@bank"]}),
            "proxies must not stand for another account already.",
        ),
    ];
    for (body, expected) in table {
        let detail = unprocessable(&stage.bank.post(ACCOUNTS, body.clone()).await);
        assert!(detail.starts_with(expected), "{body}: {detail}");
    }
    let own = account(ACCOUNT);
    assert_eq!(
        unprocessable(&stage.bank.put(&own, json!({"account_number": "8"})).await),
        "account_number must not change."
    );
    assert_eq!(stage.bank.get(ACCOUNTS).await.expect(200).json()["accounts"].as_array().unwrap().len(), 1);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_taken_as_a_whole_or_not_at_all() {
    let stage = Stage::bank("").await.covers(&["import-accounts: 200"]);
    let import = format!("{ACCOUNTS}/import");
    let many = |from: u32| -> Vec<Value> {
        (from..from + 400).map(|it| json!({"account_number": it.to_string(), "proxies": [format!("p{it}")]})).collect()
    };
    let answer = stage.bank.post(&import, json!({"accounts": many(1_000)})).await.expect(200).json();
    assert_eq!(answer, json!({"created": 400, "updated": 0}));
    let answer = stage.bank.post(&import, json!({"accounts": many(1_200)})).await.expect(200).json();
    assert_eq!(answer, json!({"created": 200, "updated": 200}));
    // The last of them is wrong.
    let mut accounts = many(2_000);
    accounts[399] = json!({"account_number": "2399", "status": "odd", "proxies": ["ada@bank"]});
    let detail = unprocessable(&stage.bank.post(&import, json!({"accounts": accounts})).await);
    assert_eq!(detail, "accounts[399].status must be one of: open, blocked, closed.");
    let taken = json!({"accounts": [{"account_number": "2000"}, {"account_number": "2001", "proxies": ["ada@bank"]}]});
    assert_eq!(
        unprocessable(&stage.bank.post(&import, taken).await),
        "proxies must not stand for another account already."
    );
    refused(&stage.bank.get(&account("2000")).await, 404, "INBOUND_NOT_FOUND");
    for body in [json!({}), json!({"accounts": null}), json!({"accounts": 1}), json!({"accounts": [1]})] {
        unprocessable(&stage.bank.post(&import, body).await);
    }
    let crowd = vec![json!({"account_number": "1"}); 401];
    unprocessable(&stage.bank.post(&import, json!({"accounts": crowd})).await);
    assert_eq!(stage.bank.all(ACCOUNTS, "accounts").await.len(), 601);
    stage.finish().await;
}

/// As many accounts as there may be, each with as many proxies as it may have, all of them others than before.
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_import_is_taken() {
    // A host that was not optimised takes its time.
    let stage = Stage::both_with("[plugins.clearing.limits]\ndeadline-ms = 60_000\ncompute-ms = 30_000").await;
    for (round, expected) in
        [("a", json!({"created": 400, "updated": 0})), ("b", json!({"created": 0, "updated": 400}))]
    {
        let proxies = |account: u32| (0..10).map(|it| format!("{round}{account}-{it}@bank")).collect::<Vec<_>>();
        let account = |it: u32| json!({"account_number": it.to_string(), "partner": "bank-a", "proxies": proxies(it)});
        let body = json!({"accounts": (0..400).map(account).collect::<Vec<_>>()});
        assert_eq!(stage.hub.post(&format!("{ACCOUNTS}/import"), body).await.expect(200).json(), expected);
    }
    let last = stage.hub.get(&account("bank-a:399")).await.expect(200).json();
    assert_eq!(last["proxies"].as_array().unwrap().len(), 10);
    stage.finish().await;
}

/// What the partner says to a payment of 100.50 with these members, of which it never heard before.
async fn judged(stage: &Stage, number: u64, path: &str, mut changes: Value) -> Value {
    changes["uetr"] = json!(uetr(number));
    stage.to_bank.post(path, message(path, changes)).await.check(if path == AUTHORISE_SYNC { 200 } else { 202 });
    if path != AUTHORISE_SYNC {
        stage.until(Bank, &uetr(number), "response", "delivered").await;
    }
    stage.bank.transaction(&uetr(number)).await["status_reason"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_judged_by_the_account_as_it_stands() {
    let stage = Stage::bank("balances = \"ledger\"").await;
    let own = json!({"creditor_account_number": ACCOUNT});
    // What the account is; what a credit hears, and what a debit does, for which there is no money yet.
    let table = [
        (json!({}), json!(null), json!("AM04")),
        (json!({"status": "closed"}), json!("AC04"), json!("AC04")),
        (json!({"status": "blocked"}), json!("AC06"), json!("AC06")),
        (json!({"currency": "USD"}), json!("AM03"), json!("AM03")),
        (json!({"credit_limit": 100.49, "debit_limit": 100.49}), json!("AM14"), json!("AM14")),
        (json!({"credit_limit": 100.50, "debit_limit": 100.50}), json!(null), json!("AM04")),
    ];
    for (number, (changes, credit, debit)) in (1u64..).zip(table) {
        stage.bank.put(&account(ACCOUNT), changes.clone()).await.check(200);
        let said = judged(&stage, 10 * number, AUTHORISE_SYNC, own.clone()).await;
        assert_eq!((said, judged(&stage, 10 * number + 1, DEBIT, json!({})).await), (credit, debit), "{changes}");
    }
    stage.bank.put(&account(ACCOUNT), json!({})).await.check(200);
    assert_eq!(judged(&stage, 100, AUTHORISE_SYNC, json!({"creditor_account_number": "999"})).await, "AC01");
    assert_eq!(judged(&stage, 101, DEBIT, json!({"debtor_account_number": "999"})).await, "AC01");
    assert_eq!(judged(&stage, 102, AUTHORISE_SYNC, json!({"creditor_account_proxy": PROXY})).await, "BE23");
    assert_eq!(judged(&stage, 103, AUTHORISE_SYNC, json!({})).await, json!(null), "the default account");
    // Once the money is here, a debit finds it, and no second one does.
    assert_eq!(judged(&stage, 104, TRANSFER, json!({})).await, json!(null));
    assert_eq!(judged(&stage, 105, DEBIT, json!({})).await, json!(null));
    assert_eq!(judged(&stage, 106, DEBIT, json!({})).await, "AM04");
    stage.bank.delete(&account(ACCOUNT)).await.check(200);
    assert_eq!(judged(&stage, 107, AUTHORISE_SYNC, own).await, "AC01");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_content_of_a_payment_is_approved_once_a_day_where_the_bank_wants_it_so() {
    let stage = Stage::bank("reject-duplicates = true").await;
    let changes = json!({"creditor_account_number": ACCOUNT});
    assert_eq!(judged(&stage, 1, AUTHORISE_SYNC, changes.clone()).await, json!(null));
    assert_eq!(judged(&stage, 2, AUTHORISE_SYNC, changes.clone()).await, "AM05");
    let other = json!({"creditor_account_number": ACCOUNT, "end_to_end_identification": "E2E-2"});
    assert_eq!(judged(&stage, 3, AUTHORISE_SYNC, other).await, json!(null));
    stage.advance_ms(86_400_000);
    assert_eq!(judged(&stage, 4, AUTHORISE_SYNC, changes).await, json!(null), "another day");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_resolved_as_the_directory_stands() {
    let stage = Stage::bank("").await;
    let asked = async |proxy: &str| {
        let body = json!({"creditor_account_proxy": proxy, "payment_scheme": "ZA_RPP"});
        stage.to_bank.post(DETERMINE, body).await.expect(200).json()
    };
    let found = json!({"creditor_account_number": ACCOUNT});
    let no = |reason: &str| json!({"transaction_status": "REJECTED", "status_reason": reason});
    for proxy in [PROXY, "ADA@Bank", " ada@bank "] {
        assert_eq!(asked(proxy).await, found, "{proxy:?}");
    }
    assert_eq!(asked("bob@bank").await, no("BE23"));
    for (status, expected) in [("closed", no("AC04")), ("blocked", no("AC06")), ("open", found)] {
        stage.bank.put(&account(ACCOUNT), json!({"status": status, "proxies": [PROXY]})).await.check(200);
        assert_eq!(asked(PROXY).await, expected, "{status}");
    }
    stage.bank.put(&account(ACCOUNT), json!({})).await.check(200);
    assert_eq!(asked(PROXY).await, no("BE23"));
    stage.bank.post(ACCOUNTS, json!({"account_number": "7", "proxies": [PROXY]})).await.check(201);
    assert_eq!(asked(PROXY).await, json!({"creditor_account_number": "7"}));
    stage.finish().await;
}

/// Many want the same number, then the same proxy, at once.
#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_want_the_same_at_once_one_gets_it() {
    let stage = Stage::bank("").await;
    let same =
        (0..16).map(|it| stage.bank.post(ACCOUNTS, json!({"account_number": "1", "legal_name": it.to_string()})));
    let same = join_all(same).await;
    let proxies =
        (10..26).map(|it| stage.bank.post(ACCOUNTS, json!({"account_number": it.to_string(), "proxies": ["eve"]})));
    let proxies = join_all(proxies).await;
    for answers in [same, proxies] {
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        let refusals: BTreeSet<String> =
            answers.iter().filter(|answer| answer.status != 201).map(unprocessable).collect();
        assert_eq!(refusals.len(), 1, "{refusals:?}");
    }
    assert_eq!(stage.bank.all(ACCOUNTS, "accounts").await.len(), 3);
    stage.finish().await;
}

/// Two partners may have accounts of the same number and proxies of the same name.
#[tokio::test(flavor = "multi_thread")]
async fn a_platform_keeps_a_copy_of_each_partners_directory() {
    let stage = Stage::both().await;
    stage.hub.post(PARTNERS, json!({"id": "bank-b", "payment_schemes": []})).await.check(201);
    for (body, expected) in [
        (json!({"account_number": "7"}), "partner is required."),
        (json!({"account_number": "7", "partner": "bank-c"}), "partner must be the id of a partner."),
        (json!({"account_number": "7", "partner": "Bank A"}), "partner must be the id of a partner."),
    ] {
        assert_eq!(unprocessable(&stage.hub.post(ACCOUNTS, body).await), expected);
    }
    for partner in ["bank-a", "bank-b"] {
        let body = json!({"account_number": "7 7", "partner": partner, "proxies": ["p"]});
        let made = stage.hub.post(ACCOUNTS, body.clone()).await.expect(201).json();
        assert_eq!((&made["id"], &made["partner"]), (&json!(format!("{partner}:77")), &json!(partner)));
        assert_eq!(unprocessable(&stage.hub.post(ACCOUNTS, body).await), "account_number must not be taken already.");
    }
    let import = json!({"accounts": [{"account_number": "77", "partner": "bank-a"}, {"account_number": "8", "partner": "bank-b"}]});
    let imported = stage.hub.post(&format!("{ACCOUNTS}/import"), import).await.expect(200).json();
    assert_eq!(imported, json!({"created": 1, "updated": 1}));
    for (query, expected) in
        [("", 3), ("?partner=bank-a", 1), ("?partner=bank-b", 2), ("?partner=bank-c", 0), ("?partner=%25", 0)]
    {
        let list = stage.hub.get(&format!("{ACCOUNTS}{query}")).await.expect(200).json();
        assert_eq!(list["accounts"].as_array().unwrap().len(), expected, "{query}");
    }
    stage.hub.delete(&account("bank-a:77")).await.check(200);
    stage.hub.get(&account("bank-b:7-7")).await.check(200);
    for id in ["77", ":77", "bank-b:", "bank-b:77:", "bank-c:77"] {
        refused(&stage.hub.get(&account(id)).await, 404, "INBOUND_NOT_FOUND");
    }
    stage.finish().await;
}
