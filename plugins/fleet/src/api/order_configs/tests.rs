//! Order configurations, as far as they are not like every other resource.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;

const TRANSPORT: &str = "order_config_transport0";

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

/// Of activities and what comes next; the last completes.
fn flow(steps: &[(&str, &[&str])]) -> Value {
    let activity =
        |(code, next): &(&str, &[&str])| json!({"code": code, "activities": next, "complete": next.is_empty()});
    steps.iter().map(activity).collect()
}

fn food() -> Value {
    let flow = flow(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["cooked"]),
        ("cooked", &["completed"]),
        ("completed", &[]),
    ]);
    json!({"name": "Food", "key": "food", "flow": flow})
}

fn create(host: &TestHost, body: &Value) -> TestAnswer {
    host.call(TestCall::post("/v1/order-configs").json(body))
}

fn get(host: &TestHost, target: &str) -> Value {
    host.call(TestCall::get(&format!("/v1/order-configs{target}"))).json()
}

#[test]
fn a_flow_is_shown_by_codes_with_everything_that_clients_know() {
    let food = create(&host(), &food()).json();
    let codes: Vec<&String> = food["flow"].as_object().unwrap().keys().collect();
    assert_eq!(codes.len(), 5);
    let expected = json!({
        "key": "cooked", "code": "cooked", "status": "Cooked", "details": "", "color": null, "sequence": 0,
        "activities": ["completed"], "logic": [], "complete": false, "require_pod": false, "pod_method": null,
        "events": [], "actions": [], "options": [], "entities": [],
    });
    assert_eq!(food["flow"]["cooked"], expected);
}

#[test]
fn a_flow_that_was_read_can_be_sent_back() {
    let host = host();
    let transport = get(&host, "/transport");
    let own = json!({"name": "Own", "key": "own", "flow": transport["flow"]});
    let own = create(&host, &own).json();
    assert_eq!(own["flow"], transport["flow"]);
}

#[test]
fn logic_and_proofs_are_kept() {
    let mut body = food();
    let logic = json!([{"type": "if", "conditions": [{"field": "meta.hot", "operator": "equal", "value": "true"}]}]);
    body["flow"][3]["logic"] = logic.clone();
    body["flow"][4]["require_pod"] = json!(true);
    body["flow"][4]["pod_method"] = json!("photo");
    let food = create(&host(), &body).json();
    assert_eq!(food["flow"]["cooked"]["logic"], logic);
    let completed = &food["flow"]["completed"];
    assert_eq!((&completed["require_pod"], &completed["pod_method"]), (&json!(true), &json!("photo")));
}

#[test]
fn a_configuration_is_read_by_id_key_or_namespace() {
    let host = host();
    let food = create(&host, &food()).json();
    for name in [food["id"].as_str().unwrap(), "food", "acme:order-config:food"] {
        assert_eq!(get(&host, &format!("/{name}")), food, "{name}");
    }
    for name in [TRANSPORT, "transport", "system:order-config:transport"] {
        assert_eq!(get(&host, &format!("/{name}"))["id"], TRANSPORT, "{name}");
    }
}

#[test]
fn the_built_in_one_comes_first_where_it_fits() {
    let host = host();
    let food = create(&host, &food()).json()["id"].as_str().unwrap().to_owned();
    let both = vec![TRANSPORT, &food];
    for (query, expected) in [
        ("", both.clone()),
        ("?sort=oldest", both.clone()),
        ("?limit=1", vec![TRANSPORT]),
        ("?limit=1&offset=1", vec![food.as_str()]),
        ("?limit=1&page=3", vec![]),
        ("?key=transport", vec![TRANSPORT]),
        ("?key=food", vec![food.as_str()]),
        ("?namespace=system:order-config:transport&name=Transport", vec![TRANSPORT]),
        ("?name=Food&key=transport", vec![]),
    ] {
        let list = get(&host, query);
        let ids: Vec<&str> = list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{query}");
    }
}

#[test]
fn the_built_in_one_stays_as_it_is() {
    let host = host();
    let sentence = json!("The id field is not accepted: the built-in configuration stays as it is.");
    for name in [TRANSPORT, "transport"] {
        for method in ["PUT", "PATCH", "DELETE"] {
            let answer = host.call(TestCall::new(method, &format!("/v1/order-configs/{name}")).json(&food()));
            assert_eq!((answer.status, answer.json()["error"].clone()), (422, sentence.clone()), "{method} {name}");
        }
    }
}

#[test]
fn key_and_namespace_are_one_configurations_alone() {
    let host = host();
    create(&host, &food());
    let mut other = food();
    other["namespace"] = json!("acme:other");
    assert_eq!(create(&host, &other).json()["error"], "The key has already been taken.");
    other["key"] = json!("other");
    other["namespace"] = json!("acme:order-config:food");
    assert_eq!(create(&host, &other).json()["error"], "The namespace has already been taken.");
    other["key"] = json!("transport");
    assert_eq!(create(&host, &other).status, 422);
}

#[test]
fn a_flow_that_leads_nowhere_is_refused_with_every_reason() {
    let wrong = flow(&[("created", &["dispatched"]), ("dispatched", &["nowhere"]), ("started", &[])]);
    let answer = create(&host(), &json!({"name": "Food", "key": "food", "flow": wrong}));
    let errors = answer.json()["errors"].clone();
    assert_eq!((answer.status, answer.json()["code"].clone()), (422, json!("VALIDATION_FAILED")));
    assert!(errors[0].as_str().unwrap().contains("leads to \"nowhere\", which is unknown"), "{errors}");
}

#[test]
fn what_is_no_flow_is_refused_in_words() {
    let table = [
        (json!("transport"), "The flow field must be an object of activities by their codes."),
        (json!(null), "The flow field must be an object of activities by their codes."),
        (json!([1]), "The flow field must be an object of activities by their codes."),
        (json!([{"code": 5}]), "The flow field is not accepted: `code` of the activity \"\" is not a text."),
        (
            json!({"a": {"code": "a", "activities": "b"}}),
            "The flow field is not accepted: `activities` of the activity \"a\" is not a list of the codes of what may come next.",
        ),
        (
            json!([{"code": "a", "sequence": -1}]),
            "The flow field is not accepted: `sequence` of the activity \"a\" is not a whole number.",
        ),
        (json!([{"code": "created", "events": ["x"]}]), "The flow.events field is not supported yet."),
        (
            json!([{"code": "a", "logic": [{"type": "perhaps"}]}]),
            "The flow.logic.type field must be one of: and, or, not, if.",
        ),
        (
            json!([{"code": "a", "logic": [{"type": "if", "conditions": [{"field": "a", "operator": "is"}]}]}]),
            "The flow.logic.operator field is not accepted: \"is\" is none of these: equal, not_equal, greater_than, greater_than_or_equal, less_than, less_than_or_equal, contains, begins_with, ends_with, exists, not_exists.",
        ),
        (json!([{"code": "a", "pod_method": "oath"}]), "The pod_method field must be one of: scan, signature, photo."),
        (json!(vec![json!({"code": "a"}); 65]), "The flow field is not accepted: it has more than 64 activities."),
    ];
    for (flow, sentence) in table {
        let answer = create(&host(), &json!({"name": "Food", "key": "food", "flow": flow}));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{flow}");
    }
}

#[test]
fn a_logic_that_is_none_is_shown_what_one_looks_like() {
    let sentence = "The flow field is not accepted: `logic` of the activity \"a\" is not a list like [{\"type\": \"and\", \
                    \"conditions\": [{\"field\": \"type\", \"operator\": \"equal\", \"value\": \"transport\"}]}].";
    for logic in [
        json!("and"),
        json!({"type": "and", "conditions": []}),
        json!([{"type": "and", "conditions": {"field": "type"}}]),
        json!([{"type": "and", "conditions": [{"field": "type", "operator": "equal", "value": ["x"]}]}]),
    ] {
        let flow = json!([{"code": "a", "logic": logic}]);
        let answer = create(&host(), &json!({"name": "Food", "key": "food", "flow": flow}));
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)), "{logic}");
    }
}

#[test]
fn a_condition_may_compare_with_a_number_or_a_flag() {
    let host = host();
    let condition =
        |value: Value| json!([{"type": "if", "conditions": [{"field": "a", "operator": "equal", "value": value}]}]);
    for (value, kept) in [(json!(10), "10"), (json!(2.5), "2.5"), (json!(true), "true"), (json!(null), "")] {
        let mut body = food();
        body["flow"][4]["logic"] = condition(value);
        let stored = host.call(TestCall::post("/v1/order-configs").json(&body)).json();
        assert_eq!(stored["flow"]["completed"]["logic"], condition(json!(kept)), "{stored}");
        assert_eq!(host.call(TestCall::delete("/v1/order-configs/food")).status, 200);
    }
}

#[test]
fn a_changed_configuration_keeps_its_flow_unless_it_is_given_one() {
    let host = host();
    let before = create(&host, &food()).json();
    let after = host.call(TestCall::patch("/v1/order-configs/food").json(&json!({"name": "Meals"}))).json();
    assert_eq!((&after["flow"], &after["name"]), (&before["flow"], &json!("Meals")));
    let direct = flow(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["completed"]),
        ("completed", &[]),
    ]);
    let after = host.call(TestCall::put("/v1/order-configs/food").json(&json!({"flow": direct}))).json();
    assert_eq!(after["flow"].as_object().unwrap().len(), 4);
}

#[test]
fn an_order_goes_on_along_a_flow_that_was_deleted() {
    let host = host();
    create(&host, &food());
    let order = |kind: &str| {
        let order = json!({"pickup": "a", "dropoff": "b", "adhoc": true, "type": kind});
        host.call(TestCall::post("/v1/orders").json(&order))
    };
    let id = order("food").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(host.call(TestCall::delete("/v1/order-configs/food")).status, 200);
    let next = host.call(TestCall::get(&format!("/v1/orders/{id}/next-activity")));
    assert_eq!((next.status, next.json()[0]["code"].clone()), (200, json!("dispatched")));
    let dispatched = host.call(TestCall::post(&format!("/v1/orders/{id}/dispatch")));
    assert_eq!((dispatched.status, dispatched.json()["status"].clone()), (200, json!("dispatched")));
    let new = order("food");
    assert_eq!((new.status, new.json()["code"].clone()), (400, json!("INVALID_ORDER_CONFIG")));
    assert_eq!(create(&host, &food()).status, 201, "the key is free again");
}
