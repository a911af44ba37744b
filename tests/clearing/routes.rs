//! Every operation of the interface and how it is used rightly: what the tests that go over all of them share.

use clearing::PLUGIN;
use serde_json::{Value, json};

use super::{
    coverage::Side,
    messages::{ACCOUNT, AUTHORISE, UETR, minimal, payment},
    stage::Stage,
};

pub const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
pub const PARTNERS: &str = "/v1/clearing/partners";
pub const ACCOUNTS: &str = "/v1/clearing/accounts";
pub const TRANSACTIONS: &str = "/v1/clearing/transactions";
pub const HOOKS: &str = "/v1/clearing/webhook-endpoints";
/// Where nothing listens.
pub const NOBODY: &str = "http://127.0.0.1:9/hook";

pub struct Route {
    pub operation: String,
    pub method: String,
    /// As in the document: "/v1/clearing/accounts/{id}".
    pub path: String,
    pub scope: String,
    tag: String,
    /// What the document says of it.
    statuses: Vec<u16>,
}

/// As the OpenAPI document of the manifest lists them: a new operation is in here without anybody's help.
pub fn routes() -> Vec<Route> {
    let manifest: Value = serde_json::from_str(&PLUGIN.describe()).expect("a manifest");
    let paths = manifest["openapi"]["paths"].as_object().expect("paths").iter();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let operations = paths.flat_map(|(path, item)| {
        item.as_object().expect("operations").iter().map(move |(method, operation)| Route {
            operation: text(&operation["operationId"]),
            method: method.to_uppercase(),
            path: path.clone(),
            scope: text(&operation["security"][0]["oauth2"][0]),
            tag: text(&operation["tags"][0]),
            statuses: operation["responses"].as_object().expect("responses").keys().flat_map(|it| it.parse()).collect(),
        })
    });
    operations.collect()
}

impl Route {
    /// Who serves it; what both serve, the partner is asked for.
    pub fn side(&self) -> Side {
        let is_hubs = self.tag == "Hosted by the platform"
            || self.tag == "Partners"
            || ["submit-payment", "settle-payment"].contains(&self.operation.as_str());
        if is_hubs { Side::Hub } else { Side::Bank }
    }

    pub fn is_served_by_both(&self) -> bool {
        self.side() == Side::Bank && !["Hosted by the partner", "Destinations"].contains(&self.tag.as_str())
    }

    pub fn may_answer(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }

    /// One of the nine, or what carries one.
    pub fn takes_message(&self) -> bool {
        self.path.contains("/inbound/") || self.operation == "submit-payment"
    }

    /// What it takes, where it takes something.
    pub fn body(&self) -> Option<Value> {
        let account = json!({"account_number": "7000"});
        Some(match self.operation.as_str() {
            "submit-payment" => payment(AUTHORISE, json!({})),
            "settle-payment" => json!({"settlement_date": "2026-05-07"}),
            "create-account" => account,
            "import-accounts" => json!({"accounts": [account]}),
            "update-account" => json!({"status": "blocked"}),
            "put-destination" => json!({"base_url": "http://127.0.0.1:9/v1"}),
            "create-partner" => json!({"id": "bank-b", "payment_schemes": ["ZA_RTC"]}),
            "update-partner" => json!({"payment_schemes": ["ZA_EFT"]}),
            "create-webhook" => json!({"url": NOBODY}),
            "update-webhook" => json!({"events": ["inbound.direct_debit.received"]}),
            "recover-webhook" => json!({"since": "2026-05-07"}),
            _ if self.path.contains("/inbound/") => minimal(&self.path),
            _ => return None,
        })
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.body().map(|body| body.to_string().into_bytes()).unwrap_or_default()
    }

    /// Of something that there is, as long as `stock` is.
    pub fn of(&self, stock: &Stock) -> String {
        let id = match self.path.split('/').nth(3) {
            Some("accounts") => ACCOUNT,
            Some("partners") => "bank-a",
            Some("destinations") => "platform",
            _ => &stock.webhook,
        };
        self.at(id, &stock.event)
    }

    pub fn at(&self, id: &str, event: &str) -> String {
        self.path.replace("{uetr}", UETR).replace("{id}", id).replace("{event}", event)
    }
}

/// What the paths of operations name: besides what every stage has, an endpoint of the partner with an event, and an approved
/// payment whose completion is awaited.
pub struct Stock {
    pub webhook: String,
    pub event: String,
}

impl Stock {
    pub async fn of(stage: &Stage) -> Stock {
        stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, json!({}))).await.check(202);
        stage.until(Side::Hub, UETR, "state", "approved").await;
        stage.until(Side::Bank, UETR, "response", "delivered").await;
        let webhook = stage.bank.post(HOOKS, json!({"url": NOBODY})).await.expect(201).text_at("/id");
        let event = stage.bank.post(&format!("{HOOKS}/{webhook}/test"), json!({})).await.expect(200).text_at("/id");
        Stock { webhook, event }
    }

    /// Well-formed, and nobody's.
    pub fn unknown() -> Stock {
        let none = "0".repeat(32);
        Stock { webhook: format!("webhook_{none}"), event: format!("event_{none}") }
    }
}
