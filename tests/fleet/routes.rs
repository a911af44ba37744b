//! The routes of the manifest, and how each of them is used rightly: what the tests that go over all of them share.

use serde_json::{Value, json};

use crate::support::{TestClient, TestHost};

pub struct Route {
    pub operation: String,
    pub method: String,
    pub path: String,
}

/// How an operation is used rightly, and the status that it then has.
pub struct RightUse {
    pub status: u16,
    pub body: Option<Value>,
}

/// As the OpenAPI document of the manifest lists them: a new route is in here without anybody's help. That the document
/// has every route, the plugin's own tests see to; that it is the one that is served, `every_route` does.
pub fn routes() -> Vec<Route> {
    let document: Value = serde_json::from_str(DOCUMENT).expect("a document of JSON");
    let paths = document["paths"].as_object().expect("paths").iter();
    let operations = paths.flat_map(|(path, item)| {
        let operations = item.as_object().expect("operations").iter();
        operations.map(move |(method, operation)| Route {
            operation: operation["operationId"].as_str().expect("operationId").to_owned(),
            method: method.to_uppercase(),
            path: path.clone(),
        })
    });
    operations.collect()
}

pub const DOCUMENT: &str = include_str!("../../plugins/fleet/src/openapi.json");

/// `None` fails `every_route_has_its_right_use`: a new route gets a line here.
pub fn right_use(operation: &str) -> Option<RightUse> {
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    let fix = json!({"latitude": 1.5, "longitude": 103.5, "heading": 90, "speed": 8.5});
    let (status, body) = match operation {
        "create-order" => (201, Some(order)),
        "list-orders" | "read-order" | "delete-order" => (200, None),
        "update-order" | "patch-order" => (200, Some(json!({"notes": "ring twice"}))),
        "list-drivers" | "read-driver" | "delete-driver" => (200, None),
        "list-driver-organizations" | "read-driver-organization" => (200, None),
        "create-driver" => (201, Some(json!({"name": "Eve", "email": "eve@example.com", "phone": "+65 2"}))),
        "create-webhook" => (201, Some(json!({"url": NOBODY}))),
        "update-webhook" | "patch-webhook" => (200, Some(json!({"events": ["order.created"]}))),
        "recover-webhook" => (200, Some(json!({"since": "2026-05-07"}))),
        "list-webhooks" | "read-webhook" | "delete-webhook" | "list-deliveries" | "list-attempts" => (200, None),
        "enable-webhook" | "disable-webhook" | "rotate-webhook" | "test-webhook" | "redeliver" => (200, None),
        "stream-events" | "list-events" => (200, None),
        "track-driver" | "track-driver-put" | "track-driver-patch" => (200, Some(fix)),
        "update-driver" | "patch-driver" => (200, Some(json!({"city": "Singapore"}))),
        "toggle-driver-online" => (200, Some(json!({"online": true}))),
        "register-driver-device" => (200, Some(json!({"token": "push-token", "platform": "ios"}))),
        // Of whom, an organization would have to say.
        "register-device" => (422, Some(json!({"token": "push-token", "platform": "ios"}))),
        "login-driver-with-sms" => (200, Some(json!({"phone": "+65 1"}))),
        "forgot-driver-password" => (200, Some(json!({"identity": "ada@example.com"}))),
        // What is asked is right; what it is asked with is not known.
        "login-driver" => (401, Some(json!({"identity": "ada@example.com", "password": "correct horse"}))),
        "verify-driver-code" => (400, Some(json!({"identity": "+65 1", "code": "123456"}))),
        "reset-driver-password" => {
            (400, Some(json!({"identity": "+65 1", "code": "123456", "password": "correct horse"})))
        }
        "change-driver-password" => (401, Some(json!({"password": "correct horse", "new_password": "another horse"}))),
        "switch-driver-organization" => (400, Some(json!({"next": "company_globex"}))),
        _ => return None,
    };
    Some(RightUse { status, body })
}

/// Where nothing listens.
const NOBODY: &str = "http://127.0.0.1:9/hook";

/// One organization with an order, a driver, and an endpoint to which the event of the order is on its way.
pub struct Stock {
    pub order: String,
    pub driver: String,
    pub webhook: String,
    pub event: String,
}

impl Stock {
    pub async fn of(client: &TestClient) -> Stock {
        let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
        let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
        let webhook = client.post("/v1/webhook-endpoints", json!({"url": NOBODY})).await.expect(201).text_at("/id");
        let order = client.post("/v1/orders", order).await.expect(201).text_at("/id");
        let deliveries = client.get(&format!("/v1/webhook-endpoints/{webhook}/deliveries")).await.expect(200);
        let driver = client.post("/v1/drivers", driver).await.expect(201).text_at("/id");
        Stock { order, driver, webhook, event: deliveries.text_at("/0/id") }
    }

    pub async fn with_host() -> (TestHost, TestClient, Stock) {
        let host = TestHost::fleet().await;
        let client = host.client("fleet", "acme").await;
        let stock = Stock::of(&client).await;
        (host, client, stock)
    }
}

impl Route {
    pub fn has_id(&self) -> bool {
        self.path.contains("{id}")
    }

    /// Its answer has no end: who reads all of it waits for long.
    pub fn streams(&self) -> bool {
        self.operation == "stream-events"
    }

    pub fn takes_body(&self) -> bool {
        right_use(&self.operation).is_some_and(|right| right.body.is_some())
    }

    pub fn at(&self, id: &str) -> String {
        self.path.replace("{id}", id).replace("{event}", "event_00000000000000000000000000000000")
    }

    /// The path of a resource that is there.
    pub fn of(&self, stock: &Stock) -> String {
        let id = match self.path.split('/').nth(2) {
            Some("drivers") => &stock.driver,
            Some("webhook-endpoints") => &stock.webhook,
            _ => &stock.order,
        };
        self.path.replace("{id}", id).replace("{event}", &stock.event)
    }

    /// The body of its right use; empty where it takes none.
    pub fn body(&self) -> Vec<u8> {
        let body = right_use(&self.operation).and_then(|right| right.body);
        body.map(|body| body.to_string().into_bytes()).unwrap_or_default()
    }
}

pub const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
