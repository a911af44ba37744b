//! What one commit writes of the things that an order carries (8 MiB are the host's bound).

use super::*;

const COMMIT_BYTES_MAX: usize = 8 << 20;
const TOO_LARGE: &str = "The entities that are changed together may not have more than 5242880 bytes of JSON.";

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
    for call in [
        TestCall::put(&own).json(&renamed(&payload)),
        TestCall::put(&order).json(&renamed(&payload)),
        TestCall::put(&order).json(&json!({"payload": renamed(&payload)})),
        TestCall::put(&order).json(&json!({"payload": {"waypoints": ["a", "b"]}})),
        TestCall::delete(&format!("/v1/waypoints/{stop}")),
    ] {
        let answer = host.call(call);
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(TOO_LARGE)));
    }
    assert_eq!((names(&host, &payload), host.events().len()), (before, since));
    let first = payload["entities"][0]["id"].clone();
    let mut list = vec![json!({"id": first, "name": "Crate"})];
    list.extend(ids(&payload["entities"]).into_iter().skip(1));
    assert_eq!(host.call(TestCall::put(&own).json(&json!({ "entities": list }))).status, 200, "one is not too many");
}

#[test]
fn what_is_sent_back_or_copied_takes_no_room() {
    let (host, order, payload) = laden(200_000);
    let (things, before, since) = (ids(&payload["entities"]), names(&host, &payload), host.events().len());
    let same: Vec<Value> = things.iter().map(|id| json!({ "id": id })).collect();
    assert_eq!(host.call(TestCall::put(&order).json(&json!({ "entities": same }))).status, 200);
    assert_eq!((names(&host, &payload), host.events().len()), (before, since));
    let copies: Vec<Value> = things.iter().map(|id| json!({"id": id, "name": "Copy"})).collect();
    let made = create(&host, &json!({"pickup": "a", "dropoff": "b", "entities": copies}));
    assert_eq!((made.status, made.json()["payload"]["entities"][49]["name"].clone()), (201, json!("Copy")));
}

#[test]
fn what_is_taken_in_takes_room() {
    let (host, _, payload) = laden(200_000);
    let things = ids(&payload["entities"]);
    for id in &things {
        let path = format!("/v1/entities/{}", id.as_str().unwrap());
        assert_eq!(host.call(TestCall::put(&path).json(&json!({"payload": null}))).status, 200);
    }
    let taken = |count: usize| {
        let body = json!({"type": "food", "pickup": "a", "dropoff": "b", "entities": things[..count]});
        let answer = host.call(TestCall::post("/v1/payloads").json(&body));
        (answer.status, answer.json()["error"].clone())
    };
    assert_eq!((taken(27), taken(26)), ((422, json!(TOO_LARGE)), (201, Value::Null)));
}

/// Half of them are changed by the list, half lose their stop.
#[test]
fn one_call_has_one_bound() {
    let (host, order, payload) = laden(150_000);
    let things = ids(&payload["entities"]);
    let changed = |name: &str| {
        let first = things.iter().take(25).map(|id| json!({"id": id, "name": name}));
        first.chain(things[25..].iter().cloned()).collect::<Vec<Value>>()
    };
    assert_eq!(host.call(TestCall::put(&order).json(&json!({"entities": changed("Crate")}))).status, 200);
    let body = json!({"waypoints": ["a", "b"], "entities": changed("Box")});
    let answer = host.call(TestCall::put(&order).json(&body));
    assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(TOO_LARGE)));
}
