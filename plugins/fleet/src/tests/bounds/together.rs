//! What one commit writes of the things that an order carries (8 MiB are the host's bound).

use super::*;

const COMMIT_BYTES_MAX: usize = 8 << 20;

/// A tour that carries as many things as there may be, each with so many bytes and on the way to the last stop. Gives the
/// path of the order, and its payload.
fn laden(bytes: usize) -> (TestHost, String, Value) {
    let host = TestHost::new(&PLUGIN);
    let things: Vec<Value> = (0..50).map(|nth| json!({"name": format!("Box {nth}"), "destination": 2})).collect();
    let order = create(&host, &json!({"waypoints": ["a", "b", "c"], "entities": things})).json();
    grow(&host, "entities", ids(&order["payload"]["entities"]), bytes);
    (host, format!("/v1/orders/{}", order["id"].as_str().unwrap()), order["payload"].clone())
}

/// Objects that change each of them.
fn renamed(payload: &Value) -> Value {
    let changes = ids(&payload["entities"]).into_iter().map(|id| json!({"id": id, "name": "Crate"}));
    json!({ "entities": changes.collect::<Vec<Value>>() })
}

fn names(host: &TestHost, payload: &Value) -> BTreeSet<String> {
    let things = ids(&payload["entities"]).into_iter();
    things.map(|id| host.record("entities", id.as_str().unwrap()).unwrap()["name"].to_string()).collect()
}

#[test]
fn the_largest_things_of_today_are_changed_together() {
    let (host, _, payload) = laden(88_000);
    let path = format!("/v1/payloads/{}", payload["id"].as_str().unwrap());
    let since = host.events().len();
    let answer = host.call(TestCall::put(&path).json(&renamed(&payload)));
    assert_eq!((answer.status, names(&host, &payload)), (200, BTreeSet::from(["\"Crate\"".to_owned()])));
    let told: Vec<Value> = host.events().into_iter().skip(since).map(|event| event.payload).collect();
    assert!(told.len() > 50 && told.iter().all(|told| told["sku"].is_null() && told["meta"].get("k").is_none()));
    let written = 50 * 88_000 + told.iter().map(|told| told.to_string().len()).sum::<usize>();
    assert!(written < COMMIT_BYTES_MAX, "{written}");
}

#[test]
fn things_that_no_commit_holds_are_not_changed_together() {
    let (host, order, payload) = laden(200_000);
    let stop = payload["waypoints"][2]["waypoint_id"].as_str().unwrap();
    let (own, since) = (format!("/v1/payloads/{}", payload["id"].as_str().unwrap()), host.events().len());
    let before = names(&host, &payload);
    let entities = "The entities field must be smaller: its entities are too large to be changed together.";
    let inner = "The payload.entities field must be smaller: its entities are too large to be changed together.";
    for (call, sentence) in [
        (TestCall::put(&own).json(&renamed(&payload)), entities),
        (TestCall::put(&order).json(&renamed(&payload)), entities),
        (TestCall::put(&order).json(&json!({"payload": renamed(&payload)})), inner),
        (TestCall::delete(&format!("/v1/waypoints/{stop}")), entities),
    ] {
        let answer = host.call(call);
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)));
    }
    assert_eq!((names(&host, &payload), host.events().len()), (before, since));
    let first = payload["entities"][0]["id"].clone();
    let mut list = vec![json!({"id": first, "name": "Crate"})];
    list.extend(ids(&payload["entities"]).into_iter().skip(1));
    assert_eq!(host.call(TestCall::put(&own).json(&json!({ "entities": list }))).status, 200, "one is not too many");
}
