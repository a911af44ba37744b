//! The routes of the manifest, and how each of them is used rightly: what the tests that go over all of them share.

use std::collections::BTreeMap;

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

/// `None` fails `every_route_has_its_right_use`: a new route gets a line here. Of a code that was sent to somebody's phone,
/// nothing is known here: a wrong one it is.
pub fn right_use(operation: &str, stock: &Stock) -> Option<RightUse> {
    let used = made(operation, stock).or_else(|| moved(operation, stock)).or_else(|| driven(operation, stock));
    let (status, body) = used.or_else(|| looked_at(operation))?;
    Some(RightUse { status, body })
}

type Used = Option<(u16, Option<Value>)>;

/// What creates something.
fn made(operation: &str, stock: &Stock) -> Used {
    let body = match operation {
        "create-order" | "create-payload" => {
            json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "type": "transport"})
        }
        "create-driver" => json!({"name": "Eve", "email": "eve@example.com", "phone": "+65 22222222"}),
        "create-place" => json!({"name": "Depot", "street1": "3 Quay"}),
        "create-contact" | "create-customer" => json!({"name": "Bob", "type": "customer", "email": "bob@example.com"}),
        "create-vehicle" => json!({"make": "Volvo", "model": "FH", "plate_number": "SG 2"}),
        "create-entity" => json!({"name": "Crate", "type": "parcel"}),
        "create-waypoint" => json!({"payload": stock.id("payloads"), "place": "4 Pier"}),
        "create-order-config" => json!({"key": "fast", "name": "Fast", "flow": fast()}),
        "create-tracking-number" => json!({"region": "SG", "owner": stock.order}),
        "create-tracking-status" => json!({"order": stock.order, "status": "At the depot", "code": "AT_DEPOT",
            "details": "It waits.", "latitude": 1.5, "longitude": 103.5}),
        "create-webhook" => json!({"url": NOBODY}),
        "create-comment" => json!({"content": "ring twice"}),
        "capture-signature" | "capture-signature-of" => json!({"signature": PICTURE}),
        "capture-photo" | "capture-photo-of" => json!({"photos": [PICTURE]}),
        "create-file" | "create-file-base64" => json!({"data": PICTURE}),
        "capture-qr" => json!({"code": stock.order}),
        "capture-qr-of" => json!({"code": stock.id("places")}),
        _ => return None,
    };
    Some((201, Some(body)))
}

/// What changes something, or moves an order.
fn moved(operation: &str, stock: &Stock) -> Used {
    let body = match operation {
        "update-order" | "patch-order" | "update-driver" | "patch-driver" => json!({"meta": {"k": 1}}),
        "update-place" | "patch-place" | "update-entity" | "patch-entity" => json!({"name": "Other"}),
        "update-contact" | "patch-contact" | "update-customer" | "patch-customer" => json!({"name": "Other"}),
        "update-vehicle" | "patch-vehicle" => json!({"make": "Scania"}),
        "update-order-config" | "patch-order-config" => json!({"name": "Faster"}),
        "update-payload" | "patch-payload" => json!({"payment_method": "card"}),
        "update-waypoint" | "patch-waypoint" => json!({"notes": "ring twice"}),
        "update-tracking-status" | "patch-tracking-status" => json!({"details": "It waits still."}),
        "update-file" | "patch-file" => json!({"caption": "The front"}),
        "update-webhook" | "patch-webhook" => json!({"events": ["order.created"]}),
        "recover-webhook" => json!({"since": "2026-05-07"}),
        "schedule-order" | "schedule-order-patch" => json!({"date": "2026-05-09"}),
        "dispatch-order" | "dispatch-order-patch" => json!({}),
        "start-order" => json!({"skip_dispatch": true}),
        "update-activity" | "update-activity-patch" => json!({"activity": {"code": "dispatched"}}),
        "complete-order" | "set-destination" | "set-destination-patch" => json!({}),
        "find-by-qr" => json!({"code": stock.order}),
        "track-vehicle" | "track-vehicle-put" | "track-vehicle-patch" => fix(),
        _ => return None,
    };
    Some((200, Some(body)))
}

/// What drivers' apps ask for.
fn driven(operation: &str, _: &Stock) -> Used {
    let (email, phone) = ("ada@example.com", "+65 11111111");
    let again = json!({"password": PASSWORD, "new_password": "another horse 8", "new_password_confirmation": "another horse 8"});
    let (status, body) = match operation {
        "track-driver" | "track-driver-put" | "track-driver-patch" => (200, fix()),
        "login-driver" => (200, json!({"identity": email, "password": PASSWORD})),
        "login-driver-with-sms" => (200, json!({"phone": phone})),
        "forgot-driver-password" => (200, json!({"identity": email})),
        "verify-driver-code" => (400, json!({"identity": phone, "code": "000000"})),
        "reset-driver-password" => (
            400,
            json!({"identity": email, "code": "000000", "password": "another horse 8",
            "password_confirmation": "another horse 8"}),
        ),
        "change-driver-password" => (200, again),
        "toggle-driver-online" => (200, json!({"online": true})),
        // Of whom, an organization would have to say.
        "register-device" => (422, json!({"token": "abc", "platform": "ios"})),
        "register-driver-device" => (200, json!({"token": "abc", "platform": "ios"})),
        "switch-driver-organization" => (400, json!({"next": "company_0000000000"})),
        _ => return None,
    };
    Some((status, Some(body)))
}

/// What takes no body.
fn looked_at(operation: &str) -> Used {
    let verbs =
        ["list-", "read-", "delete-", "enable-", "disable-", "rotate-", "test-", "redeliver", "search-", "download-"];
    let others = [
        "stream-events",
        "next-activity",
        "distance-and-time",
        "track-order",
        "order-eta",
        "cancel-order",
        "cancel-order-post",
        "editable-entity-fields",
    ];
    let is_known = others.contains(&operation) || verbs.iter().any(|verb| operation.starts_with(verb));
    is_known.then_some((200, None))
}

fn fix() -> Value {
    json!({"latitude": 1.5, "longitude": 103.5, "heading": 90, "speed": 8.5})
}

/// The shortest way from creation to completion.
fn fast() -> Value {
    let activity = |code: &str, next: &[&str]| json!({"key": code, "code": code, "status": code, "details": code, "activities": next, "complete": next.is_empty()});
    json!([
        activity("created", &["dispatched"]),
        activity("dispatched", &["started"]),
        activity("started", &["completed"]),
        activity("completed", &[]),
    ])
}

/// Where nothing listens.
const NOBODY: &str = "http://127.0.0.1:9/hook";
pub const PASSWORD: &str = "correct horse 7";
/// A PNG of one pixel.
pub const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// One organization with one of everything, and an endpoint to which the event of the order is on its way.
pub struct Stock {
    pub order: String,
    pub driver: String,
    pub webhook: String,
    pub event: String,
    /// An order under way, whose last activity is the one before its end.
    pub enroute: String,
    /// An order with a tour that was started.
    pub tour: String,
    /// Of the others by the word of their paths.
    ids: BTreeMap<&'static str, String>,
}

impl Stock {
    pub async fn of(client: &TestClient) -> Stock {
        let make = async |path: &str, body: Value| client.post(path, body).await.expect(201);
        let act = async |path: String, body: Value| client.post(&path, body).await.expect(200);
        let webhook =
            make("/v1/webhook-endpoints", json!({"url": NOBODY, "events": ["order.created"]})).await.text_at("/id");
        let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 11111111", "password": PASSWORD});
        let driver = make("/v1/drivers", driver).await.text_at("/id");
        let order = make("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "driver": driver})).await;
        let deliveries = client.get(&format!("/v1/webhook-endpoints/{webhook}/deliveries")).await.expect(200);
        let mut stock = Stock {
            order: order.text_at("/id"),
            driver,
            webhook,
            event: deliveries.text_at("/0/id"),
            enroute: String::new(),
            tour: String::new(),
            ids: BTreeMap::new(),
        };
        stock.enroute =
            make("/v1/orders", json!({"pickup": "a", "dropoff": "b", "driver": stock.driver})).await.text_at("/id");
        stock.tour =
            make("/v1/orders", json!({"waypoints": ["a", "b", "c"], "driver": stock.driver})).await.text_at("/id");
        for order in [&stock.enroute, &stock.tour] {
            let _ = act(format!("/v1/orders/{order}/start"), json!({"skip_dispatch": true})).await;
        }
        let enroute = json!({"activity": {"code": "enroute"}});
        let _ = act(format!("/v1/orders/{}/update-activity", stock.enroute), enroute).await;
        let tour = client.get(&format!("/v1/orders/{}", stock.tour)).await.expect(200);
        stock.ids.insert("stops", tour.text_at("/payload/waypoints/1/id"));
        let idle = json!({"name": "Ida", "email": "ida@example.com", "phone": "+65 33333333"});
        stock.ids.insert("idle-driver", make("/v1/drivers", idle).await.text_at("/id"));
        stock.ids.insert("places", order.text_at("/payload/pickup/id"));
        stock.ids.insert(
            "payloads",
            make("/v1/payloads", made("create-payload", &stock).and_then(|it| it.1).unwrap_or_default())
                .await
                .text_at("/id"),
        );
        // Not the ones that right uses make: names, emails and keys are taken once.
        let own = |mut body: Value| match body.get("email").or(body.get("key")) {
            None if body.get("code").is_some() => {
                (body["status"], body["code"]) = (json!("On the way"), json!("ON_THE_WAY"));
                body
            }
            None => body,
            Some(_) => {
                json!({"name": "Cy", "type": "customer", "email": "cy@example.com", "key": "slow", "flow": fast()})
            }
        };
        for (word, operation) in [
            ("contacts", "create-contact"),
            ("vehicles", "create-vehicle"),
            ("entities", "create-entity"),
            ("waypoints", "create-waypoint"),
            ("order-configs", "create-order-config"),
            ("tracking-numbers", "create-tracking-number"),
            ("tracking-statuses", "create-tracking-status"),
        ] {
            let body = own(made(operation, &stock).and_then(|used| used.1).unwrap_or_default());
            let id = make(&format!("/v1/{word}"), body).await.text_at("/id");
            stock.ids.insert(word, id);
        }
        let signature = format!("/v1/orders/{}/capture-signature", stock.order);
        let _ = make(&signature, json!({"signature": PICTURE})).await;
        stock.ids.insert("files", make("/v1/files/base64", json!({"data": PICTURE})).await.text_at("/id"));
        stock
    }

    pub async fn with_host() -> (TestHost, TestClient, Stock) {
        let host = TestHost::fleet().await;
        let client = host.client("fleet", "acme").await;
        let stock = Stock::of(&client).await;
        (host, client, stock)
    }

    /// Ids that nothing has.
    pub fn empty() -> Stock {
        let id = String::new;
        let (order, driver, webhook, event, enroute, tour) = (id(), id(), id(), id(), id(), id());
        Stock { order, driver, webhook, event, enroute, tour, ids: BTreeMap::new() }
    }

    /// By the word of its path: "places", "vehicles", …
    pub fn id(&self, word: &str) -> &str {
        self.ids.get(word).map(String::as_str).unwrap_or_default()
    }

    /// The id of the same kind as one of an example; `None`: it is none.
    pub fn like(&self, text: &str) -> Option<&str> {
        let (prefix, suffix) = text.rsplit_once('_')?;
        if suffix.len() != 10 || !suffix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        Some(match prefix {
            "order" => &self.order,
            "driver" => &self.driver,
            "place" => self.id("places"),
            "waypoint" => self.id("stops"),
            "contact" | "customer" => self.id("contacts"),
            "vehicle" => self.id("vehicles"),
            "payload" => self.id("payloads"),
            "entity" => self.id("entities"),
            "order_config" => self.id("order-configs"),
            "track" => self.id("tracking-numbers"),
            _ => return None,
        })
    }

    /// All of them.
    pub fn all(&self) -> Vec<&str> {
        let own = [&self.order, &self.driver, &self.webhook, &self.enroute, &self.tour];
        own.into_iter().chain(self.ids.values()).map(String::as_str).collect()
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

    /// A picture is what it is.
    pub fn answers_json(&self) -> bool {
        self.operation != "download-file"
    }

    /// Bytes of a body that is too large.
    pub fn too_large(&self) -> usize {
        let takes_pictures = ["capture-photo", "create-file"].iter().any(|begin| self.operation.starts_with(begin));
        if takes_pictures { 8 << 20 } else { 1_048_577 }
    }

    pub fn takes_body(&self) -> bool {
        right_use(&self.operation, &Stock::empty()).is_some_and(|right| right.body.is_some())
    }

    pub fn at(&self, id: &str) -> String {
        let path = self.path.replace("{id}", id).replace("{event}", "event_00000000000000000000000000000000");
        path.replace("{subject}", "place_0000000000").replace("{place}", "place_0000000000")
    }

    /// The path of a resource that is there.
    pub fn of(&self, stock: &Stock) -> String {
        let id = match (self.path.split('/').nth(2).unwrap_or_default(), self.operation.as_str()) {
            // The other one has orders to carry out.
            ("drivers", "delete-driver") => stock.id("idle-driver"),
            ("drivers", _) => &stock.driver,
            ("webhook-endpoints", _) => &stock.webhook,
            ("orders", "complete-order") => &stock.enroute,
            ("orders", "set-destination" | "set-destination-patch") => &stock.tour,
            ("orders", _) => &stock.order,
            ("customers", _) => stock.id("contacts"),
            (word, _) => stock.id(word),
        };
        let path = self.path.replace("{id}", id).replace("{event}", &stock.event);
        path.replace("{subject}", stock.id("places")).replace("{place}", stock.id("stops"))
    }

    /// The body of its right use; empty where it takes none.
    pub fn body(&self, stock: &Stock) -> Vec<u8> {
        let body = right_use(&self.operation, stock).and_then(|right| right.body);
        body.map(|body| body.to_string().into_bytes()).unwrap_or_default()
    }
}

pub const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
