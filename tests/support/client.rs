//! An HTTP client for tests: functions for the common methods, JSON bodies, and responses with checks and accessors.

use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

type Inner = Client<HttpConnector, Full<Bytes>>;

/// A client, anonymous or with an API key or token.
#[derive(Clone)]
pub struct TestClient {
    inner: Inner,
    base: String,
    key: Option<String>,
}

#[must_use = "a response that is not checked proves nothing"]
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: http::HeaderMap,
    pub body: Bytes,
}

impl TestClient {
    pub fn new(base: &str, key: Option<&str>) -> TestClient {
        let inner = Client::builder(TokioExecutor::new()).pool_idle_timeout(Duration::from_secs(60)).build_http();
        TestClient { inner, base: base.to_owned(), key: key.map(str::to_owned) }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.json("POST", path, body).await
    }

    /// Posts an empty object. The returned future borrows nothing, so it can be spawned.
    pub fn post_empty(&self, path: &str) -> impl Future<Output = Response> + use<> {
        self.send("POST", path, &[("content-type", "application/json")], b"{}".to_vec())
    }

    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.json("PUT", path, body).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], Vec::new()).await
    }

    /// Posts with an idempotency key.
    pub async fn post_once(&self, path: &str, idempotency_key: &str, body: Value) -> Response {
        let headers = [("content-type", "application/json"), ("idempotency-key", idempotency_key)];
        self.send("POST", path, &headers, body.to_string().into_bytes()).await
    }

    async fn json(&self, method: &str, path: &str, body: Value) -> Response {
        self.send(method, path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
    }

    /// Sends any request. Panics if no response begins within a minute, because no test expects a missing response.
    #[track_caller]
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> impl Future<Output = Response> + use<> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).expect("a request that can be sent");
        let (client, name) = (self.inner.clone(), format!("{method} {path}"));
        async move {
            let response = tokio::time::timeout(Duration::from_secs(60), client.request(request)).await;
            let response = response.unwrap_or_else(|_| panic!("{name}: no response within a minute"));
            let (head, body) = response.unwrap_or_else(|error| panic!("{name}: {error}")).into_parts();
            let body = body.collect().await.unwrap_or_else(|error| panic!("{name}: {error}")).to_bytes();
            Response { status: head.status.as_u16(), headers: head.headers, body }
        }
    }
}

impl Response {
    /// Asserts the status. A failure prints the body.
    #[track_caller]
    pub fn expect(self, status: u16) -> Response {
        assert_eq!(self.status, status, "body: {}", self.text());
        self
    }

    /// Asserts the status and drops the response.
    #[track_caller]
    pub fn check(self, status: u16) {
        let _ = self.expect(status);
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the string at this JSON pointer.
    #[track_caller]
    pub fn text_at(&self, pointer: &str) -> String {
        let json = self.json();
        let found = json.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no string at {pointer}: {json}")).to_owned()
    }
}
