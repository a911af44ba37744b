//! A guest that breaks every rule that a plugin can break: one route for each, `POST /v1/{operation}`.
//!
//! Tests point at it to see that the host holds: nobody else is slowed, nothing is half applied, every end has its
//! wording. Knows only the contract in `wit/`, not the SDK. [`MISDEEDS`] is the list.
#![cfg(target_arch = "wasm32")]

use exports::tenon::plugin::handler::{Answer, Guest, Request, Task, Verdict};
use tenon::plugin::types::{Content, Response};

mod answers;
mod floods;
mod honest;
mod resources;
mod rules;
mod world;

wit_bindgen::generate!({ path: "../../../wit", world: "plugin", generate_all });
export!(Misbehave);

type Outcome = Result<Answer, String>;
/// The operation, which is the last segment of its path too, and what it does.
type Misdeed = (&'static str, fn(&Request) -> Outcome);

/// All of them, by room.
const MISDEEDS: &[&[Misdeed]] =
    &[resources::MISDEEDS, floods::MISDEEDS, rules::MISDEEDS, answers::MISDEEDS, world::MISDEEDS, honest::ROUTES];

struct Misbehave;

impl Guest for Misbehave {
    fn describe() -> String {
        let routes: Vec<String> = MISDEEDS
            .iter()
            .copied()
            .flatten()
            .map(|(name, _)| format!(r#"{{"operation":"{name}","method":"POST","path":"/v1/{name}"}}"#))
            .collect();
        format!(
            r#"{{"contract":"0.1","name":"misbehave","version":"1.0.0","routes":[{}],
                "collections":[{{"name":"things","indexes":[
                    {{"name":"by-colour","fields":["colour"]}},
                    {{"name":"by-label","fields":["label"],"unique":true}}]}}],
                "event-types":[{{"name":"thing.changed"}}]}}"#,
            routes.join(",")
        )
    }

    fn handle(request: Request) -> Outcome {
        let misdeed = MISDEEDS.iter().copied().flatten().find(|(name, _)| *name == request.operation);
        match misdeed {
            Some((_, run)) => run(&request),
            None => Err(format!("misbehave knows no operation {}", request.operation)),
        }
    }

    fn run(task: Task) -> Result<Verdict, String> {
        Err(format!("misbehave knows no task {}", task.name))
    }
}

/// A number of the query string: `?count=3`.
fn number(request: &Request, name: &str, default: u64) -> u64 {
    let asked = request.query.iter().find(|pair| pair.name == name);
    asked.and_then(|pair| pair.value.parse().ok()).unwrap_or(default)
}

fn response(status: u16, json: impl Into<String>) -> Response {
    Response { status, headers: Vec::new(), content: Content::Json(json.into()) }
}

fn commit(json: impl Into<String>) -> Outcome {
    Ok(Answer::Commit(response(200, json)))
}

fn refuse(status: u16, json: impl Into<String>) -> Outcome {
    Ok(Answer::Refuse(response(status, json)))
}
