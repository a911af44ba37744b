//! Nothing completes without the proof that is required.

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;

use super::{Fleet, check_refused};

/// The smallest picture there is.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

fn sign(fleet: &Fleet, id: &str, subject: &str) -> Value {
    let path = format!("/v1/orders/{id}/capture-signature{subject}");
    let answer = fleet.call(TestCall::post(&path).json(&json!({"signature": PNG})));
    assert!([200, 201].contains(&answer.status), "{}", answer.body);
    answer.json()
}

#[test]
fn an_order_that_wants_a_proof_completes_with_one() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let wanted = json!({"driver": ada, "dispatch": true, "pod_required": true, "pod_method": "signature"});
    let id = fleet.order(wanted);
    fleet.act(&id, "start", json!({}));
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    let next = fleet.call(TestCall::get(&format!("/v1/orders/{id}/next-activity"))).json();
    assert_eq!((&next[0]["require_pod"], &next[0]["pod_method"]), (&json!(true), &json!("signature")));
    let sentence = "A proof of delivery by signature is required.";
    for answer in [fleet.post(&id, "complete", json!({})), fleet.take(&id, "completed")] {
        check_refused(&answer, 422, "PROOF_REQUIRED", sentence);
    }
    let put = fleet.call(TestCall::put(&format!("/v1/orders/{id}")).json(&json!({"status": "completed"})));
    check_refused(&put, 422, "PROOF_REQUIRED", sentence);
    let named = json!({"activity": "completed", "proof": "proof_0000000000"});
    let sentence = "The proof field must be a proof of the order.";
    check_refused(&fleet.post(&id, "update-activity", named), 422, "VALIDATION_FAILED", sentence);
    let proof = sign(&fleet, &id, "")["id"].clone();
    let completed = fleet.act(&id, "update-activity", json!({"activity": "completed", "proof": proof}));
    assert_eq!(completed["status"], "completed");
}

#[test]
fn a_stop_is_proved_by_a_proof_of_that_stop() {
    let fleet = Fleet::new();
    let ada = fleet.driver("Ada");
    let stop = json!({"street1": "First Stop", "pod_required": true, "pod_method": "signature"});
    let body = json!({"driver": ada, "dispatch": true, "waypoints": [stop, "Second Stop"]});
    let order = fleet.create(&body);
    let id = super::id_of(&order);
    fleet.act(&id, "start", json!({}));
    fleet.act(&id, "update-activity", json!({"activity": "enroute"}));
    sign(&fleet, &id, "");
    let sentence = "A proof of delivery by signature is required.";
    check_refused(&fleet.take(&id, "completed"), 422, "PROOF_REQUIRED", sentence);
    let place = order["payload"]["waypoints"][0]["id"].as_str().unwrap();
    sign(&fleet, &id, &format!("/{place}"));
    assert_eq!(fleet.take(&id, "completed").status, 200);
}

#[test]
fn an_order_shows_the_pictures_of_its_proofs() {
    let fleet = Fleet::new();
    let id = fleet.order(json!({}));
    assert_eq!(fleet.read(&id)["files"], json!([]));
    fleet.host.advance_ms(1_000);
    for _ in 0..2 {
        sign(&fleet, &id, "");
    }
    let base = ("base-url", "https://fleet.example");
    let order = fleet.call(TestCall::get(&format!("/v1/orders/{id}")).context(base.0, base.1)).json();
    assert_eq!(order["updated_at"], "2026-05-07T08:30:01.000000Z");
    let listed = fleet.call(TestCall::get("/v1/files").context(base.0, base.1)).json();
    let mut known: Vec<Value> =
        listed.as_array().unwrap().iter().map(|file| json!({"id": file["id"], "url": file["url"]})).collect();
    let mut shown = order["files"].as_array().unwrap().clone();
    for files in [&mut known, &mut shown] {
        files.sort_by_key(Value::to_string);
    }
    assert_eq!((shown.len(), shown), (2, known));
    let path = format!("/v1/orders/{id}");
    let changed = fleet.call(TestCall::put(&path).json(&json!({"notes": "n", "files": []}))).json();
    assert_eq!(changed["files"].as_array().unwrap().len(), 2, "only a proof brings a picture");
    let told = fleet.host.events().pop().unwrap();
    let ids: Vec<&Value> = order["files"].as_array().unwrap().iter().map(|file| &file["id"]).collect();
    assert_eq!((told.event_type.as_str(), &told.payload["files"]), ("order.updated", &json!(ids)));
}
