//! Minimal plugin: it greets by name and counts the greetings. It requires the grant "records".

use tenon_plugin::records::RecordRefusal;
use tenon_plugin::{Answer, Call, Collection, Outcome, Plugin, Refusal, get, json, post};

pub static PLUGIN: Plugin = Plugin::new("hello", env!("CARGO_PKG_VERSION"))
    .title("Greets by name and counts the greetings")
    .routes(&[
        get("/hello/{name}", "say-hello", say_hello),
        post("/hello/{name}/greetings", "count-greeting", count_greeting),
    ])
    .collections(&[Collection::new("greetings", &[])]);

tenon_plugin::export!(PLUGIN);

fn say_hello(call: &Call) -> Outcome {
    let text = ["Hello, ", call.parameter("name"), "!"].concat();
    Ok(Answer::ok(json::to_text(&serde_json::json!({ "text": text }))?))
}

/// Adds one to the count, which is the body of a record. If two calls conflict, the host runs the second one again, so
/// that both count.
fn count_greeting(call: &Call) -> Outcome {
    let (name, greetings) = (call.parameter("name"), call.records("greetings"));
    if name.len() > 100 {
        return Err(Refusal::new(422, "name-too-long", "`name` must have at most 100 bytes.").into());
    }
    let count = match greetings.get(name) {
        Some(entry) => json::from_text::<u64>(&entry.body)? + 1,
        None => 1,
    };
    let body = json::to_text(&count)?;
    match greetings.replace(name, &body) {
        Err(RecordRefusal::NotFound) => greetings.insert(name, &body)?,
        outcome => outcome?,
    }
    Ok(Answer::ok(json::to_text(&serde_json::json!({ "name": name, "greetings": count }))?))
}

#[cfg(test)]
mod tests {
    use super::PLUGIN;
    use tenon_plugin::test_kit::{TestCall, TestHost};

    #[test]
    fn greets_by_name() {
        let answer = TestHost::new(&PLUGIN).call(TestCall::get("/hello/Ada"));
        assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"text":"Hello, Ada!"}"#));
    }

    #[test]
    fn every_greeting_counts() {
        let host = TestHost::new(&PLUGIN);
        host.call(TestCall::post("/hello/Ada/greetings"));
        let second = host.call(TestCall::post("/hello/Ada/greetings"));
        assert_eq!(second.json()["greetings"], 2);
    }
}
