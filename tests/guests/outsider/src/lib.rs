//! Test guest that imports a ledger and credentials without a grant.
//!
//! The host must not load it, and its error has to name both interfaces. Its handler is valid.
#![cfg(target_arch = "wasm32")]

use exports::tenon::plugin::handler::{Answer, Guest, Request, Task, Verdict};
use tenon::plugin::{
    credentials, ledger,
    types::{Content, Response},
};

wit_bindgen::generate!({ path: "../../../wit", world: "plugin", generate_all });
export!(Outsider);

struct Outsider;

impl Guest for Outsider {
    fn describe() -> String {
        r#"{"contract":"0.1","name":"outsider","version":"1.0.0",
            "routes":[{"operation":"take","method":"POST","path":"/v1/take"}]}"#
            .to_owned()
    }

    fn handle(request: Request) -> Result<Answer, String> {
        credentials::revoke(&request.id);
        let body = format!(r#"{{"balance":"{}"}}"#, ledger::balance("till", "EUR"));
        Ok(Answer::Commit(Response { status: 200, headers: Vec::new(), content: Content::Json(body) }))
    }

    fn run(_: Task) -> Result<Verdict, String> {
        Ok(Verdict::Done)
    }
}
