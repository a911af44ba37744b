//! Virtual accounts: on the main network, after due diligence, a bank account number whose payments arrive as coins.

use serde_json::{Value, json};

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::stage::{Stage, Wallet};
use crate::support::{TestClient, eventually};

fn owner() -> Value {
    json!({"firstname": "Ada", "lastname": "Okafor", "email": "ada@example.com", "phone": "+2348012345678"})
}

/// The account "acme" in the live environment: its key, and its wallet on Base.
async fn live(stage: &Stage) -> (String, Wallet) {
    let description = json!({"plugin": "wallet", "tenant": "acme", "environment": "live"});
    let account = text(&stage.host.create_key(description).await, "key");
    // Nobody listens there: what is told is seen in the lists.
    let body = json!({"blockchain": "base", "webhook_url": "https://example.com/hook"});
    let made = stage.ask_as(&account, "POST", "/v1/wallets", Some(body)).await;
    assert_eq!(made["network"], "mainnet");
    let wallet = Wallet { id: text(&made, "wallet_id"), address: text(&made, "address"), key: text(&made, "api_key") };
    // A faucet stands on simulated main networks as well, outside of production.
    eventually("coins of a live wallet", async || (stage.available(&wallet, "", "ETH").await == "10").then_some(()))
        .await;
    (account, wallet)
}

async fn approve(stage: &Stage, account: &str) {
    for (step, body) in [("submit", json!({})), ("decide", json!({"state": "approved"}))] {
        stage.ask_as(account, "POST", &format!("/v1/compliance/forms/due-diligence/{step}"), Some(body)).await;
    }
}

async fn until(stage: &Stage, wallet: &Wallet, path: &str, status: &str) -> Value {
    eventually(&format!("a virtual account that is {status}"), async || {
        Some(stage.get(wallet, path).await)
            .filter(|shown| shown["status"] == status && !shown["accountNumber"].is_null())
    })
    .await
}

/// The bank, for the live account.
async fn bank(stage: &Stage) -> TestClient {
    let description = json!({"plugin": "sandbox-providers", "tenant": "acme", "environment": "live"});
    let key = text(&stage.host.create_key(description).await, "key");
    TestClient::new(&format!("{}/sandbox-providers", stage.host.base()), Some(&key))
}

#[tokio::test(flavor = "multi_thread")]
async fn virtual_accounts_are_of_the_main_network_and_of_whoever_is_known() {
    let stage = Stage::open().await.covers(&["code VIRTUAL_ACCOUNT_TESTNET", "*-compliance-form answers"]);
    let test = stage.wallet("base").await;
    let refused = (400, "VIRTUAL_ACCOUNT_TESTNET", "");
    check_refusal(&stage.post(&test, "/virtual-accounts", owner()).await, refused);
    let address = stage.address(&test, json!({})).await;
    let path = format!("/addresses/{}/virtual-accounts", address.id);
    check_refusal(&stage.post(&test, &path, owner()).await, refused);
    // The form of the test environment is not that of the live one.
    approve(&stage, &stage.account).await;
    check_refusal(&stage.post(&test, "/virtual-accounts", owner()).await, refused);
    let (account, wallet) = live(&stage).await;
    check_refusal(&stage.post(&wallet, "/virtual-accounts", owner()).await, (403, "SERVICE_VALIDATION_ERROR", ""));
    stage.ask_as(&account, "POST", "/v1/compliance/forms/due-diligence/submit", Some(json!({}))).await;
    check_refusal(&stage.post(&wallet, "/virtual-accounts", owner()).await, (403, "SERVICE_VALIDATION_ERROR", ""));
    stage.finish().await;
}

/// A live wallet that may have virtual accounts, and their bank.
async fn known(stage: &Stage) -> (Wallet, TestClient) {
    let (account, wallet) = live(stage).await;
    approve(stage, &account).await;
    (wallet, bank(stage).await)
}

/// A virtual account that has its number, below the path of a wallet (""), or of an address under it; its id and itself.
async fn opened(stage: &Stage, wallet: &Wallet, place: &str) -> (String, Value) {
    let made = stage.make(wallet, &format!("{place}/virtual-accounts"), owner()).await;
    check_fields(&made, "virtual_account_id, wallet_id, currency, status");
    assert_eq!((&made["status"], &made["currency"]), (&json!("requested"), &json!("NGN")));
    let id = text(&made, "id");
    let open = until(stage, wallet, &format!("/virtual-accounts/{id}"), "active").await;
    check_fields(&open, "accountName, accountNumber, bankCode, bankName");
    (id, open)
}

async fn pay(bank: &TestClient, id: &str, amount: &str) {
    let path = format!("/v1/virtual-accounts/{id}/simulate-payment");
    bank.post(&path, json!({"amount": amount})).await.check(201);
}

async fn has_naira(stage: &Stage, wallet: &Wallet, place: &str, amount: &str) {
    eventually("a deposit of naira", async || (stage.available(wallet, place, "cNGN").await == amount).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_to_a_virtual_account_arrives_as_a_deposit() {
    let stage = Stage::open().await.covers(&[
        "create-virtual-account* answers",
        "list-virtual-account* answers",
        "read-virtual-account answers",
    ]);
    let (wallet, bank) = known(&stage).await;
    let (id, _) = opened(&stage, &wallet, "").await;
    pay(&bank, &id, "5000").await;
    has_naira(&stage, &wallet, "", "5000").await;
    let deposits = stage.list(&wallet, "/transactions?type=DEPOSIT&assets=cNGN").await;
    assert_eq!((&deposits["meta"]["totalItems"], &deposits["data"][0]["amount"]), (&json!(1), &json!("5000")));
    let payments = stage.get(&wallet, &format!("/virtual-accounts/{id}/transactions")).await;
    assert_eq!((&payments[0]["amount"], &payments[0]["currency"]), (&json!("5000"), &json!("NGN")));
    stage.agrees(&wallet).await;

    // One of an address fills the address; whom the bank does not want gets none.
    let address = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
    let place = format!("/addresses/{}", address.id);
    let (own, _) = opened(&stage, &wallet, &place).await;
    pay(&bank, &own, "700").await;
    has_naira(&stage, &wallet, &place, "700").await;
    let unwanted = with(owner(), json!({"lastname": "Rejected"}));
    let rejected = text(&stage.make(&wallet, "/virtual-accounts", unwanted).await, "id");
    eventually("an account that is rejected", async || {
        let shown = stage.get(&wallet, &format!("/virtual-accounts/{rejected}")).await;
        (shown["status"] == "rejected").then_some(())
    })
    .await;
    assert_eq!(stage.list(&wallet, "/virtual-accounts?limit=1").await["meta"]["totalPages"], 2);
    let of_address = stage.list(&wallet, &format!("{place}/virtual-accounts")).await;
    assert_eq!((&of_address["meta"]["totalItems"], &of_address["data"][0]["id"]), (&json!(1), &json!(own)));
    for (more, fields) in [
        (json!({"email": "ada"}), "email"),
        (json!({"phone": "0801"}), "phone"),
        (json!({"firstname": 7}), "firstname"),
    ] {
        check_invalid(&stage.post(&wallet, "/virtual-accounts", with(owner(), more)).await, fields);
    }
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

/// What the bank says of it.
async fn at_bank(bank: &TestClient, id: &str, status: &str) {
    eventually(&format!("an account that is {status} at its bank"), async || {
        let shown = bank.get(&format!("/v1/virtual-accounts/{id}")).await.expect(200).json();
        (shown["status"] == status).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_account_is_switched_off_and_gets_another_number() {
    let stage = Stage::open().await.covers(&["update-virtual-account answers", "regenerate-virtual-account answers"]);
    let (wallet, bank) = known(&stage).await;
    let (id, open) = opened(&stage, &wallet, "").await;
    let path = format!("/virtual-accounts/{id}");
    let switch =
        async |is_active: bool| stage.ask(&wallet, "PATCH", &path, Some(json!({"is_active": is_active}))).await;
    let off = switch(false).await;
    assert_eq!((&off["status"], &off["isActive"]), (&json!("inactive"), &json!(false)));
    at_bank(&bank, &id, "inactive").await;
    let closed = format!("/v1/virtual-accounts/{id}/simulate-payment");
    bank.post(&closed, json!({"amount": "5000"})).await.check(409);
    let refused = stage.post(&wallet, &format!("{path}/regenerate"), json!({})).await;
    check_refusal(&refused, (409, "SERVICE_VALIDATION_ERROR", ""));
    assert_eq!(switch(true).await["status"], "active");
    at_bank(&bank, &id, "active").await;
    let asked = stage.make(&wallet, &format!("{path}/regenerate"), json!({})).await;
    assert_eq!(asked["status"], "requested");
    eventually("another number", async || {
        let shown = stage.get(&wallet, &path).await;
        (shown["status"] == "active" && shown["accountNumber"] != open["accountNumber"]).then_some(())
    })
    .await;
    pay(&bank, &id, "5000").await;
    has_naira(&stage, &wallet, "", "5000").await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
