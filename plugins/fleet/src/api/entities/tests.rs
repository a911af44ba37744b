//! Entities, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/entities").json(body))
}

#[test]
fn amounts_are_kept_as_they_were_written() {
    let host = TestHost::new(&PLUGIN);
    let piano =
        json!({"name": "Piano", "type": "parcel", "price": "4999.90", "declared_value": 5000, "currency": "sgd"});
    let piano = create(&host, &piano).json();
    let found = (&piano["price"], &piano["declared_value"], &piano["currency"]);
    assert_eq!(found, (&json!("4999.90"), &json!("5000"), &json!("SGD")));
}

#[test]
fn sizes_have_units() {
    let host = TestHost::new(&PLUGIN);
    let piano = create(&host, &json!({"name": "Piano", "type": "parcel", "weight": 300, "height": "1.1"})).json();
    let found = (&piano["weight_unit"], &piano["dimensions_unit"], &piano["height"]);
    assert_eq!(found, (&json!("kg"), &json!("cm"), &json!(1.1)));
    let wrong = create(&host, &json!({"name": "Piano", "type": "parcel", "weight": -1, "weight_unit": "stone"}));
    assert_eq!((wrong.status, wrong.json()["errors"].as_array().unwrap().len()), (422, 2));
}

#[test]
fn what_an_entity_refers_to_exists() {
    let host = TestHost::new(&PLUGIN);
    for reference in [json!({"payload": "payload_0000000000"}), json!({"customer": "contact_0000000000"})] {
        let mut body = json!({"name": "Piano", "type": "parcel"});
        body.as_object_mut().unwrap().extend(reference.as_object().unwrap().clone());
        assert_eq!(create(&host, &body).status, 404, "{body}");
    }
    let nowhere = create(&host, &json!({"name": "Piano", "type": "parcel", "destination": 0}));
    let sentence = json!("The destination field must be a stop of the order.");
    assert_eq!((nowhere.status, nowhere.json()["error"].clone()), (422, sentence));
}
