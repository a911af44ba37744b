//! Tests of timers, effects and questions in memory.

use serde_json::json;

use crate::effects::{Effect, OutgoingCall};
use crate::tasks::{FiredTask, Outcome, TaskOutcome, Verdict, task};
use crate::test_kit::{TASK_RUNS_MAX, TestCall, TestHost, response};
use crate::{Answer, Call, Collection, Content, Outcome as HandlerResult, Plugin, Stop, delete, get, json, post};

static CLOCKS: Plugin = Plugin::new("clocks", "0.1.0")
    .routes(&[
        post("/alarms/{id}", "set", set),
        delete("/alarms/{id}", "cancel", cancel),
        post("/payments/{id}", "pay", pay),
        delete("/payments/{id}", "stop", stop),
        get("/prices/{id}", "price", price),
        get("/endless", "endless", endless),
        post("/orders/{id}", "order", order),
        get("/callers", "caller", caller),
    ])
    .tasks(&[task("ring", ring), task("paid", paid), task("fail", fail)])
    .collections(&[Collection::new("alarms", &[])]);

fn set(call: &Call) -> HandlerResult {
    call.tasks().schedule("ring", call.parameter("id"), call.now() + 1_000, r#"{"tone":"high"}"#);
    Ok(Answer::empty())
}

fn cancel(call: &Call) -> HandlerResult {
    Ok(Answer::ok(call.tasks().cancel("ring", call.parameter("id")).to_string()))
}

fn ring(call: &Call, task: &FiredTask) -> TaskOutcome {
    let payload: serde_json::Value = call.json()?;
    let body = json::to_text(&json!({ "tone": payload["tone"], "attempt": task.attempt }))?;
    call.records("alarms").insert(&task.key, &body)?;
    Ok(Verdict::Done)
}

fn pay(call: &Call) -> HandlerResult {
    let outgoing = OutgoingCall::new("bank", "POST", "/payments").json("{}".to_owned());
    let effect = Effect::new(outgoing, "paid", call.parameter("id"), "{}".to_owned()).delays_ms(&[100]);
    Ok(Answer::ok(call.effects().start(&effect).to_string()))
}

fn stop(call: &Call) -> HandlerResult {
    Ok(Answer::ok(call.effects().cancel("paid", call.parameter("id")).to_string()))
}

fn paid(call: &Call, task: &FiredTask) -> TaskOutcome {
    let Some(Outcome::Answered(answer)) = &task.outcome else { return Ok(Verdict::Later(call.now() + 60_000)) };
    call.records("alarms").insert(&task.key, &answer.status.to_string())?;
    Ok(Verdict::Done)
}

fn fail(_: &Call, task: &FiredTask) -> TaskOutcome {
    if task.last { Ok(Verdict::Done) } else { Err(Stop::fault("broken")) }
}

fn price(call: &Call) -> HandlerResult {
    let outgoing = OutgoingCall::new("shop", "GET", "/price");
    match call.ask_and_wait(call.parameter("id"), &outgoing)? {
        Ok(response) => Ok(Answer::ok(response.status.to_string())),
        Err(reason) => Ok(Answer::new(502, json::to_text(&reason)?)),
    }
}

/// Answers with the id that the question contained and the id that the round after the reply generates.
fn order(call: &Call) -> HandlerResult {
    let generated = call.uuid();
    let outgoing = OutgoingCall::new("shop", "POST", &["/", &generated].concat());
    let response = call.ask_and_wait("order", &outgoing)?.map_err(Stop::fault)?;
    let Content::Json(text) = response.content else { return Err(Stop::fault("the response is not JSON")) };
    let body: serde_json::Value = json::from_text(&text)?;
    let sent = body["path"].as_str().unwrap_or_default().trim_start_matches('/');
    Ok(Answer::ok(json::to_text(&json!({ "sent": sent, "generated": generated }))?))
}

fn caller(call: &Call) -> HandlerResult {
    let principal = call.principal();
    Ok(Answer::ok(json::to_text(&[&principal.kind, &principal.subject])?))
}

fn endless(call: &Call) -> HandlerResult {
    for key in ["a", "b", "c", "d", "e"] {
        call.ask_and_wait(key, &OutgoingCall::new("shop", "GET", "/price"))?.map_err(Stop::fault)?;
    }
    Ok(Answer::empty())
}

fn host() -> TestHost {
    TestHost::new(&CLOCKS)
}

#[test]
fn task_runs_once_when_it_is_due() {
    let host = host();
    host.call(TestCall::post("/alarms/a"));
    assert_eq!((host.run_due(), host.tasks().len()), (0, 1));
    host.advance_ms(1_000);
    assert_eq!((host.run_due(), host.tasks().len(), host.run_due()), (1, 0, 0));
    assert_eq!(host.record("alarms", "a"), Some(json!({ "tone": "high", "attempt": 1 })));
}

#[test]
fn cancelled_task_does_not_run() {
    let host = host();
    host.call(TestCall::post("/alarms/a"));
    assert_eq!(host.call(TestCall::delete("/alarms/a")).body, "true");
    host.advance_ms(1_000);
    assert_eq!(host.run_due(), 0);
}

#[test]
fn last_retry_of_a_task_is_marked() {
    let host = host();
    host.put_task("fail", "a", 0, "{}");
    let mut faults = 0;
    while let Some(run) = host.run_one() {
        faults += u32::from(run.is_err());
        host.advance_ms(1_000);
    }
    assert_eq!(faults, TASK_RUNS_MAX - 1);
}

#[test]
fn effect_is_started_once_and_its_outcome_is_passed_to_its_task() {
    let host = host();
    assert_eq!(host.call(TestCall::post("/payments/p")).body, "true");
    assert_eq!(host.call(TestCall::post("/payments/p")).body, "false");
    assert_eq!(host.effects()[0].effect.call.path, "/payments");
    host.settle("paid", "p", Outcome::Answered(response(202, &json!({}))));
    assert_eq!((host.run_due(), host.record("alarms", "p")), (1, Some(json!(202))));
}

#[test]
fn effect_can_be_cancelled_before_its_first_attempt() {
    let host = host();
    host.call(TestCall::post("/payments/p"));
    assert_eq!(host.call(TestCall::delete("/payments/p")).body, "true");
    host.call(TestCall::post("/payments/p"));
    host.attempt("paid", "p");
    assert_eq!(host.call(TestCall::delete("/payments/p")).body, "false");
    assert!(host.effects()[0].attempted);
}

#[test]
fn question_is_answered_in_a_second_round() {
    let host = host().answers(|call| match call.path.as_str() {
        "/price" => Ok(response(200, &json!({ "price": "5" }))),
        _ => Err("dns".to_owned()),
    });
    assert_eq!(host.call(TestCall::get("/prices/a")).body, "200");
}

#[test]
fn every_round_of_a_call_generates_the_same_ids() {
    let host = host().answers(|call| Ok(response(200, &json!({ "path": call.path }))));
    let answer = host.call(TestCall::post("/orders/a"));
    let [sent, generated] = ["sent", "generated"].map(|name| answer.json()[name].clone());
    assert_eq!(sent, generated);
    assert_ne!(host.call(TestCall::post("/orders/a")).json()["generated"], generated);
}

#[test]
fn principal_of_a_calling_plugin_has_the_kind_plugin() {
    let host = host();
    assert_eq!(host.call(TestCall::get("/callers")).json(), json!(["api-key", "key_test"]));
    assert_eq!(host.call(TestCall::get("/callers").plugin("books")).json(), json!(["plugin", "plugin:books"]));
    let linked = host.call(TestCall::get("/callers").plugin_for_organization("books", "acme"));
    assert_eq!(linked.json(), json!(["plugin", "plugin:books@acme"]));
}

#[test]
#[should_panic(expected = "waits for the 4th time")]
fn number_of_rounds_is_limited() {
    host().answers(|_| Ok(response(200, &json!({})))).call(TestCall::get("/endless"));
}
