//! Customers, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::PLUGIN;

fn create(host: &TestHost, path: &str, body: &Value) -> Value {
    let answer = host.call(TestCall::post(path).json(body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

#[test]
fn a_customer_is_a_contact_under_another_name() {
    let host = TestHost::new(&PLUGIN);
    let ada = create(&host, "/v1/customers", &json!({"name": "Ada", "email": "ada@x.org"}));
    assert_eq!((&ada["type"], &ada["id"]), (&json!("customer"), &ada["customer_id"]));
    let contact = host.call(TestCall::get(&format!("/v1/contacts/{}", ada["contact_id"].as_str().unwrap()))).json();
    assert_eq!((&contact["name"], &contact["customer_id"]), (&json!("Ada"), &ada["id"]));
}

#[test]
fn a_customer_stays_one() {
    let host = TestHost::new(&PLUGIN);
    let ada = create(&host, "/v1/customers", &json!({"name": "Ada", "type": "agent"}));
    let path = format!("/v1/customers/{}", ada["id"].as_str().unwrap());
    let after = host.call(TestCall::put(&path).json(&json!({"type": "agent", "title": "Dr"}))).json();
    assert_eq!((&after["type"], &after["title"]), (&json!("customer"), &json!("Dr")));
}

#[test]
fn who_is_no_customer_is_not_found_among_them() {
    let host = TestHost::new(&PLUGIN);
    let bob = create(&host, "/v1/contacts", &json!({"name": "Bob", "type": "agent"}));
    let id = bob["id"].as_str().unwrap();
    for name in [id.to_owned(), id.replace("contact_", "customer_")] {
        for method in ["GET", "PUT", "PATCH", "DELETE"] {
            let answer = host.call(TestCall::new(method, &format!("/v1/customers/{name}")).json(&json!({})));
            assert_eq!(answer.status, 404, "{method} {name}");
        }
    }
    assert_eq!(host.call(TestCall::get("/v1/customers")).json(), json!([]));
    assert_eq!(host.call(TestCall::get("/v1/customers?type=agent")).json(), json!([]));
}
