//! Who sees what: a client that speaks for a partner, the other environment of a bank (docs/clearing.md: Guarantees).

use futures_util::future::join_all;
use serde_json::json;

use super::{
    actor::Actor,
    coverage::Side::Bank,
    messages::{ACCOUNT, AUTHORISE, DEBIT, DEBITED, UETR, message, payment, uetr},
    refusals::refused,
    routes::{ACCOUNTS, HOOKS, PARTNERS, TRANSACTIONS},
    stage::Stage,
};

const BANK_A: &str = "/v1/clearing/partners/bank-a";

#[tokio::test(flavor = "multi_thread")]
async fn a_client_speaks_for_one_partner() {
    let stage = Stage::both().await;
    let made = (0..12).map(|it| {
        let body = json!({"id": format!("bank-{it}"), "payment_schemes": [], "client_ids": ["same"]});
        stage.hub.post(PARTNERS, body)
    });
    let made = join_all(made).await;
    assert_eq!(made.iter().filter(|answer| answer.status == 201).count(), 1);
    for answer in made.iter().filter(|answer| answer.status != 201) {
        let detail = refused(answer, 422, "INBOUND_UNPROCESSABLE");
        assert_eq!(detail, "client_ids must not speak for another partner already.");
    }
    stage.finish().await;
}

/// Two partners, each with a client of its own that has every scope, a payment (the first and the second) and an account.
async fn two_partners() -> (Stage, Actor, Actor) {
    let stage = Stage::hub(json!({})).await;
    let (a, b) = (stage.client("hub", &[]).await, stage.client("hub", &[]).await);
    let schemes = json!(["ZA_RTC", "ZA_EFT"]);
    let to = json!({"base_url": format!("{}/v1", stage.peer.base()), "kind": "none"});
    stage.hub.put(BANK_A, json!({"payment_schemes": schemes, "client_ids": [a.client_id]})).await.check(200);
    let bank_b = json!({"id": "bank-b", "payment_schemes": schemes, "client_ids": [b.client_id], "destination": to});
    stage.hub.post(PARTNERS, bank_b).await.check(201);
    for (number, partner) in [(1, "bank-a"), (2, "bank-b")] {
        let mut body = payment(DEBIT, json!({"uetr": uetr(number)}));
        body["partner"] = json!(partner);
        stage.hub.post("/v1/clearing/payments", body).await.check(202);
        stage.hub.post(ACCOUNTS, json!({"partner": partner, "account_number": "7", "proxies": ["p"]})).await.check(201);
    }
    stage.told("/direct-debit", 2).await;
    (stage, a, b)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_speaks_for_a_partner_finds_what_is_that_partners() {
    let (stage, a, b) = two_partners().await;
    for (client, own, other, number) in [(&a, "bank-a", "bank-b", 1), (&b, "bank-b", "bank-a", 2)] {
        for query in ["", "?partner=bank-a", "?partner=bank-b"] {
            let seen = client.get(&format!("{TRANSACTIONS}{query}")).await.expect(200).json();
            let seen = seen["transactions"].as_array().unwrap().clone();
            assert_eq!((seen.len(), &seen[0]["partner"]), (1, &json!(own)), "{query}");
            let accounts = client.get(&format!("{ACCOUNTS}{query}")).await.expect(200).json();
            let accounts = accounts["accounts"].as_array().unwrap().clone();
            assert_eq!((accounts.len(), &accounts[0]["id"]), (1, &json!(format!("{own}:7"))), "{query}");
        }
        client.get(&format!("{ACCOUNTS}/{own}:7")).await.check(200);
        // Whose account it is, its client does not decide.
        let made = client.post(ACCOUNTS, json!({"partner": other, "account_number": "8"})).await.expect(201).json();
        assert_eq!(made["id"], json!(format!("{own}:8")));
        client.delete(&format!("{ACCOUNTS}/{own}:8")).await.check(200);
        client.post(DEBITED, message(DEBITED, json!({"uetr": uetr(number)}))).await.check(202);
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_speaks_for_a_partner_finds_nothing_else_and_speaks_for_nobody_else() {
    let (stage, a, b) = two_partners().await;
    for (client, other, number) in [(&a, "bank-b", 2), (&b, "bank-a", 1)] {
        let foreign = [
            client.get(&format!("{ACCOUNTS}/{other}:7")).await,
            client.put(&format!("{ACCOUNTS}/{other}:7"), json!({})).await,
            client.delete(&format!("{ACCOUNTS}/{other}:7")).await,
            client.get(&format!("{TRANSACTIONS}/{}", uetr(number))).await,
            client.post(DEBITED, message(DEBITED, json!({"uetr": uetr(number)}))).await,
        ];
        for answer in foreign {
            assert_eq!(refused(&answer, 404, "INBOUND_NOT_FOUND"), "");
        }
        let of_all = ["events", "stream", "reports/concerns", "reports/reconciliation"];
        let of_all = of_all.map(|it| format!("/v1/clearing/{it}"));
        for path in of_all.iter().map(String::as_str).chain([PARTNERS, BANK_A, HOOKS]) {
            refused(&client.get(path).await, 403, "INBOUND_FORBIDDEN");
        }
        refused(&client.post("/v1/clearing/payments", payment(DEBIT, json!({}))).await, 403, "INBOUND_FORBIDDEN");
        refused(&client.post(HOOKS, json!({"url": "https://a.example.com"})).await, 403, "INBOUND_FORBIDDEN");
        let again = format!("{TRANSACTIONS}/{}/redelivery", uetr(3 - number));
        refused(&client.post(&again, json!({})).await, 403, "INBOUND_FORBIDDEN");
        let own_rights = json!({"payment_schemes": ["ZA_RPP"], "client_ids": [a.client_id, b.client_id]});
        refused(&client.put(BANK_A, own_rights).await, 403, "INBOUND_FORBIDDEN");
    }
    // Who speaks for nobody answers for nobody who has named somebody.
    refused(&stage.hub.post(DEBITED, message(DEBITED, json!({"uetr": uetr(1)}))).await, 404, "INBOUND_NOT_FOUND");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_lost_its_partner_opens_nothing_until_another_partner_has_it() {
    let (stage, a, b) = two_partners().await;
    let schemes = json!(["ZA_RTC", "ZA_EFT"]);
    // What is said of its other settings does not touch its clients.
    stage.hub.put(BANK_A, json!({"payment_schemes": schemes, "name": "A"})).await.check(200);
    a.get(&format!("{TRANSACTIONS}/{}", uetr(1))).await.check(200);
    stage.hub.put(BANK_A, json!({"payment_schemes": schemes, "client_ids": [b.client_id]})).await.check(422);
    stage.hub.put(BANK_A, json!({"payment_schemes": schemes, "client_ids": []})).await.check(200);
    for path in [TRANSACTIONS, ACCOUNTS, PARTNERS, "/v1/clearing/events", HOOKS] {
        refused(&a.get(path).await, 403, "INBOUND_FORBIDDEN");
    }
    refused(&a.get(&format!("{TRANSACTIONS}/{}", uetr(1))).await, 403, "INBOUND_FORBIDDEN");
    refused(&a.post(ACCOUNTS, json!({"account_number": "9"})).await, 403, "INBOUND_FORBIDDEN");
    refused(&a.post("/v1/clearing/payments", payment(DEBIT, json!({}))).await, 403, "INBOUND_FORBIDDEN");
    refused(&a.post(DEBITED, message(DEBITED, json!({"uetr": uetr(1)}))).await, 404, "INBOUND_NOT_FOUND");
    stage.hub.put(BANK_A, json!({"payment_schemes": schemes, "client_ids": [a.client_id]})).await.check(200);
    a.get(&format!("{TRANSACTIONS}/{}", uetr(1))).await.check(200);
    stage.finish().await;
}

/// One organization, its other environment: neither payments nor accounts of the one are in the other.
#[tokio::test(flavor = "multi_thread")]
async fn test_and_live_of_a_bank_never_meet() {
    let stage = Stage::bank("").await;
    stage.to_bank.post(AUTHORISE, message(AUTHORISE, json!({}))).await.check(202);
    stage.until(Bank, UETR, "response", "delivered").await;
    let live = stage.client("bank/live", &[]).await;
    for (path, member) in [
        (TRANSACTIONS, "transactions"),
        (ACCOUNTS, "accounts"),
        ("/v1/clearing/events", "events"),
        (HOOKS, "webhook_endpoints"),
    ] {
        assert_eq!(live.get(path).await.expect(200).json()[member], json!([]), "{path}");
    }
    refused(&live.get(&format!("{TRANSACTIONS}/{UETR}")).await, 404, "INBOUND_NOT_FOUND");
    refused(&live.get("/v1/clearing/destinations/platform").await, 404, "INBOUND_NOT_FOUND");
    live.post(ACCOUNTS, json!({"account_number": ACCOUNT, "status": "closed"})).await.check(201);
    assert_eq!(stage.bank.get(&format!("{ACCOUNTS}/{ACCOUNT}")).await.expect(200).json()["status"], "open");
    stage.finish().await;
}
