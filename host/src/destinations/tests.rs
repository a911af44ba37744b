use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::Arc,
    time::Duration,
};

use axum::{Router, extract::State};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use tokio::net::TcpListener;

use super::*;
use crate::outbound::OutboundConfig;
use crate::{
    changes::{destination::Destination, outgoing::OutgoingContent},
    commit::testing::{Bench, scope},
    config::DestinationKind,
    outbound::{
        AddressRule, BodyEnd, ClientAuthentication, Login, Lookup, OAuthClient, OutboundResponse, Party, Resolve, Roots,
    },
    secrets::{SealingRoot, SecretText, SigningRoot},
};

mod kinds;
mod oauth;
mod outcomes;

const TENANT: &str = "acme/test";
const SECRET: &str = "hunter2";

/// How a test server handles one request.
#[derive(Clone)]
enum ServerResponse {
    With(u16, &'static str),
    Body(u16, &'static str, Vec<u8>),
    Never,
}

#[derive(Clone, Debug)]
struct ReceivedRequest {
    method: String,
    path: String,
    headers: HeaderMap,
    body: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A server with scripted responses. When none is left, it responds 200 with `{}`.
#[derive(Clone)]
struct Server {
    url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    responses: Arc<Mutex<VecDeque<ServerResponse>>>,
}

async fn serve(State(server): State<Server>, request: axum::extract::Request) -> axum::response::Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    server.received.lock().push(ReceivedRequest {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    let response = server.responses.lock().pop_front().unwrap_or(ServerResponse::With(200, "{}"));
    let (status, media_type, body) = match response {
        ServerResponse::With(status, body) => (status, "application/json", body.as_bytes().to_vec()),
        ServerResponse::Body(status, media_type, body) => (status, media_type, body),
        ServerResponse::Never => std::future::pending().await,
    };
    let response = http::Response::builder().status(status).header("content-type", media_type);
    response.header("location", "/elsewhere").header("set-cookie", "a=b").body(Bytes::from(body).into()).unwrap()
}

impl Server {
    async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server { url, received: Arc::default(), responses: Arc::default() };
        let router = Router::new().fallback(serve).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    fn respond_with(&self, responses: impl IntoIterator<Item = ServerResponse>) {
        self.responses.lock().extend(responses);
    }

    fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().clone()
    }
}

/// Returns an address that nothing listens on.
async fn closed_address() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap())
}

/// A resolver without any names.
struct NoNames;

impl Resolve for NoNames {
    fn lookup<'a>(&'a self, _party: &'a Party, _name: &'a str) -> Lookup<'a> {
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

type Operators = Arc<Mutex<HashMap<String, Arc<DestinationConfig>>>>;
/// Calls between plugins: caller, target plugin, target tenant.
type PluginCallLog = Arc<Mutex<Vec<[String; 3]>>>;

struct Fixture {
    bench: Bench,
    destinations: Destinations,
    operators: Operators,
    /// Calls to plugins of this host, which respond 204 to every request.
    plugin_call_log: PluginCallLog,
}

impl Fixture {
    /// Opens a fixture in which tenants may call only public addresses. `with_rule` permits others.
    async fn open() -> Fixture {
        Fixture::with_rule(AddressRule::default()).await
    }

    async fn with_rule(test: AddressRule) -> Fixture {
        let bench = Bench::open().await;
        let operators = Operators::default();
        let configured = operators.clone();
        let plugin_call_log = PluginCallLog::default();
        let destinations = Destinations::new(Parts {
            client: Arc::new(Client::new(Roots::built_in(), Arc::new(NoNames)).unwrap()),
            outbound_context: Arc::new(OutboundContext {
                signing: SigningRoot::new(Default::default()),
                sealing: Arc::new(SealingRoot::new(Default::default())),
                addresses: OutboundConfig { test, ..OutboundConfig::default() },
            }),
            database: bench.database.clone(),
            clock: Clock::manual(1_000),
            chains: Default::default(),
            plugin_calls: plugin_calls(plugin_call_log.clone()),
            operator_destinations: Arc::new(move |plugin, name| {
                (plugin == "notes").then(|| configured.lock().get(name).cloned())?
            }),
        });
        Fixture { bench, destinations, operators, plugin_call_log }
    }

    fn configure(&self, name: &str, config: DestinationConfig) {
        self.operators.lock().insert(name.to_owned(), Arc::new(config));
    }

    /// Configures the operator's destination "bank".
    fn bank(&self, url: &str, login: Login) {
        self.configure("bank", server(url, login));
    }

    /// Stores a tenant's destination as its plugin would.
    async fn put(&self, name: &str, url: &str, token: &str) {
        let (scope, owned_name) = (scope(TENANT), name.to_owned());
        let address = (url.to_owned(), "bearer".to_owned());
        let secrets = [("token".to_owned(), SecretText::new(token.to_owned()))];
        let root = SealingRoot::new(Default::default());
        let made = Destination::new((&scope, &owned_name), address, &[], &secrets, &root).unwrap();
        let put = self.bench.run(async |draft| draft.put_destination(name, &made).await.map(|done| done.unwrap()));
        put.await.unwrap();
    }

    async fn call(&self, call: &OutgoingCall) -> Result<OutgoingResponse, DestinationCallError> {
        self.call_as(TENANT, call, Some("effect_1")).await
    }

    async fn call_as(
        &self,
        tenant: &str,
        call: &OutgoingCall,
        key: Option<&str>,
    ) -> Result<OutgoingResponse, DestinationCallError> {
        let called = self.destinations.call(&scope(tenant), call, key, Duration::from_secs(20)).await;
        if let Err(error) = &called {
            let text = format!("{error} {error:?}");
            assert!(!text.contains(SECRET) && !text.contains("things"), "no secret and no path: {text}");
        }
        called
    }
}

fn plugin_calls(plugin_call_log: PluginCallLog) -> PluginCalls {
    let plugin_calls = PluginCalls::default();
    plugin_calls.set_handler(Box::new(move |from, target, _| {
        let caller = format!("{} of {}", from.plugin(), from.tenant());
        plugin_call_log.lock().push([caller, target.plugin.to_string(), target.tenant.to_string()]);
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        let answer =
            OutboundResponse { status: StatusCode::NO_CONTENT, headers, body, end: BodyEnd::Whole, duration_ms: 0 };
        Box::pin(async move { Some(answer) })
    }));
    plugin_calls
}

/// Returns the configuration of a plugin of this host, called for `organization`, or for the caller's if it is `None`.
fn plugin(name: &str, organization: Option<&str>) -> DestinationConfig {
    let kind = DestinationKind::Plugin { name: name.into(), organization: organization.map(Into::into) };
    DestinationConfig { kind, ..server("", Login::None) }
}

fn server(url: &str, login: Login) -> DestinationConfig {
    let kind = DestinationKind::Server { base_url: url.to_owned(), login };
    DestinationConfig { kind, timeout_ms: None, test: true, live: true, tenants: Vec::new() }
}

fn secret(text: &str) -> SecretText {
    SecretText::new(text.to_owned())
}

fn to(destination: &str) -> OutgoingCall {
    OutgoingCall {
        destination: destination.into(),
        method: "POST".into(),
        path: "/things?a=b".into(),
        headers: vec![("x-own".into(), "c".into())],
        content: OutgoingContent::Json("{\"n\":1}".into()),
        timeout_ms: 0,
        hops: 0,
    }
}

fn failed(called: Result<OutgoingResponse, DestinationCallError>) -> (Certainty, &'static str) {
    let error = called.unwrap_err();
    (error.certainty, error.class)
}
