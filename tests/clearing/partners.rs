//! Whom a platform sends to, and where each side finds the other (docs/clearing.md).

use serde_json::{Value, json};

use super::{
    messages::{AUTHORISE, AUTHORISED, DEBIT, UETR, message, payment, uetr},
    refusals::refused,
    routes::PARTNERS,
    stage::Stage,
};
use crate::{
    host::keys::files_containing,
    support::{ReceiverResponse, Response, eventually},
};

const SECRET: &str = "s3cret-s3cret-s3cret";
const BANK_A: &str = "/v1/clearing/partners/bank-a";
const PLATFORM: &str = "/v1/clearing/destinations/platform";

#[track_caller]
fn unprocessable(answer: &Response) -> String {
    refused(answer, 422, "INBOUND_UNPROCESSABLE")
}

fn destination() -> Value {
    json!({
        "base_url": "https://bank.example.com/v1", "kind": "oauth2", "token_url": "https://bank.example.com/oauth2/token",
        "client_id": "hub", "client_secret": SECRET, "scope": "a b", "audience": "clearing",
    })
}

/// As it is shown: without its secret.
fn shown(mut destination: Value) -> Value {
    destination
        .as_object_mut()
        .unwrap()
        .retain(|name, _| !["client_secret", "token", "password"].contains(&name.as_str()));
    destination
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_is_kept_changed_and_deleted_and_its_secrets_are_never_shown() {
    let stage = Stage::both().await.covers(&[
        "create-partner: 201",
        "list-partners: 200",
        "read-partner: 200",
        "update-partner: 200",
        "delete-partner: 200",
    ]);
    let body = json!({
        "id": "bank-b", "name": "Bank B", "payment_schemes": ["ZA_RTC", "CBPR+"], "account_mirroring": true,
        "client_ids": ["client-b"], "destination": destination(),
    });
    let made = stage.hub.post(PARTNERS, body).await.expect(201);
    let expected = json!({
        "id": "bank-b", "name": "Bank B", "payment_schemes": ["CBPR+", "ZA_RTC"], "account_mirroring": true,
        "proxy_management": false, "client_ids": ["client-b"], "destination": shown(destination()),
        "created_at": "2026-05-07T08:30:00.000000Z", "updated_at": "2026-05-07T08:30:00.000000Z",
    });
    assert_eq!(made.json(), expected);
    let path = format!("{PARTNERS}/bank-b");
    assert_eq!(stage.hub.get(&path).await.expect(200).json(), expected);
    let list = stage.hub.get(PARTNERS).await.expect(200);
    assert!(!list.text().contains(SECRET) && list.json()["partners"].as_array().unwrap().contains(&expected));
    // Settings are replaced; clients and destination stay where nothing is said of them, and the destination goes with null.
    let changed = stage.hub.put(&path, json!({"payment_schemes": ["ZA_EFT"]})).await.expect(200).json();
    assert_eq!((&changed["client_ids"], &changed["destination"]), (&json!(["client-b"]), &shown(destination())));
    let without = stage.hub.put(&path, json!({"payment_schemes": [], "destination": null})).await.expect(200).json();
    assert_eq!(without["destination"], json!(null));
    for (kind, secret) in [("bearer", "token"), ("basic", "password")] {
        let given = json!({"base_url": "https://b.example.com", "kind": kind, "user": "u", secret: SECRET});
        let given =
            if kind == "bearer" { json!({"base_url": given["base_url"], "kind": kind, secret: SECRET}) } else { given };
        let answer = stage.hub.put(&path, json!({"payment_schemes": [], "destination": given})).await.expect(200);
        assert_eq!(answer.json()["destination"], shown(given));
    }
    assert_eq!(stage.hub.delete(&path).await.expect(200).json(), json!({"id": "bank-b", "deleted": true}));
    refused(&stage.hub.get(&path).await, 404, "INBOUND_NOT_FOUND");
    // Nothing of it is left that another one of that name would find.
    let again = stage.hub.post(PARTNERS, json!({"id": "bank-b", "payment_schemes": []})).await.expect(201).json();
    assert_eq!(again["destination"], json!(null));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_holds_the_secret_of_a_destination() {
    let stage = Stage::both().await;
    stage.hub.put(BANK_A, json!({"payment_schemes": [], "destination": destination()})).await.check(200);
    stage.bank.put(PLATFORM, destination()).await.check(200);
    let body = json!({"payment_schemes": [], "destination": {"base_url": "x", "client_secret": SECRET}});
    unprocessable(&stage.hub.put(BANK_A, body).await);
    let dir = stage.host.dir.clone();
    stage.finish().await;
    assert_eq!(files_containing(dir.path(), SECRET), Vec::<String>::new());
    assert_ne!(
        files_containing(dir.path(), "bank.example.com"),
        Vec::<String>::new(),
        "the address is there to be found"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_partner_is_told_by_name_and_not_by_value() {
    let stage = Stage::both().await;
    let with = |name: &str, value: Value| {
        let mut body = json!({"id": "bank-b", "payment_schemes": []});
        body[name] = value;
        body
    };
    let to = |address: &str| json!({"base_url": address});
    let with_token_url = |address: &str| {
        let mut given = destination();
        given["token_url"] = json!(address);
        given
    };
    let table = [
        (with("id", json!("Bank B")), "id must consist of lower case letters, digits and hyphens."),
        (with("id", json!("x".repeat(36))), "id may have at most 35 characters."),
        (with("id", json!("bank-a")), "id must not be taken already."),
        (with("payment_schemes", json!(["ZA_AC"])), "payment_schemes must consist of ZA_RTC, ZA_RPP, ZA_EFT, CBPR+."),
        (with("payment_schemes", json!("ZA_RTC")), "payment_schemes must be a list of texts."),
        (with("account_mirroring", json!("yes")), "account_mirroring must be true or false."),
        (with("client_ids", json!(["x".repeat(191)])), "client_ids may have at most 190 characters."),
        (
            with("client_ids", json!((0..21).map(|it| it.to_string()).collect::<Vec<_>>())),
            "client_ids may have at most 20 members.",
        ),
        (with("destination", json!("x")), "destination must be an object."),
        (with("destination", json!({})), "destination.base_url is required."),
        (with("destination", to("bank")), "destination must have addresses that begin with https://."),
        (with("destination", to("file:///etc/passwd")), "destination must have addresses that begin with https://."),
        (with("destination", to("http://10.0.0.1/v1")), "destination must have public addresses."),
        (with("destination", to("http://169.254.169.254/latest")), "destination must have public addresses."),
        (
            with("destination", with_token_url("http://169.254.169.254/token")),
            "destination must have public addresses.",
        ),
        (
            with("destination", json!({"base_url": "https://b.example.com", "token": 7})),
            "destination.token must be a text.",
        ),
        (
            with("destination", json!({"base_url": "https://b.example.com", "kind": SECRET})),
            "destination is not accepted: ",
        ),
    ];
    for (body, expected) in table {
        let answer = stage.hub.post(PARTNERS, body.clone()).await;
        let detail = unprocessable(&answer);
        assert!(detail.starts_with(expected), "{body}: {detail}");
        refused(&stage.hub.get(&format!("{PARTNERS}/bank-b")).await, 404, "INBOUND_NOT_FOUND");
    }
    assert_eq!(unprocessable(&stage.hub.put(BANK_A, with("id", json!("bank-c"))).await), "id must not change.");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_with_payments_that_are_not_finished_stays() {
    let stage = Stage::hub(json!({})).await;
    stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, json!({}))).await.check(202);
    let stays = async || unprocessable(&stage.hub.delete(BANK_A).await);
    assert_eq!(stays().await, "Payments of this partner are not finished.");
    stage.told("/credit-transfer-authorisation", 1).await;
    stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({}))).await.check(202);
    stays().await;
    stage.peer.respond_at("-completion", ReceiverResponse::Status(500));
    let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    stage.told("-completion", 1).await;
    stays().await;
    stage.peer.respond_at("-completion", ReceiverResponse::Status(202));
    eventually("the completion is taken", async || {
        stage.advance_ms(1_000);
        (stage.hub.transaction(UETR).await["delivery"] == "delivered").then_some(())
    })
    .await;
    stage.hub.delete(BANK_A).await.check(200);
    assert_eq!(stage.hub.transaction(UETR).await["state"], "completed", "what was sent to it stays");
    let nobody = payment(AUTHORISE, json!({"uetr": uetr(2)}));
    assert_eq!(
        unprocessable(&stage.hub.post("/v1/clearing/payments", nobody).await),
        "partner must be the id of a partner."
    );
    // Whoever comes after it under its name would find what is not theirs.
    let again = unprocessable(&stage.hub.post(PARTNERS, json!({"id": "bank-a", "payment_schemes": []})).await);
    assert!(again.starts_with("id must not be that of a partner that was deleted"), "{again}");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_payment_and_the_end_of_its_partner_at_the_same_moment_one_happens() {
    let stage = Stage::hub(json!({})).await;
    for number in 0..20 {
        let id = format!("bank-{number}");
        let partner = json!({"id": id, "payment_schemes": ["ZA_EFT"], "destination": destination()});
        stage.hub.post(PARTNERS, partner).await.check(201);
        let mut body = payment(DEBIT, json!({"uetr": uetr(number)}));
        body["partner"] = json!(id);
        let path = format!("{PARTNERS}/{id}");
        let (submitted, deleted) = tokio::join!(stage.hub.post("/v1/clearing/payments", body), stage.hub.delete(&path));
        let both = (submitted.status, deleted.status);
        assert!([(202, 422), (422, 200)].contains(&both), "{both:?}");
        let again = stage.hub.post(PARTNERS, json!({"id": id, "payment_schemes": []})).await.status;
        assert_eq!(again, if both.1 == 200 { 201 } else { 422 });
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_schemes_that_were_agreed_on_are_sent() {
    let stage = Stage::hub(json!({"payment_schemes": ["ZA_RPP"]})).await;
    for (path, scheme, status) in [(AUTHORISE, "ZA_RTC", 422), (DEBIT, "ZA_EFT", 422), (AUTHORISE, "ZA_RPP", 202)] {
        let answer = stage.hub.post("/v1/clearing/payments", payment(path, json!({"payment_scheme": scheme}))).await;
        assert_eq!(answer.status, status, "{scheme}: {}", answer.text());
        assert_eq!(status == 422, answer.text().contains("payment_scheme is not agreed with this partner."));
    }
    stage.told("/credit-transfer-authorisation", 1).await;
    assert_eq!(stage.peer.received().len(), 1);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bank_says_where_its_messages_go_and_hears_no_secret_again() {
    let stage =
        Stage::both().await.covers(&["read-destination: 200", "put-destination: 200", "delete-destination: 200"]);
    let put = stage.bank.put(PLATFORM, destination()).await.expect(200).json();
    assert_eq!((&put, stage.bank.get(PLATFORM).await.expect(200).json()), (&shown(destination()), put.clone()));
    assert_eq!(stage.bank.delete(PLATFORM).await.expect(200).json(), json!({"id": "platform", "deleted": true}));
    for answer in [stage.bank.get(PLATFORM).await, stage.bank.delete(PLATFORM).await] {
        refused(&answer, 404, "INBOUND_NOT_FOUND");
    }
    // It replaces: a secret that is not given again is gone, and a kind that needs it is refused.
    stage.bank.put(PLATFORM, destination()).await.check(200);
    let mut partial = destination();
    partial.as_object_mut().unwrap().remove("client_secret");
    assert!(unprocessable(&stage.bank.put(PLATFORM, partial).await).starts_with("destination is not accepted: "));
    assert_eq!(stage.bank.get(PLATFORM).await.expect(200).json(), shown(destination()));
    stage.finish().await;
}
