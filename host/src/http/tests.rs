//! HTTP over real sockets, with a fake in place of plugins. This file is the harness.
//!
//! - `requests`: one request and its response. `connections`: slow callers, shutdown, HTTP/2. `streams`: peers that
//!   hold or flood HTTP/2 connections. `encrypted`: TLS, and live keys over plain HTTP.

use std::{collections::BTreeMap, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::*;
use crate::budget::MemoryConfig;
use crate::{
    auth::{
        Keys,
        keys::NewKey,
        keys::tests::{MemoryStore, master_keys, new_key, sealing},
        oauth::tests::oauth,
    },
    budget::Budget,
    config::{Environment, HttpConfig, PluginConfig, PluginLimits},
    fair::Request,
    http::listener::{Paces, serve_at},
    limits::{HEADER_OVERHEAD_BYTES, HTTP2_SMALL_REQUESTS},
    manifest::Manifest,
    plugin::{
        error_bodies::ErrorBodies,
        exchange::{Answer, Content},
        routes::Mounted,
    },
};

mod connections;
mod encrypted;
mod requests;
mod streams;

const NOW: Timestamp = 1_800_000_000_000;

/// Selects the result of a call by its operation.
struct FakeBackend {
    budget: Arc<Budget>,
    table: Arc<RouteTable<&'static str>>,
    /// Notified when a slow call has begun. The call ends when `gate` is notified.
    begun: Arc<Notify>,
    gate: Arc<Notify>,
}

/// Number of headers of a response, each of 4 KiB with its overhead.
const LARGE_HEADERS: usize = 8;

/// More bytes than a socket buffers.
const LARGE_BYTES: usize = 32 << 20;

impl FakeBackend {
    /// Returns a large answer, charged like that of a plugin.
    async fn large(budget: &Budget) -> CallResponse {
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        let charge = budget.charge_call(&"acme/test".into(), Request::of(LARGE_BYTES as u64), until).await.unwrap();
        let charge = budget.keep_answer(charge, LARGE_BYTES as u64);
        let body = Bytes::from(vec![b' '; LARGE_BYTES]);
        let media_type = Some("application/json".to_owned());
        CallResponse::Whole(Answer { status: 200, headers: Vec::new(), media_type, body }, Some(charge))
    }

    /// Returns an answer with large headers and no body, charged like that of a plugin.
    async fn headers(budget: &Budget) -> CallResponse {
        let value = "x".repeat((4 << 10) - "x-0".len() - HEADER_OVERHEAD_BYTES);
        let headers = (0..LARGE_HEADERS).map(|number| (format!("x-{number}"), value.clone())).collect();
        let answer = Answer { status: 204, headers, media_type: None, body: Bytes::new() };
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        let charge = budget.charge_call(&"acme/test".into(), Request::of(1 << 20), until).await.unwrap();
        let charge = budget.keep_answer(charge, answer.charged_bytes());
        CallResponse::Whole(answer, Some(charge))
    }
}

impl Backend for FakeBackend {
    type Owner = &'static str;

    fn current(&self) -> Arc<RouteTable<&'static str>> {
        Arc::clone(&self.table)
    }

    fn may_be_absent(&self, _table: &RouteTable<&'static str>, _path: &str) -> bool {
        false
    }

    fn stream(&self, _feed: StreamRequest, _last_event_id: Option<String>) -> Option<mpsc::Receiver<Bytes>> {
        None
    }

    fn call(&self, admitted: Admitted<&'static str>) -> impl Future<Output = Result<CallResponse, HostError>> + Send {
        let (begun, gate) = (Arc::clone(&self.begun), Arc::clone(&self.gate));
        let budget = Arc::clone(&self.budget);
        async move {
            let headers = match admitted.route.declared.operation.as_str() {
                "large" => return Ok(FakeBackend::large(&budget).await),
                "headers" => return Ok(FakeBackend::headers(&budget).await),
                "broken" => vec![("x".to_owned(), "a\r\nb".to_owned())],
                "failing" => return Err(HostError::Unavailable),
                "slow" => {
                    begun.notify_one();
                    gate.notified().await;
                    Vec::new()
                }
                _ => vec![("x-note".to_owned(), "yes".to_owned()), ("server".to_owned(), "mine".to_owned())],
            };
            let media_type = Some("application/json".to_owned());
            Ok(CallResponse::Whole(Answer { status: 200, headers, media_type, body: echo(&admitted) }, None))
        }
    }
}

/// Returns the received call as JSON.
fn echo(admitted: &Admitted<&'static str>) -> Bytes {
    let content = match &admitted.content {
        Content::Empty => serde_json::Value::Null,
        Content::Json(text) => serde_json::json!(text),
        Content::Other { media_type, bytes } => serde_json::json!([media_type, String::from_utf8_lossy(bytes)]),
    };
    Bytes::from(
        serde_json::json!({
            "operation": admitted.route.declared.operation,
            "method": admitted.method.as_str(),
            "path": admitted.path,
            "parameters": admitted.parameters,
            "query": admitted.query,
            "raw_query": admitted.raw_query,
            "headers": admitted.headers,
            "content": content,
            "tenant": &*admitted.principal.tenant,
            "kind": admitted.principal.kind.name(),
            "context": admitted.context,
            "request_id": &*admitted.request_id,
        })
        .to_string(),
    )
}

#[derive(Default)]
struct RecordedRequests(Mutex<Vec<String>>);

impl RequestObserver<&'static str> for RecordedRequests {
    fn observe(&self, _owner: &&'static str, request: &ObservedRequest<'_>) {
        self.0
            .lock()
            .push(format!("{} {} {} {}", request.plugin, request.generation, request.operation, request.status));
    }
}

/// Configuration of the test host.
struct Setup {
    http: HttpConfig,
    memory: MemoryConfig,
    limits: PluginLimits,
    paces: Paces,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            http: HttpConfig::for_tests(),
            memory: MemoryConfig { budget_bytes: 1 << 30, tenant_percent: 50 },
            limits: PluginLimits::default(),
            paces: Paces::of_machine(),
        }
    }
}

struct TestServer {
    address: SocketAddr,
    budget: Arc<Budget>,
    connections: Arc<ConnectionCounts>,
    paces: Arc<Paces>,
    keys: Arc<Keys>,
    key: String,
    observed: Arc<RecordedRequests>,
    begun: Arc<Notify>,
    gate: Arc<Notify>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<ServeOutcome>,
}

impl TestServer {
    async fn start() -> TestServer {
        TestServer::start_with(Setup::default()).await
    }

    async fn start_with(setup: Setup) -> TestServer {
        let keys = Arc::new(Keys::new(Arc::new(MemoryStore::default()), master_keys(), sealing()));
        let key = keys.create(new_key("notes"), NOW).await.unwrap().text.to_string();
        let (begun, gate, observed) =
            (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(RecordedRequests::default()));
        let table = Arc::new(RouteTable::build(vec![notes(setup.limits)]).unwrap());
        let tls = setup.http.tls.as_ref().map(|files| Arc::new(tls::Tls::load(files).unwrap()));
        let (budget, connections) = (Budget::new(&setup.memory), Arc::new(ConnectionCounts::default()));
        let service = Service::new(ServiceParts {
            backend: FakeBackend { budget: budget.clone(), table, begun: Arc::clone(&begun), gate: Arc::clone(&gate) },
            keys: Arc::clone(&keys),
            oauth: Arc::new(oauth().await),
            metrics: observed.clone(),
            clock: Arc::new(|| NOW),
            settings: setup.http,
            budget: budget.clone(),
            tenant_percent: setup.memory.tenant_percent,
            connections: connections.clone(),
            environment: Environment::Production,
            link_base: Some("https://public.example".to_owned()),
            access_log: true,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let paces = Arc::new(setup.paces);
        let ended = tokio::spawn(serve_at(Arc::clone(&paces), (listener, tls), Arc::new(service), async move {
            let _ = stopped.await;
        }));
        TestServer { address, budget, connections, paces, keys, key, observed, begun, gate, stop, ended }
    }

    /// Sends a request with the key of the server on a new connection.
    async fn request(&self, line: &str, headers: &[&str], body: &str) -> RawResponse {
        let authorization = format!("authorization: Bearer {}", self.key);
        self.request_anonymously(line, &[&[authorization.as_str()], headers].concat(), body).await
    }

    async fn request_anonymously(&self, line: &str, headers: &[&str], body: &str) -> RawResponse {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = if body.is_empty() { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let text = format!("{line} HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n{headers}{length}\r\n{body}");
        RawResponse::parse(&self.send(text.as_bytes()).await)
    }

    /// Sends raw bytes and reads to the end. A timeout ends a test that hangs.
    async fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_to_end(&mut stream).await
    }
}

/// Reads to the end. A closed connection may end with a reset, so the bytes before it count.
async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut reply = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut reply)).await.expect("it hangs");
    reply
}

struct RawResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl RawResponse {
    fn parse(bytes: &[u8]) -> RawResponse {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").expect("no reply");
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| line.split_once(": ").map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap());
        RawResponse { status, headers: headers.collect(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

fn notes(limits: PluginLimits) -> Mounted<&'static str> {
    let manifest: Manifest = serde_json::from_value(serde_json::json!({
        "contract": "0.1", "name": "notes", "version": "1.0.0", "title": "Notes & <things>",
        "authentication": { "basic-user": true, "header": "x-api-key", "query": "api_key" },
        "routes": [
            { "operation": "list", "method": "GET", "path": "/v1/notes" },
            { "operation": "create", "method": "POST", "path": "/v1/notes", "body-bytes-max": 64,
              "headers": ["x-colour"], "context": ["base-url", "client-address", "idempotency-key"],
              "media-types": ["text/csv"] },
            { "operation": "upload", "method": "POST", "path": "/v1/files" },
            { "operation": "read", "method": "GET", "path": "/v1/notes/{id}" },
            { "operation": "scoped", "method": "GET", "path": "/v1/scoped", "scopes": ["admin"] },
            { "operation": "open", "method": "GET", "path": "/v1/open", "open": true },
            { "operation": "large", "method": "GET", "path": "/v1/large" },
            { "operation": "headers", "method": "GET", "path": "/v1/headers" },
            { "operation": "slow", "method": "GET", "path": "/v1/slow" },
            { "operation": "broken", "method": "GET", "path": "/v1/broken" },
            { "operation": "failing", "method": "GET", "path": "/v1/failing" },
        ],
        "failures": {
            "unauthenticated": { "status": 401, "body": { "error": "who are you? {request-id}" } },
            "unsupported-version": { "status": 400, "body": { "error": "no such version" } },
        },
        "openapi": { "openapi": "3.1.0", "info": { "title": "Notes", "version": "1" }, "paths": {
            "/v1/notes": { "post": { "summary": "Write a <b>note</b>", "requestBody": { "content": {
                "application/json": { "example": { "text": "it's" } } } }, "responses": { "200": { "description": "Done" } } } },
            "/v1/notes/{id}": { "get": { "parameters": [{ "$ref": "#/components/parameters/Id" }],
                "responses": { "404": { "$ref": "#/components/responses/None" } } } },
        }, "components": {
            "parameters": { "Id": { "name": "id", "in": "path", "description": "Which note" } },
            "responses": { "None": { "description": "No such note" } },
        } },
    }))
    .unwrap();
    let config = PluginConfig {
        component: "x.wasm".into(),
        mount: "/".into(),
        grants: Vec::new(),
        shows_private_keys: false,
        origin_headers: Vec::new(),
        examples: Vec::new(),
        limits,
        webhooks: Default::default(),
        tasks: Default::default(),
        destinations: BTreeMap::new(),
        settings: BTreeMap::new(),
    };
    Mounted {
        owner: "notes",
        plugin: "notes".into(),
        number: 7,
        error_bodies: Arc::new(ErrorBodies::compile(&manifest).unwrap()),
        manifest: Arc::new(manifest),
        config: Arc::new(config),
    }
}
