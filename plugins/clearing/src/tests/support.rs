//! Hosts of both sides, the messages of the specification, and what tests look at.

use serde_json::{Value, json};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost, response};

use crate::PLUGIN;

pub const UETR: &str = "97ed4827-7b6f-4491-a06f-b548d5a7512d";
pub const AUTHORISE: &str = "/v1/transactions/inbound/credit-transfer-authorisation";
pub const AUTHORISE_SYNC: &str = "/v1/transactions/inbound/credit-transfer-authorisation-sync";
pub const COMPLETE: &str = "/v1/transactions/inbound/credit-transfer-completion";
pub const TRANSFER: &str = "/v1/transactions/inbound/credit-transfer";
pub const DEBIT: &str = "/v1/transactions/inbound/direct-debit";
pub const DETERMINE: &str = "/v1/identifiers/inbound/identifier-determination";
pub const AUTHORISED: &str = "/v1/transactions/inbound/credit-transfer-authorisation-response";
pub const TRANSFERRED: &str = "/v1/transactions/inbound/credit-transfer-response";
pub const DEBITED: &str = "/v1/transactions/inbound/direct-debit-response";

/// A bank with one open account, which also takes what names nobody.
pub fn partner(settings: Value) -> TestHost {
    let host = host("partner", settings);
    put_account(&host, &json!({"account_number": "62001", "proxies": ["ada@bank"]}));
    host
}

/// A platform with one partner, "bank-a".
pub fn platform(partner: Value) -> TestHost {
    let host = host("platform", json!({}));
    let mut body = json!({"id": "bank-a", "payment_schemes": ["ZA_RTC", "ZA_RPP", "ZA_EFT"]});
    body.as_object_mut().unwrap().extend(partner.as_object().unwrap().clone());
    assert_eq!(host.call(TestCall::post("/v1/clearing/partners").json(&body)).status, 201);
    host
}

fn host(side: &str, settings: Value) -> TestHost {
    let mut all = json!({"side": side, "default-account": "62001"});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    TestHost::new(&PLUGIN).setting("acme", &all.to_string())
}

pub fn put_account(host: &TestHost, account: &Value) {
    let import = json!({ "accounts": [account] });
    let answer = host.call(TestCall::post("/v1/clearing/accounts/import").json(&import));
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// The least that the specification asks for, by the path of the operation.
pub fn minimal(path: &str) -> Value {
    match path {
        DETERMINE => json!({"creditor_account_proxy": "ada@bank", "payment_scheme": "ZA_RPP"}),
        AUTHORISE | AUTHORISE_SYNC => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "message_identification": "M-1",
            "payment_scheme": "ZA_RTC", "bank_settlement_amount_value": 100.50,
            "bank_settlement_amount_currency": "ZAR",
        }),
        COMPLETE => json!({"uetr": UETR, "end_to_end_identification": "E2E-1", "settlement_date": "2026-05-07"}),
        TRANSFER => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "bank_settlement_amount_value": 100.50,
            "bank_settlement_amount_currency": "ZAR",
        }),
        DEBIT => json!({
            "uetr": UETR, "end_to_end_identification": "E2E-1", "bank_settlement_amount_value": 100.50,
            "debtor_account_number": "62001",
        }),
        _ => json!({"uetr": UETR, "transaction_status": "APPROVED"}),
    }
}

/// The minimal message with other members.
pub fn message(path: &str, changes: Value) -> Value {
    let mut message = minimal(path);
    message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    message
}

pub fn send(host: &TestHost, path: &str, body: &Value) -> TestAnswer {
    host.call(TestCall::post(path).json(body))
}

/// What a platform is told to send.
pub fn submit(host: &TestHost, path: &str, changes: Value) -> TestAnswer {
    let operation = path.rsplit('/').next().unwrap();
    let mut body = message(path, changes);
    body["operation"] = operation.into();
    body["partner"] = "bank-a".into();
    send(host, "/v1/clearing/payments", &body)
}

pub fn settle(host: &TestHost, changes: Value) -> TestAnswer {
    let mut body = json!({"settlement_date": "2026-05-07"});
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    send(host, &format!("/v1/clearing/payments/{UETR}/settlement"), &body)
}

/// Of one payment, as it is shown.
pub fn transaction(host: &TestHost) -> Value {
    host.call(TestCall::get(&format!("/v1/clearing/transactions/{UETR}"))).json()
}

pub fn state(host: &TestHost) -> String {
    transaction(host)["state"].as_str().unwrap().to_owned()
}

/// In minor units of rand.
pub fn balance(host: &TestHost, account: &str) -> i128 {
    host.balances().get(&(account.to_owned(), "ZAR".to_owned())).copied().unwrap_or(0)
}

/// The only message that is on its way: where to, which operation, what it says.
pub fn outgoing(host: &TestHost) -> (String, String, Value) {
    let effects = host.effects();
    assert_eq!(effects.len(), 1, "{effects:?}");
    let call = &effects[0].effect.call;
    let tenon_plugin::Content::Json(body) = &call.content else { panic!("a message is JSON") };
    (call.destination.clone(), call.path.clone(), serde_json::from_str(body).unwrap())
}

/// The only message that is on its way is answered, and what follows is done.
pub fn reply(host: &TestHost, status: u16, body: &Value) {
    let (then, key) = on_its_way(host);
    host.settle(&then, &key, Outcome::Answered(response(status, body)));
    host.run_due();
}

/// Nobody answers it.
pub fn silence(host: &TestHost) {
    let (then, key) = on_its_way(host);
    host.settle(&then, &key, Outcome::Unknown("timeout".to_owned()));
    host.run_due();
}

fn on_its_way(host: &TestHost) -> (String, String) {
    let effects = host.effects();
    assert_eq!(effects.len(), 1, "{effects:?}");
    (effects[0].effect.then.clone(), effects[0].effect.key.clone())
}

/// Names of the events, in order.
pub fn events(host: &TestHost) -> Vec<String> {
    host.events().into_iter().map(|event| event.event_type).collect()
}

/// The code and the fields that a refusal names.
pub fn refusal(answer: &TestAnswer) -> (u16, String, String) {
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("code"), text("detail"))
}
