//! Test guest that violates each rule of the contract, with one route for each violation: `POST /v1/{operation}`. The
//! routes of `honest` violate no rule.
//!
//! Tests use it to verify the isolation of the host: other plugins are not slowed, no change is applied in part, and
//! every fault has an error body. It uses the contract in `wit/` without the SDK. [`ROUTES`] is the list.
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
/// The operation, which is also the last segment of its path, and its handler.
type Route = (&'static str, fn(&Request) -> Outcome);

/// The routes of all modules.
const ROUTES: &[&[Route]] =
    &[resources::ROUTES, floods::ROUTES, rules::ROUTES, answers::ROUTES, world::ROUTES, honest::ROUTES];

struct Misbehave;

impl Guest for Misbehave {
    fn describe() -> String {
        let routes: Vec<String> = ROUTES
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
        let route = ROUTES.iter().copied().flatten().find(|(name, _)| *name == request.operation);
        match route {
            Some((_, handler)) => handler(&request),
            None => Err(format!("misbehave has no operation {}", request.operation)),
        }
    }

    fn run(task: Task) -> Result<Verdict, String> {
        Err(format!("misbehave has no task {}", task.name))
    }
}

/// Returns a number of the query string: `?count=3`.
fn number(request: &Request, name: &str, default: u64) -> u64 {
    let parameter = request.query.iter().find(|pair| pair.name == name);
    parameter.and_then(|pair| pair.value.parse().ok()).unwrap_or(default)
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
