//! Tests of the SDK and its host in memory, with a small plugin that stores notes.

mod destinations;
mod pending;
mod webhooks;

use serde::Deserialize;
use serde_json::json;

use super::{TestAnswer, TestCall, TestHost};
use crate::ledger::Transfer;
use crate::records::{RecordRefusal, Search};
use crate::{Answer, Call, Collection, ErrorTemplate, EventType, Index, Outcome, Plugin, Refusal, get, json, post};

static NOTES: Plugin = Plugin::new("notes", "0.1.0")
    .routes(&[
        post("/notes/{id}", "write", write),
        get("/notes", "list", list),
        get("/open/{id}", "peek", peek).open(),
        post("/strays", "stray", stray),
        post("/refusals", "refuse", refuse),
        get("/sheet", "print", print),
        get("/all", "read-many", read_many),
        get("/blank", "fill", fill),
        post("/transfers", "transfer", transfer),
    ])
    .collections(&[Collection::new(
        "notes",
        &[Index::unique("by-title", &["title"]), Index::on("by-time", &["@created-at"])],
    )])
    .event_types(&[EventType::new("note.written", "", "{}")])
    .failures(&[ErrorTemplate::new("malformed-request", 400, "BAD_JSON", "That is not JSON")]);

#[derive(Deserialize)]
struct Note {
    title: String,
}

/// Inserts a note and returns the number of notes with its title that `count` finds before the commit.
fn write(call: &Call) -> Outcome {
    let note: Note = call.json()?;
    let (id, notes) = (call.parameter("id"), call.records("notes"));
    match notes.insert(id, &json::to_text(&json!({ "title": note.title }))?) {
        Err(RecordRefusal::NotUnique(_)) => return Err(Refusal::new(409, "taken", "The title is taken.").into()),
        outcome => outcome?,
    }
    call.emit("note.written", id, "{}");
    Ok(Answer::created(notes.count(&Search::first(10).is("title", &note.title), 10).to_string()))
}

fn list(call: &Call) -> Outcome {
    let page = call.records("notes").find(&Search::first(2).descending("@created-at"))?;
    Ok(Answer::ok(json::array(page.entries.iter().map(|entry| entry.body.as_str()))))
}

fn peek(call: &Call) -> Outcome {
    Ok(Answer::ok(call.records("notes").get(call.parameter("id")).is_some().to_string()))
}

fn print(_: &Call) -> Outcome {
    Ok(Answer::with_media_type("text/csv", b"a,b".to_vec()).header("x-rows", "1".to_owned()))
}

fn read_many(call: &Call) -> Outcome {
    let ids: Vec<String> = call.query("ids").unwrap_or_default().split(',').map(str::to_owned).collect();
    Ok(Answer::ok(call.records("notes").get_many(&ids).iter().flatten().count().to_string()))
}

fn fill(call: &Call) -> Outcome {
    let bytes: usize = call.query("bytes").and_then(|text| text.parse().ok()).unwrap_or_default();
    Ok(Answer::with_media_type("text/plain", vec![b' '; bytes]))
}

fn stray(call: &Call) -> Outcome {
    call.records("strays").get("a");
    Ok(Answer::empty())
}

fn refuse(call: &Call) -> Outcome {
    call.records("notes").insert("refused", "{}")?;
    call.journal(r#"{"did":"refuse"}"#);
    Err(Refusal::new(422, "no", "No.").into())
}

fn transfer(call: &Call) -> Outcome {
    let ledger = call.ledger();
    let amount: String = call.json()?;
    ledger.open_external("bank");
    let (debit, credit, asset, memo) = ("purse".to_owned(), "bank".to_owned(), "EUR".to_owned(), String::new());
    ledger.post(&[Transfer { id: "t1".to_owned(), debit, credit, asset, amount, memo }])?;
    Ok(Answer::ok(ledger.balance("purse", "EUR")))
}

fn host() -> TestHost {
    TestHost::new(&NOTES)
}

fn write_note(host: &TestHost, id: &str, title: &str) -> TestAnswer {
    host.call(TestCall::post(&format!("/notes/{id}")).json(&json!({ "title": title })))
}

#[test]
fn commit_stores_records_and_events() {
    let host = host();
    let answer = write_note(&host, "a", "first");
    assert_eq!((answer.status, answer.body.as_str()), (201, "0"), "find does not see the call's own writes");
    assert_eq!(host.record("notes", "a"), Some(json!({ "title": "first" })));
    assert_eq!(host.events().len(), 1);
}

#[test]
fn unique_index_rejects_an_equal_value() {
    let host = host();
    write_note(&host, "a", "same");
    let second = write_note(&host, "b", "same");
    assert_eq!((second.status, second.refused, host.record("notes", "b")), (409, true, None));
    assert_eq!(second.json()["code"], "taken");
}

#[test]
fn refusal_changes_only_the_journal() {
    let host = host();
    host.call(TestCall::post("/refusals"));
    assert_eq!((host.record("notes", "refused"), host.journal()), (None, vec![json!({ "did": "refuse" })]));
}

#[test]
fn other_media_type_is_in_the_content_type_header() {
    let answer = host().call(TestCall::get("/sheet"));
    let headers =
        [("x-rows", "1"), ("content-type", "text/csv")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!((answer.status, answer.body.as_str(), answer.headers), (200, "a,b", headers.to_vec()));
}

#[test]
fn page_is_sorted_and_limited() {
    let host = host();
    for id in ["a", "b", "c"] {
        write_note(&host, id, id);
        host.advance_ms(1);
    }
    assert_eq!(host.call(TestCall::get("/notes")).body, r#"[{"title":"c"},{"title":"b"}]"#);
}

#[test]
fn open_route_finds_no_records() {
    let host = host();
    write_note(&host, "a", "first");
    assert_eq!(host.call(TestCall::get("/open/a")).body, "false");
}

#[test]
fn invalid_json_is_malformed_and_a_missing_field_is_invalid() {
    let deep = ["{\"title\":", &"[".repeat(33), &"]".repeat(33), "}"].concat();
    for body in ["{", deep.as_str()] {
        let answer = host().call(TestCall::post("/notes/a").text(body));
        assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!("BAD_JSON")), "{body}");
    }
    let answer = host().call(TestCall::post("/notes/a").text("{}"));
    assert_eq!((answer.status, answer.json()["message"].clone()), (422, json!("missing field `title`")));
}

#[test]
fn unhandled_ledger_refusal_is_a_fault() {
    let fault = host().try_call(TestCall::post("/transfers").json(&"5")).unwrap_err();
    assert_eq!(fault, "ledger: insufficient balance of account purse");
}

#[test]
#[should_panic(expected = "collection strays is not declared")]
fn undeclared_collection_fails_the_test() {
    host().call(TestCall::post("/strays"));
}

/// Reads this number of notes, each of a million bytes, in one call.
fn read_large_notes(notes: usize) -> TestAnswer {
    let host = host();
    let ids: Vec<String> = (0..notes).map(|number| number.to_string()).collect();
    for id in &ids {
        host.put_record("notes", id, &json!({"title": id, "text": "x".repeat(1_000_000)}));
    }
    host.call(TestCall::get(&format!("/all?ids={}", ids.join(","))))
}

#[test]
fn get_many_loads_records_up_to_the_limit() {
    assert_eq!(read_large_notes(33).body, "33");
}

#[test]
#[should_panic(expected = "get-many loads at most 33554432 bytes at once")]
fn get_many_above_the_limit_fails_the_test() {
    read_large_notes(34);
}

#[test]
fn answer_may_be_as_large_as_the_limit() {
    assert_eq!(host().call(TestCall::get("/blank?bytes=8388608")).body.len(), 8 << 20);
}

#[test]
#[should_panic(expected = "an answer must have at most 8388608 bytes: 8388609")]
fn answer_above_the_limit_fails_the_test() {
    host().call(TestCall::get("/blank?bytes=8388609"));
}

#[test]
fn manifest_contains_error_templates_with_a_request_id_placeholder() {
    let manifest: serde_json::Value = serde_json::from_str(&NOTES.describe()).unwrap();
    let expected = json!({ "code": "BAD_JSON", "message": "That is not JSON", "request_id": "{request-id}" });
    assert_eq!(manifest["failures"]["malformed-request"]["body"], expected);
    assert_eq!(manifest["routes"][2]["open"], true);
}
