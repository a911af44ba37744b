//! What a hostile caller sends to the actions of orders, and to payloads.

use serde_json::json;
use tenon_plugin::test_kit::{TestCall, TestHost};

use super::{check, texts, values};
use crate::PLUGIN;

/// Operations that are tried here, or that read no body.
pub const TRIED: [&str; 18] = [
    "dispatch-order",
    "dispatch-order-patch",
    "schedule-order",
    "schedule-order-patch",
    "start-order",
    "cancel-order-post",
    "update-activity",
    "update-activity-patch",
    "complete-order",
    "set-destination",
    "set-destination-patch",
    "create-comment",
    "create-payload",
    "update-payload",
    "patch-payload",
    "create-waypoint",
    "update-waypoint",
    "patch-waypoint",
];

/// Method, path, and bodies with a place for a value: "%".
const BODIES: [(&str, &str, &[&str]); 9] = [
    ("POST", "/v1/orders/A-1/dispatch", &["%"]),
    (
        "POST",
        "/v1/orders/A-1/schedule",
        &["%", r#"{"date":%}"#, r#"{"date":"2026-06-01","time":%}"#, r#"{"date":"2026-06-01","timezone":%}"#],
    ),
    ("POST", "/v1/orders/A-1/start", &["%", r#"{"assign":%}"#, r#"{"skip_dispatch":%,"skipDispatch":%}"#]),
    (
        "POST",
        "/v1/orders/A-1/update-activity",
        &[
            "%",
            r#"{"activity":%}"#,
            r#"{"activity":{"code":%,"reason":%}}"#,
            r#"{"activity":"failed","reason":%}"#,
            r#"{"activity":"dispatched","proof":%,"assign":%,"skip_dispatch":%}"#,
        ],
    ),
    ("POST", "/v1/orders/A-1/complete", &["%"]),
    ("POST", "/v1/orders/A-1/comments", &["%", r#"{"content":%}"#]),
    (
        "POST",
        "/v1/payloads",
        &[
            "%",
            r#"{"type":%,"pickup":"a","dropoff":"b"}"#,
            r#"{"type":"food","pickup":%,"dropoff":%,"return":%,"waypoints":%,"entities":%}"#,
            r#"{"type":"food","waypoints":["a",{"place":%}]}"#,
            r#"{"type":"food","waypoints":["a",{"street1":"b","type":%,"notes":%,"pod_required":%,"pod_method":%}]}"#,
            r#"{"type":"food","waypoints":["a",{"street1":"b","customer":%}]}"#,
            r#"{"type":"food","waypoints":["a",{"street1":"b","time_window_start":%,"time_window_end":%,"service_time":%}]}"#,
            r#"{"type":"food","pickup":"a","dropoff":"b","entities":[%]}"#,
            r#"{"type":"food","pickup":"a","dropoff":"b","entities":[{"name":"x","destination":%}]}"#,
            r#"{"type":"food","pickup":"a","dropoff":"b","cod_amount":%,"cod_currency":%}"#,
            r#"{"type":"food","pickup":"a","dropoff":"b","cod_payment_method":%,"payment_method":%,"meta":%}"#,
        ],
    ),
    (
        "POST",
        "/v1/orders",
        &[
            r#"{"pickup":"a","dropoff":"b","vehicle":%}"#,
            r#"{"pickup":"a","dropoff":"b","facilitator":%}"#,
            r#"{"pickup":"a","dropoff":"b","adhoc":%,"adhoc_distance":%,"dispatch":%}"#,
            r#"{"pickup":"a","dropoff":"b","required_skills":%}"#,
            r#"{"pickup":"a","dropoff":"b","required_skills":[%]}"#,
            r#"{"pickup":"a","dropoff":"b","orchestrator_priority":%}"#,
            r#"{"pickup":"a","dropoff":"b","time_window_start":%,"time_window_end":%}"#,
            r#"{"pickup":"a","dropoff":"b","service_quote":%,"purchase_rate":%}"#,
        ],
    ),
    (
        "PUT",
        "/v1/orders/A-1",
        &[
            r#"{"driver":%}"#,
            r#"{"vehicle":%}"#,
            r#"{"dispatch":%,"status":%}"#,
            r#"{"scheduled_at":%}"#,
            r#"{"payload":%}"#,
            r#"{"payload":{"waypoints":%,"entities":%}}"#,
            r#"{"type":%,"order_config":%}"#,
        ],
    ),
];

const WAYPOINT_BODIES: [&str; 9] = [
    "%",
    r#"{"payload":%,"place":"c"}"#,
    r#"{"payload":"{payload}","place":%}"#,
    r#"{"payload":"{payload}","location":%}"#,
    r#"{"payload":"{payload}","street1":%,"city":%,"latitude":%,"longitude":%,"meta":%}"#,
    r#"{"payload":"{payload}","place":"c","order":%}"#,
    r#"{"payload":"{payload}","place":"c","type":%,"notes":%,"pod_required":%,"pod_method":%}"#,
    r#"{"payload":"{payload}","place":"c","customer":%}"#,
    r#"{"payload":"{payload}","place":"c","time_window_start":%,"time_window_end":%,"service_time":%}"#,
];

#[test]
fn no_value_in_a_waypoint_breaks_it() {
    let values = values();
    for template in WAYPOINT_BODIES {
        let host = stocked();
        let payload = host.call(TestCall::get("/v1/orders/A-1")).json()["payload"]["id"].clone();
        let made = host.call(TestCall::post("/v1/waypoints").json(&json!({"payload": payload, "place": "c"})));
        let one = format!("/v1/waypoints/{}", made.json()["id"].as_str().unwrap());
        let template = template.replace("{payload}", payload.as_str().unwrap());
        for value in &values {
            let body = template.replace('%', value);
            for (method, path) in [("POST", "/v1/waypoints"), ("PUT", &one), ("PATCH", &one)] {
                check(&host, TestCall::new(method, path).text(&body));
            }
        }
    }
}

#[test]
fn no_parameter_of_waypoints_breaks_them() {
    let host = stocked();
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in ["payload", "payload_in", "order", "created_at", "sort", "limit"] {
            check(&host, TestCall::get(&format!("/v1/waypoints?{parameter}={text}")));
        }
    }
}

fn stocked() -> TestHost {
    let host = TestHost::new(&PLUGIN);
    let order = json!({"internal_id": "A-1", "pickup": "a", "dropoff": "b", "adhoc": true});
    assert_eq!(host.call(TestCall::post("/v1/orders").json(&order)).status, 201);
    host
}

#[test]
fn no_value_in_an_action_or_a_payload_breaks_it() {
    let values = values();
    for (method, path, templates) in BODIES {
        for template in templates {
            let host = stocked();
            for value in &values {
                check(&host, TestCall::new(method, path).text(&template.replace('%', value)));
            }
        }
    }
}

#[test]
fn no_parameter_of_orders_breaks_them() {
    let host = stocked();
    let lists =
        ["query", "bulk_query", "only", "exclude", "nearby", "radius", "tracking", "unassigned", "on", "entity"];
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in lists {
            check(&host, TestCall::get(&format!("/v1/orders?{parameter}={text}")));
        }
        for parameter in ["with", "without", "with_eta", "with_tracker_data"] {
            check(&host, TestCall::get(&format!("/v1/orders/A-1?{parameter}={text}")));
        }
        check(&host, TestCall::get(&format!("/v1/orders/A-1/next-activity?waypoint={text}")));
        check(&host, TestCall::get(&format!("/v1/orders/A-1/tracker?provider={text}")));
        if !text.is_empty() && !text.contains(['/', '?']) {
            check(&host, TestCall::post(&format!("/v1/orders/A-1/set-destination/{text}")));
        }
    }
}
