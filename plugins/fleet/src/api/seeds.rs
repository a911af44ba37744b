//! What the tests of tracking and proofs begin with: an order of Ada's with a tour and a parcel, put in place as it is
//! stored.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

pub const ORDER: &str = "order_0000000001";
pub const ENTITY: &str = "entity_0000000001";
pub const STOP: &str = "waypoint_0000000001";
pub const PICKUP: &str = "waypoint_0000000002";
pub const PLACE: &str = "place_0000000001";
/// The order's own.
pub const NUMBER: &str = "track_0000000001";
pub const NUMBER_TEXT: &str = "ACM0000000001SG";
pub const ADA: &str = "driver_0000000ada";
pub const BOB: &str = "driver_0000000bob";

pub fn host() -> TestHost {
    let host = TestHost::new(&PLUGIN);
    host.put_record(
        "orders",
        ORDER,
        &json!({"id": ORDER, "internal_id": "A-1", "payload": "payload_0000000001", "driver_assigned": ADA, "adhoc": false, "tracking_number": NUMBER, "number": NUMBER_TEXT}),
    );
    let stop = |id: &str, complete: bool| json!({"id": id, "place": PLACE, "type": "dropoff", "complete": complete});
    host.put_record(
        "payloads",
        "payload_0000000001",
        &json!({"id": "payload_0000000001", "order": ORDER, "entities": [ENTITY], "waypoints": [stop(STOP, false)], "ends": {"pickup": stop(PICKUP, true), "dropoff": null}}),
    );
    let entity = json!({"id": ENTITY, "payload": "payload_0000000001", "name": "Parcel", "type": "parcel"});
    host.put_record("entities", ENTITY, &entity);
    host.put_record("tracking-numbers", NUMBER, &number(NUMBER, NUMBER_TEXT, ORDER, true));
    host
}

pub fn number(id: &str, text: &str, subject: &str, belongs: bool) -> Value {
    json!({"id": id, "tracking_number": text, "subject": subject, "region": "SG", "status": null, "status_code": null, "type": "country", "statuses": [], "belongs": belongs})
}

/// A call with the token of a driver.
pub fn as_driver(call: TestCall, driver: &str) -> TestCall {
    call.token().attribute("driver", driver)
}

pub fn id_of(answer: &TestAnswer) -> String {
    answer.json()["id"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
}

/// Status and first sentence of a refusal.
pub fn refusal(answer: &TestAnswer) -> (u16, String) {
    assert!(answer.refused, "{}", answer.body);
    (answer.status, answer.json()["error"].as_str().unwrap().to_owned())
}

/// That it is a refusal with this status and code.
#[track_caller]
pub fn refused(answer: &TestAnswer, status: u16, code: &str) {
    assert_eq!((answer.status, answer.json()["code"].clone()), (status, json!(code)), "{}", answer.body);
}

pub fn told(host: &TestHost) -> Vec<String> {
    host.events().into_iter().map(|event| event.event_type).collect()
}
