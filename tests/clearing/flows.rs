//! The flows of the specification, between both sides with real tokens (spec/clearing: Flows).

use serde_json::{Value, json};

use super::{
    coverage::Side::{Bank, Hub},
    look::edges,
    messages::{
        ACCOUNT, AUTHORISE, AUTHORISE_SYNC, AUTHORISED, COMPLETE, DEBIT, DEBITED, DETERMINE, PROXY, TRANSFER,
        TRANSFERRED, UETR, message, minimal, payment, uetr,
    },
    stage::Stage,
};

const HELD: &str = "held/62001234567";
const CUSTOMER: &str = "customer/62001234567";
const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

impl Stage {
    async fn submit(&self, path: &str, changes: Value) {
        self.hub.post("/v1/clearing/payments", payment(path, changes)).await.check(202);
    }

    async fn settle(&self, status: &str) {
        let body = json!({"settlement_date": "2026-05-07", "transaction_status": status});
        self.hub.post(&format!("/v1/clearing/payments/{UETR}/settlement"), body).await.check(202);
    }

    /// The payment as both sides show it, once nothing is under way.
    async fn shown(&self) -> (Value, Value) {
        self.rest().await;
        (self.hub.transaction(UETR).await, self.bank.transaction(UETR).await)
    }

    async fn set_account(&self, status: &str) {
        let account = json!({"status": status, "proxies": [PROXY]});
        self.bank.put(&format!("/v1/clearing/accounts/{ACCOUNT}"), account).await.check(200);
    }
}

fn states(shown: &(Value, Value)) -> [&str; 2] {
    [shown.0["state"].as_str().unwrap(), shown.1["state"].as_str().unwrap()]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credit_transfer_is_authorised_answered_settled_and_completed_on_both_sides() {
    for (scheme, creditor) in [
        ("ZA_RTC", json!({"creditor_account_number": ACCOUNT})),
        ("ZA_RPP", json!({"creditor_account_number": ACCOUNT})),
        ("ZA_RTC", json!({})),
    ] {
        let stage = Stage::both().await.covers(&[
            "submit-payment: 202",
            "settle-payment: 202",
            "read-transaction: 200",
            "edge received to processing, *",
            "edge processing to approved, *",
            "edge approved to completed, *",
            "event inbound.credit_transfer.authorisation_received, feed of *",
            "event inbound.credit_transfer.authorisation_responded, feed of *",
            "event inbound.credit_transfer.completed, feed of *",
        ]);
        let mut changes = creditor;
        changes["payment_scheme"] = json!(scheme);
        stage.submit(AUTHORISE, changes).await;
        assert_eq!(states(&stage.shown().await), ["approved", "approved"]);
        assert_eq!(stage.books().await[HELD], 10_050);
        stage.settle("APPROVED").await;
        let shown = stage.shown().await;
        assert_eq!((states(&shown), &shown.0["delivery"]), (["completed", "completed"], &json!("delivered")));
        assert_eq!(shown.1["message"]["bank_settlement_amount_value"].to_string(), "100.5");
        let books = stage.books().await;
        assert_eq!((books.get(HELD), books[CUSTOMER]), (None, 10_050));
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_authorisation_is_answered_in_the_answer() {
    for scheme in ["ZA_RTC", "ZA_RPP"] {
        let stage = Stage::both().await;
        stage.submit(AUTHORISE_SYNC, json!({"payment_scheme": scheme})).await;
        assert_eq!(states(&stage.shown().await), ["approved", "approved"]);
        stage.settle("APPROVED").await;
        let shown = stage.shown().await;
        assert_eq!((states(&shown), &shown.1["response"]), (["completed", "completed"], &json!("delivered")));
        assert_eq!(stage.books().await[CUSTOMER], 10_050);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_resolved_by_the_partner_before_the_payment_is_sent() {
    let stage = Stage::both().await.covers(&[
        "event inbound.identifier.determination_received, feed of the partner",
        "edge received to processing, *",
    ]);
    stage.submit(AUTHORISE, json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": "ADA@bank"})).await;
    let shown = stage.shown().await;
    assert_eq!((states(&shown), &shown.0["stage"]), (["approved", "approved"], &json!("request")));
    assert_eq!(shown.1["message"]["creditor_account_number"], ACCOUNT);
    assert_eq!(shown.1["message"]["creditor_account_proxy"], "ADA@bank");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_the_partner_does_not_know_is_a_rejection_without_a_payment() {
    let stage = Stage::both().await.covers(&["edge processing to rejected, the platform"]);
    stage.submit(AUTHORISE, json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": "bob@bank"})).await;
    stage.rest().await;
    let hub = stage.hub.transaction(UETR).await;
    assert_eq!((&hub["state"], &hub["status_reason"]), (&json!("rejected"), &json!("BE23")));
    stage.bank.get(&format!("/v1/clearing/transactions/{UETR}")).await.check(404);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_manages_the_proxies_resolves_them_itself() {
    let stage = Stage::both_for(json!({"proxy_management": true})).await;
    let copy = json!({"partner": "bank-a", "account_number": ACCOUNT, "proxies": ["eve@bank"]});
    stage.hub.post("/v1/clearing/accounts", copy).await.check(201);
    stage.submit(AUTHORISE, json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": "eve@bank"})).await;
    let shown = stage.shown().await;
    assert_eq!(states(&shown), ["approved", "approved"], "the partner does not know this proxy, but the account");
    assert_eq!(shown.1["message"]["creditor_account_number"], ACCOUNT);
    let unknown = json!({"uetr": uetr(2), "payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY});
    stage.submit(AUTHORISE, unknown).await;
    stage.rest().await;
    assert_eq!(stage.hub.transaction(&uetr(2)).await["status_reason"], "BE23");
    stage.bank.get(&format!("/v1/clearing/transactions/{}", uetr(2))).await.check(404);
    assert!(stage.host.events().await.iter().all(|event| !event.event_type.contains("determination")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_mirrors_the_accounts_refuses_what_the_partner_would() {
    let stage = Stage::both_for(json!({"account_mirroring": true})).await;
    for (account, status) in [("62009", "closed"), ("62008", "blocked"), (ACCOUNT, "open")] {
        let copy = json!({"partner": "bank-a", "account_number": account, "status": status});
        stage.hub.post("/v1/clearing/accounts", copy).await.check(201);
    }
    for (number, account, reason) in [(1, "62009", "AC04"), (2, "62008", "AC06"), (3, "62007", "AC01")] {
        stage.submit(AUTHORISE, json!({"uetr": uetr(number), "creditor_account_number": account})).await;
        stage.rest().await;
        let hub = stage.hub.transaction(&uetr(number)).await;
        assert_eq!((&hub["state"], &hub["status_reason"]), (&json!("rejected"), &json!(reason)));
        stage.bank.get(&format!("/v1/clearing/transactions/{}", uetr(number))).await.check(404);
    }
    stage.submit(AUTHORISE, json!({"creditor_account_number": ACCOUNT})).await;
    assert_eq!(states(&stage.shown().await), ["approved", "approved"]);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_reaches_the_platform_with_its_reason() {
    for (path, status, reason) in
        [(AUTHORISE, "closed", "AC04"), (AUTHORISE_SYNC, "blocked", "AC06"), (DEBIT, "closed", "AC04")]
    {
        let stage = Stage::both().await.covers(&["edge processing to rejected, *"]);
        stage.set_account(status).await;
        stage.submit(path, json!({})).await;
        let shown = stage.shown().await;
        assert_eq!(states(&shown), ["rejected", "rejected"], "{path}");
        assert_eq!((&shown.0["status_reason"], &shown.1["status_reason"]), (&json!(reason), &json!(reason)));
        assert_eq!(shown.0["response"], json!({"transaction_status": "REJECTED", "status_reason": reason}));
        assert_eq!(stage.books().await.len(), 0, "no money has moved");
        let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
        stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(422);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_failed_gives_back_what_was_held() {
    let stage = Stage::both().await;
    stage.submit(AUTHORISE, json!({})).await;
    stage.rest().await;
    stage.settle("REJECTED").await;
    let shown = stage.shown().await;
    assert_eq!(states(&shown), ["approved", "approved"], "the specification has no edge for it");
    assert_eq!(shown.0["settlement"]["transaction_status"], "REJECTED");
    let completion = &shown.1["completion"];
    assert_eq!((&completion["transaction_status"], &completion["applied"]), (&json!("REJECTED"), &json!(true)));
    assert_eq!(stage.books().await.len(), 0, "the hold is released");
    assert!(stage.host.events().await.iter().all(|event| !event.event_type.ends_with("completed")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_credit_transfer_is_completed_when_it_is_applied() {
    let stage = Stage::both()
        .await
        .covers(&["edge received to completed, *", "event inbound.credit_transfer.received, feed of *"]);
    stage.submit(TRANSFER, json!({})).await;
    let shown = stage.shown().await;
    assert_eq!((states(&shown), edges(&shown.0).len()), (["completed", "completed"], 1));
    assert_eq!(shown.0["response"]["transaction_status"], "APPROVED");
    assert_eq!((stage.books().await[CUSTOMER], stage.books().await.len()), (10_050, 2));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_credit_transfer_that_nobody_can_be_given_is_returned() {
    let stage = Stage::both().await;
    stage.set_account("closed").await;
    stage.submit(TRANSFER, json!({})).await;
    let shown = stage.shown().await;
    assert_eq!(states(&shown), ["rejected", "rejected"], "it was never applied");
    let passed = [("received", "processing"), ("processing", "rejected")].map(|(from, to)| (from.into(), to.into()));
    assert_eq!((edges(&shown.0), edges(&shown.1)), (passed.to_vec(), passed.to_vec()));
    assert_eq!(shown.0["response"], json!({"transaction_status": "REJECTED", "status_reason": "AC04"}));
    assert_eq!(stage.books().await.len(), 0, "what was received has gone back");
    let totals = stage.totals(Hub).await;
    assert_eq!((&totals[0]["returned"]["count"], &totals[0]["completed"]["count"]), (&json!(1), &json!(0)));
    assert_eq!(totals, stage.totals(Bank).await);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_direct_debit_takes_the_money_when_it_is_approved() {
    let stage = Stage::both()
        .await
        .covers(&["edge processing to approved, *", "event inbound.direct_debit.received, feed of *"]);
    stage.submit(DEBIT, json!({})).await;
    let shown = stage.shown().await;
    assert_eq!((states(&shown), &shown.1["response"]), (["approved", "approved"], &json!("delivered")));
    assert_eq!(stage.books().await[CUSTOMER], -10_050);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_debit_that_the_ledger_has_no_money_for_is_rejected() {
    let stage = Stage::bank("balances = \"ledger\"").await;
    stage.to_bank.post(TRANSFER, message(TRANSFER, json!({"uetr": uetr(1)}))).await.check(202);
    stage.rest().await;
    for (number, value, expected) in [(2, 100.51, "rejected"), (3, 100.5, "approved"), (4, 0.01, "rejected")] {
        let debit = message(DEBIT, json!({"uetr": uetr(number), "bank_settlement_amount_value": value}));
        stage.to_bank.post(DEBIT, debit).await.check(202);
        stage.rest().await;
        let shown = stage.bank.transaction(&uetr(number)).await;
        assert_eq!(shown["state"], expected, "{shown}");
        assert_eq!(shown["status_reason"], if expected == "rejected" { json!("AM04") } else { Value::Null });
    }
    assert_eq!(stage.books().await.len(), 0, "it came and it went");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_come_to_the_same_totals() {
    let stage = Stage::both().await;
    stage.bank.post("/v1/clearing/accounts", json!({"account_number": "62009", "status": "closed"})).await.check(201);
    let kinds = [AUTHORISE, AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT];
    for number in 0..20 {
        let path = kinds[number as usize % kinds.len()];
        let account = if number % 4 == 3 { "62009" } else { ACCOUNT };
        let mut changes = json!({
            "uetr": uetr(number), "bank_settlement_amount_value": number as f64 + 0.25,
            "creditor_account_number": account, "debtor_account_number": account,
        });
        if number % 2 == 0 && path == AUTHORISE {
            changes["payment_scheme"] = json!("ZA_RPP");
        }
        stage.submit(path, changes).await;
    }
    stage.rest().await;
    for shown in stage.hub.all("/v1/clearing/transactions?state=approved", "transactions").await {
        if shown["operation"] != "direct-debit" {
            let uetr = shown["uetr"].as_str().unwrap();
            let status = if uetr.ends_with('1') { "REJECTED" } else { "APPROVED" };
            let body = json!({"settlement_date": "2026-05-07", "transaction_status": status});
            stage.hub.post(&format!("/v1/clearing/payments/{uetr}/settlement"), body).await.check(202);
        }
    }
    stage.rest().await;
    let totals = stage.totals(Hub).await;
    assert_eq!(totals, stage.totals(Bank).await);
    assert!(totals.as_array().unwrap().len() == 4, "two real-time schemes, EFT in both directions: {totals}");
    let mut customer = 0;
    for row in totals.as_array().unwrap() {
        let minor = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i128;
        customer += minor(&row["completed"]["value"]) - minor(&row["approved"]["value"]);
    }
    let books = stage.books().await;
    assert_eq!((books[CUSTOMER], books.values().sum::<i128>()), (customer, 0), "{totals}\n{books:?}");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_partner_takes_each_message_with_what_the_specification_lists_and_no_more() {
    let stage = Stage::bank("").await.covers(&[
        "identifier-determination: 200",
        "credit-transfer-authorisation: 202",
        "credit-transfer-authorisation-sync: 200",
        "credit-transfer-completion: 202",
        "credit-transfer: 202",
        "direct-debit: 202",
    ]);
    let determined = stage.to_bank.post(DETERMINE, minimal(DETERMINE)).await.expect(200).json();
    assert_eq!(determined, json!({"creditor_account_number": ACCOUNT}));
    let authorised = stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.expect(200).json();
    assert_eq!(authorised, json!({"uetr": UETR, "transaction_status": "APPROVED"}));
    let acknowledged = stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.expect(202).json();
    assert_eq!(acknowledged, json!({"uetr": UETR}));
    for (number, path) in [(1, AUTHORISE), (2, TRANSFER), (3, DEBIT)] {
        let answer = stage.to_bank.post(path, message(path, json!({"uetr": uetr(number)}))).await.expect(202).json();
        assert_eq!(answer, json!({"uetr": uetr(number)}));
    }
    stage.rest().await;
    assert_eq!(stage.bank.transaction(UETR).await["state"], "completed");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_takes_each_response_with_what_the_specification_lists_and_no_more() {
    let stage = Stage::hub(json!({})).await.covers(&[
        "credit-transfer-authorisation-response: 202",
        "credit-transfer-response: 202",
        "direct-debit-response: 202",
    ]);
    for (number, path, response) in [(1, AUTHORISE, AUTHORISED), (2, TRANSFER, TRANSFERRED), (3, DEBIT, DEBITED)] {
        stage.submit(path, json!({"uetr": uetr(number)})).await;
        stage.rest().await;
        let answer = message(response, json!({"uetr": uetr(number)}));
        let answer = stage.to_hub.post(response, answer).await.expect(202).json();
        assert_eq!(answer, json!({"uetr": uetr(number)}));
        let shown = stage.hub.transaction(&uetr(number)).await;
        assert_eq!(shown["response"]["transaction_status"], "APPROVED");
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_payment_goes_with_each_message_of_it() {
    let headers = [("content-type", "application/json"), ("traceparent", TRACE)];
    let stage = Stage::hub(json!({})).await;
    let body = payment(AUTHORISE, json!({})).to_string();
    stage.hub.send("POST", "/v1/clearing/payments", &headers, body.into_bytes()).await.check(202);
    stage.told("/credit-transfer-authorisation", 1).await;
    stage.to_hub.post(AUTHORISED, minimal(AUTHORISED)).await.check(202);
    stage.settle("APPROVED").await;
    stage.told("/credit-transfer-completion", 1).await;
    assert!(stage.peer.received().iter().all(|arrived| arrived.header("traceparent") == TRACE));
    stage.finish().await;

    let stage = Stage::bank("").await;
    let body = minimal(AUTHORISE).to_string();
    stage.to_bank.send("POST", AUTHORISE, &headers, body.into_bytes()).await.check(202);
    assert_eq!(stage.told("/credit-transfer-authorisation-response", 1).await[0].header("traceparent"), TRACE);
    stage.finish().await;
}
