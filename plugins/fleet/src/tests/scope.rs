//! What the real product has and this one has not (docs/fleet/scope.md): refused by its name, never dropped.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

/// One of them is there; `body`: what another one is made of.
struct Stocked {
    collection: &'static str,
    id: String,
    body: Value,
    fields: &'static [&'static str],
}

/// A driver, a vehicle and an order.
fn stocked() -> (TestHost, [Stocked; 3]) {
    let host = TestHost::new(&PLUGIN);
    let driver = |nth: u32| json!({"name": "Ada", "email": format!("a{nth}@example.com"), "phone": format!("+65912345{nth:02}")});
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    let van = json!({"name": "Van"});
    let id = |path: &str, body: &Value| {
        let answer = host.call(TestCall::post(&format!("/v1/{path}")).json(body));
        answer.json()["id"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
    };
    let ids = (id("drivers", &driver(1)), id("vehicles", &van), id("orders", &order));
    let all = [
        Stocked { collection: "drivers", id: ids.0, body: driver(2), fields: &["vendor"] },
        Stocked { collection: "vehicles", id: ids.1, body: van, fields: &["vendor"] },
        Stocked { collection: "orders", id: ids.2, body: order, fields: &["service_quote", "purchase_rate"] },
    ];
    (host, all)
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

#[track_caller]
fn check_refused(answer: &TestAnswer, field: &str) {
    let sentence = format!("The {field} field is not supported yet.");
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{}", answer.body);
}

#[test]
fn a_field_of_what_is_out_of_scope_is_refused_by_its_name() {
    let (host, all) = stocked();
    for Stocked { collection, id, body, fields } in &all {
        let one = format!("/v1/{collection}/{id}");
        let before = host.call(TestCall::get(&one)).json();
        for field in *fields {
            for value in [json!("vendor_0123456789"), json!({"id": "quote_0123456789"}), json!(5)] {
                let asked = with(body, field, value.clone());
                check_refused(&host.call(TestCall::post(&format!("/v1/{collection}")).json(&asked)), field);
                for method in ["PUT", "PATCH"] {
                    let asked = json!({*field: value, "meta": {"k": 1}});
                    check_refused(&host.call(TestCall::new(method, &one).json(&asked)), field);
                }
            }
        }
        assert_eq!(host.call(TestCall::get(&one)).json(), before, "{collection}");
    }
}

#[test]
fn what_asks_for_nothing_is_taken() {
    let (host, all) = stocked();
    for Stocked { collection, id, body, fields } in &all {
        for field in *fields {
            let changed = host.call(TestCall::put(&format!("/v1/{collection}/{id}")).json(&json!({ *field: null })));
            assert_eq!((changed.status, &changed.json()[*field]), (200, &Value::Null), "{collection} {field}");
        }
        let asked = fields.iter().fold(body.clone(), |body, field| with(&body, field, Value::Null));
        assert_eq!(host.call(TestCall::post(&format!("/v1/{collection}")).json(&asked)).status, 201, "{collection}");
    }
}

#[test]
fn a_filter_by_what_is_out_of_scope_is_named() {
    let (host, all) = stocked();
    for Stocked { collection, fields, .. } in &all {
        let query = fields.iter().map(|field| format!("{field}=x_1")).collect::<Vec<_>>().join("&");
        let answer = host.call(TestCall::get(&format!("/v1/{collection}?{query}")));
        let told =
            answer.headers.iter().find(|(name, _)| name == "x-unknown-parameters").map(|(_, value)| value.clone());
        assert_eq!((answer.status, told), (200, Some(fields.join(", "))), "{collection}");
    }
}
