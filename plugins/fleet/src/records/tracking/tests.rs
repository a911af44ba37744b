//! What orders ask of tracking numbers, through a plugin that does nothing else.

use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};
use tenon_plugin::{Answer, Outcome, Plugin, delete, get, post};

use super::*;
use crate::api::errors;
use crate::records::proofs;
use crate::rules::location::Position;

static PLUGIN: Plugin = Plugin::new("tracking", "0")
    .routes(&[
        post("/numbers/{subject}", "issue", issue_one),
        get("/numbers", "read-both", read_both),
        post("/statuses/{number}", "add", add_one),
        delete("/subjects/{subject}", "delete", delete_all),
    ])
    .collections(crate::records::COLLECTIONS)
    .event_types(crate::api::tracking_numbers::EVENT_TYPES)
    .render_error(errors::words);

fn report(title: &str) -> Report {
    Report { code: title.to_lowercase(), title: title.to_owned(), details: "As told".to_owned(), ..Report::default() }
}

fn issue_one(call: &Call) -> Outcome {
    let vienna = vec![("city", "Wien".to_owned()), ("country", "at".to_owned())];
    let place = Place { details: vienna, position: Position::new(48.2, 16.4).ok(), is_located: false };
    let issued = issue(call, call.parameter("subject"), &place, &report("Created"))?;
    assert_eq!(issued.body, load_many(call, std::slice::from_ref(&issued.id))?[&issued.id]);
    assert_eq!(load_with_statuses(call, &[], std::slice::from_ref(&issued.id))?.statuses[&issued.id], [issued.status]);
    assert!(is_number(&issued.number));
    Ok(Answer::created(issued.body))
}

fn add_one(call: &Call) -> Outcome {
    Ok(Answer::created(add(call, call.parameter("number"), &report(call.query("title").unwrap_or("Moved")))?))
}

fn read_both(call: &Call) -> Outcome {
    let ids: Vec<String> = call.query("ids").unwrap_or_default().split(',').map(str::to_owned).collect();
    let statuses = load_with_statuses(call, &[], &ids)?.statuses;
    Ok(Answer::ok(json::to_text(&(load_many(call, &ids)?.len(), statuses))?))
}

fn delete_all(call: &Call) -> Outcome {
    delete_of_subject(call, call.parameter("subject"))?;
    proofs::delete_of_order(call, call.parameter("subject"))?;
    Ok(Answer::empty())
}

fn host() -> TestHost {
    TestHost::new(&PLUGIN)
}

fn issued(host: &TestHost, subject: &str) -> Value {
    host.call(TestCall::post(&format!("/numbers/{subject}"))).json()
}

fn add_to(host: &TestHost, number: &Value, title: &str) -> TestAnswer {
    host.call(TestCall::post(&format!("/statuses/{}?title={title}", number["id"].as_str().unwrap())))
}

/// The titles of a number's statuses.
fn titles(host: &TestHost, number: &Value) -> Vec<String> {
    let id = number["id"].as_str().unwrap();
    let both = host.call(TestCall::get(&format!("/numbers?ids={id}"))).json();
    let read = |text: &Value| {
        serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap()["status"].as_str().unwrap().to_owned()
    };
    both[1][id].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn a_number_begins_where_its_subject_does() {
    let host = host();
    let number = issued(&host, "order_0000000001");
    assert_eq!(
        (&number["region"], &number["type"], &number["status"]),
        (&json!("AT"), &json!("country"), &json!("Created"))
    );
    let statuses = host.record("tracking-numbers", number["id"].as_str().unwrap()).unwrap()["statuses"].clone();
    let status = host.record("tracking-statuses", statuses[0].as_str().unwrap()).unwrap();
    assert_eq!((&status["city"], &status["country"]), (&json!("Wien"), &json!("at")));
    assert_eq!((&status["location"]["coordinates"], &status["code"]), (&json!([16.4, 48.2]), &json!("CREATED")));
}

#[test]
fn what_happens_is_added_in_its_order() {
    let host = host();
    let number = issued(&host, "order_0000000001");
    for title in ["Started", "Arrived"] {
        assert_eq!(add_to(&host, &number, title).json()["status"], title);
    }
    assert_eq!(titles(&host, &number), ["Created", "Started", "Arrived"]);
    let told: Vec<String> = host.events().into_iter().map(|event| event.event_type).collect();
    assert_eq!(told, ["tracking_status.created", "tracking_number.updated"].repeat(2));
    assert_eq!(add_to(&host, &json!({"id": "track_0000000009"}), "Moved").status, 404);
}

#[test]
fn of_a_full_number_the_oldest_status_goes() {
    let host = host();
    let number = issued(&host, "order_0000000001");
    for nth in 0..STATUSES_MAX {
        add_to(&host, &number, &format!("N{nth}"));
    }
    let titles = titles(&host, &number);
    assert_eq!((titles.len(), titles[0].as_str()), (STATUSES_MAX, "N0"));
    assert!(host.events().iter().any(|event| event.event_type == "tracking_status.deleted"));
}

#[test]
fn numbers_go_away_with_their_subject() {
    let host = host();
    let (gone, other) = (issued(&host, "order_0000000001"), issued(&host, "order_0000000002"));
    assert_eq!(host.call(TestCall::delete("/subjects/order_0000000001")).status, 204);
    let ids = [&gone, &other].map(|number| number["id"].as_str().unwrap()).join(",");
    let both = host.call(TestCall::get(&format!("/numbers?ids={ids}"))).json();
    assert_eq!((&both[0], both[1].as_object().unwrap().len()), (&json!(1), 1));
    assert!(host.events().is_empty(), "what comes and goes with its subject is told with it");
}
