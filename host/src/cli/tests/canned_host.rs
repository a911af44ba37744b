//! A server with fixed responses, in place of a host.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    admin::{AdminError, token},
    cli::{CliError, Outcome},
};

/// JSON with the status 200, or an error.
pub type CannedResponse = Result<Value, AdminError>;

pub struct CannedHost {
    folder: TempDir,
    address: String,
    script: Arc<Script>,
}

struct Script {
    authorization: String,
    /// By method and path: "GET /v1/keys".
    responses: HashMap<&'static str, CannedResponse>,
    /// Method, path with query, and body of the received requests.
    requests: Mutex<Vec<String>>,
}

/// Returns a response with the JSON of the value.
pub fn ok(value: impl Serialize) -> CannedResponse {
    Ok(serde_json::to_value(value).unwrap())
}

impl CannedHost {
    /// Starts a server on its own thread. `responses` are selected by method and path, without the query.
    pub fn start<const N: usize>(responses: [(&'static str, CannedResponse); N]) -> CannedHost {
        let folder = tempfile::tempdir().unwrap();
        let token = token::load_or_create(folder.path()).unwrap();
        let authorization = format!("Bearer {}", token.expose());
        let script =
            Arc::new(Script { authorization, responses: HashMap::from(responses), requests: Mutex::default() });
        let router: Router = Router::new().fallback(respond).with_state(Arc::clone(&script));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await.unwrap()
            });
        });
        CannedHost { folder, address, script }
    }

    /// Runs a command that sends its requests to this server.
    pub fn run(&self, line: &str) -> Result<Outcome, CliError> {
        super::run(line, self.folder.path(), &self.address)
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn run_ok(&self, line: &str) -> String {
        let Outcome { text, success } = self.run(line).unwrap();
        assert!(success, "{line}: {text}");
        text
    }

    /// Runs a command that must fail, and returns its error.
    pub fn run_err(&self, line: &str) -> String {
        self.run(line).unwrap_err().to_string()
    }

    /// Returns the received requests: "POST /v1/keys?a=b {…}".
    pub fn requests(&self) -> Vec<String> {
        self.script.requests.lock().clone()
    }
}

async fn respond(State(script): State<Arc<Script>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let received = format!("{} {} {}", head.method, head.uri, String::from_utf8_lossy(&body));
    script.requests.lock().push(received.trim_end().to_owned());
    let authorization = head.headers.get(header::AUTHORIZATION);
    if authorization.is_none_or(|value| value.as_bytes() != script.authorization.as_bytes()) {
        let message = "The request does not have the operators' token.";
        return AdminError::new(StatusCode::UNAUTHORIZED, "unauthenticated", message, "").into_response();
    }
    let line = format!("{} {}", head.method, head.uri.path());
    let response = script.responses.get(&*line).cloned();
    let response = response.unwrap_or_else(|| Err(AdminError::failed(format!("The test has no response to {line}."))));
    response.map(Json).into_response()
}
