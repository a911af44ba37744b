//! The SDK and its host in memory, through a small plugin that keeps notes.

mod destinations;
mod hooks;
mod outside;

use serde::Deserialize;
use serde_json::json;

use super::{TestAnswer, TestCall, TestHost};
use crate::ledger::Transfer;
use crate::records::{RecordRefusal, Search};
use crate::{Answer, Call, Collection, EventType, Index, Outcome, Plugin, Refusal, Wording, get, json, post};

static NOTES: Plugin = Plugin::new("notes", "0.1.0")
    .routes(&[
        post("/notes/{id}", "write", write),
        get("/notes", "list", list),
        get("/open/{id}", "peek", peek).open(),
        post("/strays", "stray", stray),
        post("/refusals", "refuse", refuse),
        get("/sheet", "print", print),
        get("/all", "look", look),
        get("/blank", "fill", fill),
        post("/transfers", "transfer", transfer),
    ])
    .collections(&[Collection::new(
        "notes",
        &[Index::unique("by-title", &["title"]), Index::on("by-time", &["@created-at"])],
    )])
    .event_types(&[EventType::new("note.written", "", "{}")])
    .failures(&[Wording::new("malformed-request", 400, "BAD_JSON", "That is not JSON")]);

#[derive(Deserialize)]
struct Note {
    title: String,
}

/// Answers how many notes `find` saw before the commit.
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
    Ok(Answer::of_media_type("text/csv", b"a,b".to_vec()).header("x-rows", "1".to_owned()))
}

fn look(call: &Call) -> Outcome {
    let ids: Vec<String> = call.query("ids").unwrap_or_default().split(',').map(str::to_owned).collect();
    Ok(Answer::ok(call.records("notes").get_many(&ids).iter().flatten().count().to_string()))
}

fn fill(call: &Call) -> Outcome {
    let bytes: usize = call.query("bytes").and_then(|text| text.parse().ok()).unwrap_or_default();
    Ok(Answer::of_media_type("text/plain", vec![b' '; bytes]))
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
fn a_commit_keeps_records_and_events() {
    let host = host();
    let answer = write_note(&host, "a", "first");
    assert_eq!((answer.status, answer.body.as_str()), (201, "0"), "find does not see the call's own writes");
    assert_eq!(host.record("notes", "a"), Some(json!({ "title": "first" })));
    assert_eq!(host.events().len(), 1);
}

#[test]
fn a_unique_index_refuses_the_second() {
    let host = host();
    write_note(&host, "a", "same");
    let second = write_note(&host, "b", "same");
    assert_eq!((second.status, second.refused, host.record("notes", "b")), (409, true, None));
    assert_eq!(second.json()["code"], "taken");
}

#[test]
fn a_refusal_changes_nothing_but_the_journal() {
    let host = host();
    host.call(TestCall::post("/refusals"));
    assert_eq!((host.record("notes", "refused"), host.journal()), (None, vec![json!({ "did": "refuse" })]));
}

#[test]
fn what_is_not_json_says_what_it_is() {
    let answer = host().call(TestCall::get("/sheet"));
    let headers =
        [("x-rows", "1"), ("content-type", "text/csv")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!((answer.status, answer.body.as_str(), answer.headers), (200, "a,b", headers.to_vec()));
}

#[test]
fn a_page_is_sorted_and_cut() {
    let host = host();
    for id in ["a", "b", "c"] {
        write_note(&host, id, id);
        host.advance_ms(1);
    }
    assert_eq!(host.call(TestCall::get("/notes")).body, r#"[{"title":"c"},{"title":"b"}]"#);
}

#[test]
fn an_open_route_finds_no_records() {
    let host = host();
    write_note(&host, "a", "first");
    assert_eq!(host.call(TestCall::get("/open/a")).body, "false");
}

#[test]
fn bad_json_has_the_interfaces_wording_and_a_wrong_shape_its_own() {
    let deep = ["{\"title\":", &"[".repeat(33), &"]".repeat(33), "}"].concat();
    for body in ["{", deep.as_str()] {
        let answer = host().call(TestCall::post("/notes/a").text(body));
        assert_eq!((answer.status, answer.json()["code"].clone()), (400, json!("BAD_JSON")), "{body}");
    }
    let answer = host().call(TestCall::post("/notes/a").text("{}"));
    assert_eq!((answer.status, answer.json()["message"].clone()), (422, json!("missing field `title`")));
}

#[test]
fn an_overdrawn_account_faults_where_nobody_foresaw_it() {
    let fault = host().try_call(TestCall::post("/transfers").json(&"5")).unwrap_err();
    assert_eq!(fault, "transfers were refused: insufficient: purse");
}

#[test]
#[should_panic(expected = "collection strays is not declared")]
fn an_undeclared_collection_ends_the_test() {
    host().call(TestCall::post("/strays"));
}

/// So many notes of a million bytes each, looked at together.
fn look_at(notes: usize) -> TestAnswer {
    let host = host();
    let ids: Vec<String> = (0..notes).map(|nth| nth.to_string()).collect();
    for id in &ids {
        host.put_record("notes", id, &json!({"title": id, "text": "x".repeat(1_000_000)}));
    }
    host.call(TestCall::get(&format!("/all?ids={}", ids.join(","))))
}

#[test]
fn many_records_are_loaded_at_once() {
    assert_eq!(look_at(33).body, "33");
}

#[test]
#[should_panic(expected = "get-many loads at most 33554432 bytes at once")]
fn more_than_the_host_loads_at_once_ends_the_test() {
    look_at(34);
}

#[test]
fn an_answer_may_be_large() {
    assert_eq!(host().call(TestCall::get("/blank?bytes=8388608")).body.len(), 8 << 20);
}

#[test]
#[should_panic(expected = "an answer has at most 8388608 bytes: 8388609")]
fn an_answer_that_the_host_would_not_send_ends_the_test() {
    host().call(TestCall::get("/blank?bytes=8388609"));
}

#[test]
fn the_manifest_words_failures_with_a_place_for_the_request_id() {
    let manifest: serde_json::Value = serde_json::from_str(&NOTES.describe()).unwrap();
    let expected = json!({ "code": "BAD_JSON", "message": "That is not JSON", "request_id": "{request-id}" });
    assert_eq!(manifest["failures"]["malformed-request"]["body"], expected);
    assert_eq!(manifest["routes"][2]["open"], true);
}
