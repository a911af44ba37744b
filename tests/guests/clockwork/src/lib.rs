//! Test guest with tasks, effects, questions, webhooks and a journal, which the requests of a test control.
//!
//! Each task stores its result in a record ("mark"), which tests read over HTTP. A mark counts its writes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenon_plugin::{
    Answer, Call, Collection, EventType, Outcome, Plugin, Stop, TaskOutcome, Verdict, delete,
    effects::{Effect, OutgoingCall, Response},
    get, json, post,
    subscriptions::{Endpoint, Signature},
    task,
    tasks::{FiredTask, Outcome as EffectOutcome},
};

pub static PLUGIN: Plugin = Plugin::new("clockwork", "1.0.0")
    .routes(&[
        post("/v1/alarms/{id}", "set-alarm", set_alarm),
        delete("/v1/alarms/{id}", "cancel-alarm", cancel_alarm),
        post("/v1/calls/{id}", "start-call", start_call),
        delete("/v1/calls/{id}", "cancel-call", cancel_call),
        post("/v1/effects/{id}", "run-effect", run_effect),
        get("/v1/marks/{id}", "show-mark", show_mark),
        post("/v1/questions/{id}", "ask", ask),
        post("/v1/hooks/{id}", "put-hook", put_hook),
        post("/v1/hooks/{id}/test", "test-hook", test_hook),
        post("/v1/lines/{id}", "write-line", write_line),
        post("/v1/broken/{id}", "break", break_down).on_fault("failed").on_deadline("failed").deadline_ms(1_000),
    ])
    .tasks(&[
        task("ring", ring).deadline_ms(2_000),
        task("ask", ring),
        task("hurry", ring).delays_ms(&[100]),
        task("called", called),
        task("failed", failed),
    ])
    .event_types(&[EventType::new("marked", "", "{}")])
    .collections(&[Collection::new("marks", &[])]);

tenon_plugin::export!(PLUGIN);

/// Body of a request for an alarm, and payload of its task.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct AlarmInput {
    #[serde(default)]
    in_ms: u64,
    /// Action of the task: "mark", "fail", "fail-first", "fail-but-last", "later", "again", "loop" or "ask". "hurry"
    /// fails in all runs but the last, and has its own delays.
    #[serde(default)]
    then: String,
    /// Number of runs of "again".
    #[serde(default)]
    times: u32,
    /// Time until which "later" postpones the task.
    #[serde(default)]
    until: u64,
}

/// Body of a request for an outgoing call or for questions.
#[derive(Clone, Debug, Deserialize)]
struct CallInput {
    destination: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    delays: Vec<u32>,
    #[serde(default)]
    start_in: Option<u64>,
    #[serde(default)]
    give_up_in: Option<u64>,
    #[serde(default)]
    timeout_ms: u32,
    /// Number of questions in each round.
    #[serde(default)]
    questions: u32,
    /// Number of rounds of questions.
    #[serde(default)]
    rounds: u32,
    /// Length of the body of each question. 0: no body.
    #[serde(default)]
    bytes: usize,
}

/// Body of a request for a webhook endpoint.
#[derive(Deserialize)]
struct HookInput {
    url: String,
    /// Header, algorithm and key of each signature.
    signatures: Vec<(String, String, String)>,
}

fn set_alarm(call: &Call) -> Outcome {
    schedule(call, call.parameter("id"))?;
    Ok(Answer::empty())
}

fn schedule(call: &Call, key: &str) -> Result<(), Stop> {
    let input: AlarmInput = call.json()?;
    // The task "ask" has the deadline of a call.
    let name = match input.then.as_str() {
        "ask" => "ask",
        "hurry" => "hurry",
        _ => "ring",
    };
    call.tasks().schedule(name, key, call.now().saturating_add(input.in_ms), &json::to_text(&input)?);
    Ok(())
}

fn cancel_alarm(call: &Call) -> Outcome {
    Ok(Answer::ok(call.tasks().cancel("ring", call.parameter("id")).to_string()))
}

fn ring(call: &Call, task: &FiredTask) -> TaskOutcome {
    let input: AlarmInput = call.json()?;
    match input.then.as_str() {
        "fail" => return Err(Stop::fault("broken on purpose")),
        "fail-first" if task.attempt == 1 => return Err(Stop::fault("broken on purpose")),
        "fail-but-last" | "hurry" if !task.last => return Err(Stop::fault("broken on purpose")),
        "later" if call.now() < input.until => return Ok(Verdict::Later(input.until)),
        "again" if input.times > 1 => {
            let next = AlarmInput { times: input.times - 1, ..input.clone() };
            call.tasks().schedule("ring", &task.key, call.now() + input.in_ms, &json::to_text(&next)?);
        }
        "loop" => loop {
            std::hint::black_box(&input);
        },
        "ask" => {
            let reply = call.ask_and_wait("q", &OutgoingCall::new("bank", "GET", "/price"))?;
            return mark(call, &task.key, &reply_json(&reply)).map(|()| Verdict::Done);
        }
        _ => {}
    }
    mark(call, &task.key, &json!({ "attempt": task.attempt, "last": task.last }))?;
    Ok(Verdict::Done)
}

fn start_call(call: &Call) -> Outcome {
    Ok(Answer::ok(start(call, call.parameter("id"))?.to_string()))
}

fn start(call: &Call, id: &str) -> Result<bool, Stop> {
    let input: CallInput = call.json()?;
    let outgoing = OutgoingCall::new(&input.destination, "POST", &["/calls/", id].concat())
        .json(json::to_text(&json!({ "id": id }))?)
        .timeout_ms(input.timeout_ms);
    let mut effect = Effect::new(outgoing, "called", id, "{}".to_owned()).delays_ms(&input.delays);
    if let Some(after) = input.start_in {
        effect = effect.start_at(call.now() + after);
    }
    if let Some(after) = input.give_up_in {
        effect = effect.give_up_at(call.now() + after);
    }
    Ok(call.effects().start(&effect))
}

/// Writes a mark, a task and an outgoing call in one commit, each with its own key.
fn run_effect(call: &Call) -> Outcome {
    let id = call.parameter("id");
    mark(call, id, &json!("asked"))?;
    schedule(call, &[id, "-rang"].concat())?;
    Ok(Answer::ok(start(call, &[id, "-called"].concat())?.to_string()))
}

fn cancel_call(call: &Call) -> Outcome {
    Ok(Answer::ok(call.effects().cancel("called", call.parameter("id")).to_string()))
}

fn called(call: &Call, task: &FiredTask) -> TaskOutcome {
    if task.key == "stubborn" && !task.last {
        return Err(Stop::fault("broken on purpose"));
    }
    if task.key == "again" && marked(call, &task.key)?.is_none() {
        let outgoing = OutgoingCall::new("bank", "POST", "/calls/again");
        if !call.effects().start(&Effect::new(outgoing, "called", &task.key, "{}".to_owned())) {
            return Err(Stop::fault("the effect cannot be started again"));
        }
    }
    let outcome = match &task.outcome {
        Some(EffectOutcome::Answered(response)) => json!({ "answered": response.status }),
        Some(EffectOutcome::NotSent(reason)) => json!({ "not-sent": reason }),
        Some(EffectOutcome::Unknown(reason)) => json!({ "unknown": reason }),
        None => return Err(Stop::fault("an effect without an outcome")),
    };
    mark(call, &task.key, &outcome)?;
    Ok(Verdict::Done)
}

/// Asks questions in rounds, then marks the replies.
fn ask(call: &Call) -> Outcome {
    let input: CallInput = call.json()?;
    let mut replies = Vec::new();
    for round in 0..input.rounds {
        let mut waits = false;
        for number in 0..input.questions {
            let path = format!("{}/{round}/{number}", input.path);
            let mut outgoing = OutgoingCall::new(&input.destination, "GET", &path).timeout_ms(input.timeout_ms);
            if input.bytes > 0 {
                outgoing = outgoing.json(format!("\"{}\"", "7".repeat(input.bytes)));
            }
            match call.ask(&format!("{round}.{number}"), &outgoing) {
                Some(reply) => replies.push(reply_json(&reply)),
                None => waits = true,
            }
        }
        if waits {
            return Err(Stop::Wait);
        }
    }
    mark(call, call.parameter("id"), &json!(replies))?;
    Ok(Answer::ok(json::to_text(&replies)?))
}

/// Appends the body to the journal. With `?refuse`, refuses afterwards.
fn write_line(call: &Call) -> Outcome {
    let sent: Value = call.json()?;
    call.journal(&json::to_text(&sent)?);
    match call.query("refuse") {
        Some(_) => Err(tenon_plugin::Refusal::new(409, "no", "No.").into()),
        None => mark(call, call.parameter("id"), &sent).map(|()| Answer::empty()),
    }
}

fn put_hook(call: &Call) -> Outcome {
    let HookInput { url, signatures } = call.json()?;
    let signature = |(header, algorithm, key): (String, String, String)| Signature {
        header,
        prefix: String::new(),
        algorithm,
        key,
    };
    call.subscriptions().put(&Endpoint {
        id: call.parameter("id").to_owned(),
        url,
        event_types: Vec::new(),
        subjects: Vec::new(),
        enabled: true,
        signatures: signatures.into_iter().map(signature).collect(),
        note: "{}".to_owned(),
    })?;
    Ok(Answer::ok(json::to_text(&call.subscriptions().secret(call.parameter("id")))?))
}

fn test_hook(call: &Call) -> Outcome {
    let sent = call.subscriptions().send_test(call.parameter("id"), "marked", "{\"tested\":true}");
    Ok(Answer::ok(json::to_text(&sent)?))
}

fn reply_json(reply: &Result<Response, String>) -> Value {
    match reply {
        Ok(response) => json!(response.status),
        Err(reason) => json!(reason),
    }
}

fn break_down(call: &Call) -> Outcome {
    match call.query("how") {
        Some("loop") => loop {
            std::hint::black_box(call);
        },
        Some("refuse") => Err(tenon_plugin::Refusal::new(409, "no", "No.").into()),
        _ => Err(Stop::fault("broken on purpose")),
    }
}

/// Marks the payload of the task under the `{id}` of the failed request's path.
fn failed(call: &Call, task: &FiredTask) -> TaskOutcome {
    let payload: Value = call.json()?;
    let id = payload.pointer("/parameters/0/1").and_then(Value::as_str).unwrap_or(&task.key);
    mark(call, id, &payload)?;
    Ok(Verdict::Done)
}

fn show_mark(call: &Call) -> Outcome {
    match call.records("marks").get(call.parameter("id")) {
        Some(entry) => Ok(Answer::ok(entry.body)),
        None => Ok(Answer::new(404, "{}".to_owned())),
    }
}

fn marked(call: &Call, id: &str) -> Result<Option<Value>, Stop> {
    let found = call.records("marks").get(id);
    found.map(|entry| serde_json::from_str(&entry.body).map_err(|error| Stop::fault(error.to_string()))).transpose()
}

/// Writes a mark. Its `count` is the number of writes, so that a test detects a repetition.
fn mark(call: &Call, id: &str, what: &Value) -> Result<(), Stop> {
    let before = marked(call, id)?;
    let count = before.as_ref().and_then(|mark| mark.get("count")).and_then(Value::as_u64).unwrap_or(0);
    let body = json::to_text(&json!({ "count": count + 1, "what": what, "at": call.now() }))?;
    match before {
        Some(_) => call.records("marks").replace(id, &body)?,
        None => call.records("marks").insert(id, &body)?,
    }
    call.emit("marked", id, &body);
    Ok(())
}
