//! Timers, effects and questions of the host in memory.

use serde_json::json;

use crate::effects::{Effect, OutgoingCall};
use crate::tasks::{FiredTask, Outcome, TaskOutcome, Verdict, task};
use crate::test_kit::{TASK_RUNS_MAX, TestCall, TestHost, response};
use crate::{Answer, Call, Collection, Content, Outcome as Answered, Plugin, Stop, delete, get, json, post};

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

fn set(call: &Call) -> Answered {
    call.tasks().schedule("ring", call.parameter("id"), call.now() + 1_000, r#"{"tone":"high"}"#);
    Ok(Answer::empty())
}

fn cancel(call: &Call) -> Answered {
    Ok(Answer::ok(call.tasks().cancel("ring", call.parameter("id")).to_string()))
}

fn ring(call: &Call, task: &FiredTask) -> TaskOutcome {
    let payload: serde_json::Value = call.json()?;
    let body = json::to_text(&json!({ "tone": payload["tone"], "attempt": task.attempt }))?;
    call.records("alarms").insert(&task.key, &body)?;
    Ok(Verdict::Done)
}

fn pay(call: &Call) -> Answered {
    let outgoing = OutgoingCall::new("bank", "POST", "/payments").json("{}".to_owned());
    let effect = Effect::new(outgoing, "paid", call.parameter("id"), "{}".to_owned()).delays_ms(&[100]);
    Ok(Answer::ok(call.effects().start(&effect).to_string()))
}

fn stop(call: &Call) -> Answered {
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

fn price(call: &Call) -> Answered {
    let outgoing = OutgoingCall::new("shop", "GET", "/price");
    match call.ask_and_wait(call.parameter("id"), &outgoing)? {
        Ok(reply) => Ok(Answer::ok(reply.status.to_string())),
        Err(why) => Ok(Answer::new(502, json::to_text(&why)?)),
    }
}

/// The id that was asked about, and the one that is drawn when there is a reply.
fn order(call: &Call) -> Answered {
    let drawn = call.uuid();
    let outgoing = OutgoingCall::new("shop", "POST", &["/", &drawn].concat());
    let reply = call.ask_and_wait("order", &outgoing)?.map_err(Stop::fault)?;
    let Content::Json(text) = reply.content else { return Err(Stop::fault("no reply")) };
    let asked: serde_json::Value = json::from_text(&text)?;
    let asked = asked["path"].as_str().unwrap_or_default().trim_start_matches('/');
    Ok(Answer::ok(json::to_text(&json!({ "asked": asked, "drawn": drawn }))?))
}

fn caller(call: &Call) -> Answered {
    let principal = call.principal();
    Ok(Answer::ok(json::to_text(&[&principal.kind, &principal.subject])?))
}

fn endless(call: &Call) -> Answered {
    for key in ["a", "b", "c", "d", "e"] {
        call.ask_and_wait(key, &OutgoingCall::new("shop", "GET", "/price"))?.map_err(Stop::fault)?;
    }
    Ok(Answer::empty())
}

fn host() -> TestHost {
    TestHost::new(&CLOCKS)
}

#[test]
fn a_task_runs_once_when_it_is_due_and_not_before() {
    let host = host();
    host.call(TestCall::post("/alarms/a"));
    assert_eq!((host.run_due(), host.tasks().len()), (0, 1));
    host.advance_ms(1_000);
    assert_eq!((host.run_due(), host.tasks().len(), host.run_due()), (1, 0, 0));
    assert_eq!(host.record("alarms", "a"), Some(json!({ "tone": "high", "attempt": 1 })));
}

#[test]
fn a_cancelled_task_does_not_run() {
    let host = host();
    host.call(TestCall::post("/alarms/a"));
    assert_eq!(host.call(TestCall::delete("/alarms/a")).body, "true");
    host.advance_ms(1_000);
    assert_eq!(host.run_due(), 0);
}

#[test]
fn a_task_that_faults_is_marked_as_the_last_in_the_end() {
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
fn an_effect_is_started_once_and_its_outcome_told() {
    let host = host();
    assert_eq!(host.call(TestCall::post("/payments/p")).body, "true");
    assert_eq!(host.call(TestCall::post("/payments/p")).body, "false");
    assert_eq!(host.effects()[0].effect.call.path, "/payments");
    host.settle("paid", "p", Outcome::Answered(response(202, &json!({}))));
    assert_eq!((host.run_due(), host.record("alarms", "p")), (1, Some(json!(202))));
}

#[test]
fn an_effect_is_taken_back_until_an_attempt_of_it_has_begun() {
    let host = host();
    host.call(TestCall::post("/payments/p"));
    assert_eq!(host.call(TestCall::delete("/payments/p")).body, "true");
    host.call(TestCall::post("/payments/p"));
    host.attempt("paid", "p");
    assert_eq!(host.call(TestCall::delete("/payments/p")).body, "false");
    assert!(host.effects()[0].attempted);
}

#[test]
fn a_question_is_answered_in_a_second_round() {
    let host = host().answers(|call| match call.path.as_str() {
        "/price" => Ok(response(200, &json!({ "price": "5" }))),
        _ => Err("dns".to_owned()),
    });
    assert_eq!(host.call(TestCall::get("/prices/a")).body, "200");
}

#[test]
fn every_round_of_a_call_draws_the_same_ids() {
    let host = host().answers(|call| Ok(response(200, &json!({ "path": call.path }))));
    let answer = host.call(TestCall::post("/orders/a"));
    let [asked, drawn] = ["asked", "drawn"].map(|name| answer.json()[name].clone());
    assert_eq!(asked, drawn);
    assert_ne!(host.call(TestCall::post("/orders/a")).json()["drawn"], drawn);
}

#[test]
fn a_plugin_that_calls_is_told_from_a_key() {
    let host = host();
    assert_eq!(host.call(TestCall::get("/callers")).json(), json!(["api-key", "key_test"]));
    assert_eq!(host.call(TestCall::get("/callers").plugin("books")).json(), json!(["plugin", "plugin:books"]));
    let visitor = host.call(TestCall::get("/callers").plugin_of("books", "acme"));
    assert_eq!(visitor.json(), json!(["plugin", "plugin:books@acme"]));
}

#[test]
#[should_panic(expected = "waits for the 4th time")]
fn rounds_are_bounded() {
    host().answers(|_| Ok(response(200, &json!({})))).call(TestCall::get("/endless"));
}
