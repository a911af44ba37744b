//! Test guest that answers `GET /v1/greeting` with `settings.greeting` of its section, or null.
//!
//! Tests change the setting and check the next answer. It uses the contract in `wit/` without the SDK.
#![cfg(target_arch = "wasm32")]

use exports::tenon::plugin::handler::{Answer, Guest, Request, Task, Verdict};
use tenon::plugin::{
    config,
    types::{Content, Response},
};

wit_bindgen::generate!({ path: "../../../wit", world: "plugin", generate_all });
export!(Reader);

struct Reader;

impl Guest for Reader {
    fn describe() -> String {
        r#"{"contract":"0.1","name":"reader","version":"1.0.0",
            "routes":[{"operation":"greeting","method":"GET","path":"/v1/greeting","open":true}]}"#
            .to_owned()
    }

    fn handle(_: Request) -> Result<Answer, String> {
        let greeting = config::get("greeting").unwrap_or_else(|| "null".to_owned());
        let content = Content::Json(format!(r#"{{"greeting":{greeting}}}"#));
        Ok(Answer::Refuse(Response { status: 200, headers: Vec::new(), content }))
    }

    fn run(task: Task) -> Result<Verdict, String> {
        Err(format!("reader has no task {}", task.name))
    }
}
