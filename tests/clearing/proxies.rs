//! Payments that name a proxy, and an account beside it (ZA_RPP): the proxy is resolved, and both must mean one account.

use serde_json::{Value, json};

use super::{
    coverage::Side::Hub,
    messages::{ACCOUNT, AUTHORISE, AUTHORISE_SYNC, PROXY, message, payment, uetr},
    stage::Stage,
};
use crate::support::ReceiverResponse;

fn by_both(number: u64, account: &str) -> Value {
    let both = json!({
        "uetr": uetr(number), "payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY, "creditor_account_number": account,
    });
    payment(AUTHORISE, both)
}

fn ended(shown: &Value) -> (&Value, &Value) {
    (&shown["state"], &shown["status_reason"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_resolved_even_where_an_account_is_given() {
    let stage = Stage::both().await;
    stage.hub.post("/v1/clearing/payments", by_both(1, ACCOUNT)).await.check(202);
    stage.until(Hub, &uetr(1), "state", "approved").await;
    assert_eq!(stage.bank.transaction(&uetr(1)).await["account_number"], ACCOUNT);
    let journal = stage.host.journal("bank/test").await;
    assert!(journal.iter().any(|line| line["operation"] == "identifier-determination"), "{journal:?}");

    stage.hub.post("/v1/clearing/payments", by_both(2, "62009")).await.check(202);
    let shown = stage.until(Hub, &uetr(2), "state", "rejected").await;
    assert_eq!(shown["status_reason"], "BE23");
    stage.bank.get(&format!("/v1/clearing/transactions/{}", uetr(2))).await.check(404);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_the_platform_manages_must_stand_for_the_named_account() {
    let stage = Stage::hub(json!({"proxy_management": true})).await;
    let account = json!({"partner": "bank-a", "account_number": ACCOUNT, "proxies": [PROXY]});
    stage.hub.post("/v1/clearing/accounts", account).await.check(201);
    stage.hub.post("/v1/clearing/payments", by_both(1, "62009")).await.check(202);
    assert_eq!(ended(&stage.hub.transaction(&uetr(1)).await), (&json!("rejected"), &json!("BE23")));
    assert!(stage.peer.received().is_empty());
    stage.hub.post("/v1/clearing/payments", by_both(2, ACCOUNT)).await.check(202);
    stage.rest().await;
    assert_eq!(stage.peer.received()[0].json()["creditor_account_number"], ACCOUNT);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolved_account_is_compared_with_the_platforms_copy() {
    let stage = Stage::hub(json!({"account_mirroring": true})).await;
    for (account, status) in [("1", "open"), ("2", "closed"), ("3", "blocked")] {
        let body = json!({"partner": "bank-a", "account_number": account, "status": status});
        stage.hub.post("/v1/clearing/accounts", body).await.check(201);
    }
    for (number, account, expected) in
        [(1, "1", Value::Null), (2, "2", "AC04".into()), (3, "3", "AC06".into()), (4, "4", "AC01".into())]
    {
        stage.peer.respond_at(
            "/identifier-determination",
            ReceiverResponse::Json(200, json!({"creditor_account_number": account})),
        );
        let by_proxy = json!({"uetr": uetr(number), "payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY});
        stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, by_proxy)).await.check(202);
        stage.rest().await;
        let state = if expected.is_null() { "processing" } else { "rejected" };
        assert_eq!(ended(&stage.hub.transaction(&uetr(number)).await), (&json!(state), &expected), "{account}");
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_that_knows_the_proxy_compares_it_with_the_named_account() {
    let stage = Stage::bank("").await;
    let other = json!({"account_number": "62009"});
    stage.bank.post("/v1/clearing/accounts", other).await.check(201);
    for (number, proxy, account, scheme, expected) in [
        (1, PROXY, ACCOUNT, "ZA_RPP", "APPROVED"),
        (2, PROXY, "62009", "ZA_RPP", "REJECTED"),
        // Kept by the platform alone, and no proxy at all.
        (3, "bob@bank", "62009", "ZA_RPP", "APPROVED"),
        (4, PROXY, "62009", "ZA_RTC", "APPROVED"),
    ] {
        let changes = json!({
            "uetr": uetr(number), "payment_scheme": scheme, "creditor_account_proxy": proxy,
            "creditor_account_number": account,
        });
        let answer = stage.to_bank.post(AUTHORISE_SYNC, message(AUTHORISE_SYNC, changes)).await.expect(200).json();
        assert_eq!(answer["transaction_status"], expected, "{number}");
        let reason = if expected == "REJECTED" { json!("BE23") } else { Value::Null };
        assert_eq!(answer["status_reason"], reason, "{number}");
    }
    stage.finish().await;
}
