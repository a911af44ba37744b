//! Orders as callers use them.

mod adhoc;
mod authority;
mod changing;
mod creating;
mod deleting;
mod edges;
mod following;
mod listing;
mod proofs;
mod reading;
mod told;
mod tours;

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

/// Two places that somebody has located, about five kilometres apart.
pub fn here() -> Value {
    json!({"name": "Depot", "street1": "1 Dock St", "country": "SG", "latitude": 1.30, "longitude": 103.80})
}

pub fn there() -> Value {
    json!({"name": "Shop", "street1": "2 Mill Rd", "country": "SG", "latitude": 1.34, "longitude": 103.82})
}

/// A host with what most tests need, and the words to use it.
pub struct Fleet {
    pub host: TestHost,
}

impl Fleet {
    pub fn new() -> Fleet {
        Fleet { host: TestHost::new(&PLUGIN).validate_openapi() }
    }

    pub fn call(&self, call: TestCall) -> TestAnswer {
        self.host.call(call)
    }

    /// Gives the id.
    pub fn driver(&self, name: &str) -> String {
        // No two drivers have one address or one telephone.
        let nth = 1_000_000 + self.event_count();
        let body = json!({"name": name, "email": format!("{nth}@example.com"), "phone": format!("+65{nth}")});
        let answer = self.call(TestCall::post("/v1/drivers").json(&body));
        assert_eq!(answer.status, 201, "{}", answer.body);
        id_of(&answer.json())
    }

    pub fn create(&self, body: &Value) -> Value {
        let answer = self.call(TestCall::post("/v1/orders").json(body));
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()
    }

    /// From here to there, with these fields besides.
    pub fn order(&self, besides: Value) -> String {
        id_of(&self.create(&simple(besides)))
    }

    /// Pickup, two waypoints, dropoff.
    pub fn tour(&self, besides: Value) -> String {
        let mut body = simple(besides);
        body["waypoints"] = json!([
            {"street1": "First Stop", "latitude": 1.31, "longitude": 103.81},
            {"street1": "Second Stop", "latitude": 1.32, "longitude": 103.82},
        ]);
        id_of(&self.create(&body))
    }

    pub fn read(&self, id: &str) -> Value {
        let answer = self.call(TestCall::get(&format!("/v1/orders/{id}")));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    pub fn post(&self, id: &str, action: &str, body: Value) -> TestAnswer {
        self.call(TestCall::post(&format!("/v1/orders/{id}/{action}")).json(&body))
    }

    /// An action that must be possible.
    pub fn act(&self, id: &str, action: &str, body: Value) -> Value {
        let answer = self.post(id, action, body);
        assert_eq!(answer.status, 200, "{action}: {}", answer.body);
        answer.json()
    }

    pub fn take(&self, id: &str, code: &str) -> TestAnswer {
        self.post(id, "update-activity", json!({"activity": {"code": code}}))
    }

    /// The names of events of orders and stops since so many; tracking numbers tell of themselves.
    pub fn events_after(&self, count: usize) -> Vec<String> {
        let names = self.host.events().into_iter().skip(count).map(|event| event.event_type);
        names.filter(|name| name.starts_with("order.") || name.starts_with("waypoint.")).collect()
    }

    pub fn event_count(&self) -> usize {
        self.host.events().len()
    }

    pub fn codes(&self, order: &Value) -> Vec<String> {
        let statuses = order["tracking_statuses"].as_array().unwrap();
        statuses.iter().map(|status| status["code"].as_str().unwrap().to_owned()).collect()
    }
}

/// By the token of a driver.
pub fn by(driver: &str, call: TestCall) -> TestCall {
    call.attribute("driver", driver).token()
}

pub fn simple(besides: Value) -> Value {
    let mut body = json!({"pickup": here(), "dropoff": there()});
    body.as_object_mut().unwrap().extend(besides.as_object().unwrap().clone());
    body
}

pub fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

/// Status, code and first sentence of a refusal that changed nothing.
#[track_caller]
pub fn check_refused(answer: &TestAnswer, status: u16, code: &str, sentence: &str) {
    let body = answer.json();
    let found = (answer.status, answer.refused, body["code"].clone(), body["error"].clone());
    assert_eq!(found, (status, true, json!(code), json!(sentence)));
}
