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
    outbound::{AddressRule, Answer, BodyEnd, ClientAuthentication, Login, Lookup, OAuthClient, Party, Resolve, Roots},
    secrets::{SealingRoot, SecretText, SigningRoot},
};

mod kinds;
mod oauth;
mod outcomes;

const TENANT: &str = "acme/test";
const SECRET: &str = "hunter2";

/// What a server does with one request.
#[derive(Clone)]
enum Reply {
    With(u16, &'static str),
    Body(u16, &'static str, Vec<u8>),
    Never,
}

#[derive(Clone, Debug)]
struct Seen {
    method: String,
    path: String,
    headers: HeaderMap,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A server that does what a test says, and says `{}` where it says nothing.
#[derive(Clone)]
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

async fn serve(State(server): State<Server>, request: axum::extract::Request) -> axum::response::Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    server.seen.lock().push(Seen {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    let reply = server.replies.lock().pop_front().unwrap_or(Reply::With(200, "{}"));
    let (status, media_type, body) = match reply {
        Reply::With(status, body) => (status, "application/json", body.as_bytes().to_vec()),
        Reply::Body(status, media_type, body) => (status, media_type, body),
        Reply::Never => std::future::pending().await,
    };
    let response = http::Response::builder().status(status).header("content-type", media_type);
    response.header("location", "/elsewhere").header("set-cookie", "a=b").body(Bytes::from(body).into()).unwrap()
}

impl Server {
    async fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Server { url, seen: Arc::default(), replies: Arc::default() };
        let router = Router::new().fallback(serve).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        server
    }

    fn will(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies.lock().extend(replies);
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }
}

/// Where nobody listens.
async fn dead_address() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap())
}

/// No name has an address.
struct NoNames;

impl Resolve for NoNames {
    fn lookup<'a>(&'a self, _party: &'a Party, _name: &'a str) -> Lookup<'a> {
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

type Operators = Arc<Mutex<HashMap<String, Arc<DestinationConfig>>>>;
/// Who called which plugin, for whom.
type Visits = Arc<Mutex<Vec<[String; 3]>>>;

struct World {
    bench: Bench,
    destinations: Destinations,
    operators: Operators,
    /// Of plugins on this host, which say 204 to everybody.
    visits: Visits,
}

impl World {
    /// Tenants may call public addresses only; see `with_rule`.
    async fn open() -> World {
        World::with_rule(AddressRule::default()).await
    }

    async fn with_rule(test: AddressRule) -> World {
        let bench = Bench::open().await;
        let operators = Operators::default();
        let named = operators.clone();
        let visits = Visits::default();
        let destinations = Destinations::new(Parts {
            client: Arc::new(Client::new(Roots::built_in(), Arc::new(NoNames)).unwrap()),
            outside: Arc::new(Outside {
                signing: SigningRoot::new(Default::default()),
                sealing: Arc::new(SealingRoot::new(Default::default())),
                addresses: OutboundConfig { test, ..OutboundConfig::default() },
            }),
            database: bench.database.clone(),
            clock: Clock::manual(1_000),
            chains: Default::default(),
            neighbours: neighbours(visits.clone()),
            named: Arc::new(move |plugin, name| (plugin == "notes").then(|| named.lock().get(name).cloned())?),
        });
        World { bench, destinations, operators, visits }
    }

    fn name(&self, name: &str, config: DestinationConfig) {
        self.operators.lock().insert(name.to_owned(), Arc::new(config));
    }

    /// The operator's destination "bank".
    fn bank(&self, url: &str, login: Login) {
        self.name("bank", server(url, login));
    }

    /// A tenant's, as its plugin would put it.
    async fn put(&self, name: &str, url: &str, token: &str) {
        let named = (scope(TENANT), name.to_owned());
        let address = (url.to_owned(), "bearer".to_owned());
        let secrets = [("token".to_owned(), SecretText::new(token.to_owned()))];
        let root = SealingRoot::new(Default::default());
        let made = Destination::new((&named.0, &named.1), address, &[], &secrets, &root).unwrap();
        let put = self.bench.run(async |draft| draft.put_destination(name, &made).await.map(|done| done.unwrap()));
        put.await.unwrap();
    }

    async fn call(&self, call: &OutgoingCall) -> Result<OutgoingAnswer, CallFailure> {
        self.call_as(TENANT, call, Some("effect_1")).await
    }

    async fn call_as(
        &self,
        tenant: &str,
        call: &OutgoingCall,
        key: Option<&str>,
    ) -> Result<OutgoingAnswer, CallFailure> {
        let called = self.destinations.call(&scope(tenant), call, key, Duration::from_secs(20)).await;
        if let Err(failure) = &called {
            let shown = format!("{failure} {failure:?}");
            assert!(!shown.contains(SECRET) && !shown.contains("things"), "no secret and no path: {shown}");
        }
        called
    }
}

fn neighbours(visits: Visits) -> Neighbours {
    let neighbours = Neighbours::default();
    neighbours.open(Box::new(move |from, neighbour, _| {
        let caller = format!("{} of {}", from.plugin(), from.tenant());
        visits.lock().push([caller, neighbour.plugin.to_string(), neighbour.tenant.to_string()]);
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        let answer = Answer { status: StatusCode::NO_CONTENT, headers, body, end: BodyEnd::Whole, duration_ms: 0 };
        Box::pin(async move { Some(answer) })
    }));
    neighbours
}

/// A plugin of this host, for who calls or for this organization.
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

fn failed(called: Result<OutgoingAnswer, CallFailure>) -> (Certainty, &'static str) {
    let failure = called.unwrap_err();
    (failure.certainty, failure.class)
}
