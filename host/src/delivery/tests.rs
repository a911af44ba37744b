//! The engine over a real file and a real receiver, with a clock that the test moves.

use std::{collections::BTreeMap, future::Future};

use axum::{Router, extract::State, http::HeaderMap};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};
use zeroize::Zeroizing;

use super::*;
use crate::outbound::OutboundConfig;
use crate::{
    changes::{endpoint::Endpoint, envelope::Envelope},
    commit::{
        committer::{CommitterSettings, News},
        testing::{Bench, call, scope},
    },
    db::{deliveries::StoredDelivery, testing::endpoint},
    limits::NEWS_KEPT,
    metrics::Metrics,
    outbound::{AddressRule, Roots, SystemResolver},
    secrets::{SealingRoot, SigningRoot},
};

mod again;
mod catch_up;
mod delivered;
mod health;
mod many_endpoints;

const TENANT: &str = "acme/test";
const START: u64 = 1_000_000;
const DELAY_MS: u64 = 60_000;

/// One request that arrived.
#[derive(Clone, Debug, PartialEq)]
struct Arrived {
    path: String,
    id: String,
    body: String,
    headers: HeaderMap,
}

/// Answers every request with the status of the moment; 0: never.
struct Receiver {
    url: String,
    status: Arc<parking_lot::Mutex<u16>>,
    arrived: UnboundedReceiver<Arrived>,
}

type Desk = (Arc<parking_lot::Mutex<u16>>, UnboundedSender<Arrived>);

async fn receive(
    State((status, arrived)): State<Desk>,
    uri: http::Uri,
    headers: HeaderMap,
    body: String,
) -> http::StatusCode {
    let path = uri.path().to_owned();
    let id = headers["webhook-id"].to_str().unwrap().to_owned();
    let _ = arrived.send(Arrived { path, id, body, headers });
    let status = *status.lock();
    if status == 0 {
        std::future::pending::<()>().await;
    }
    http::StatusCode::from_u16(status).unwrap()
}

impl Receiver {
    async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (status, (sender, arrived)) = (Arc::new(parking_lot::Mutex::new(200)), unbounded_channel());
        let router = Router::new().fallback(receive).with_state((status.clone(), sender));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Receiver { url, status, arrived }
    }

    fn answer(&self, status: u16) {
        *self.status.lock() = status;
    }

    async fn next(&mut self) -> Arrived {
        soon("a request", self.arrived.recv()).await.unwrap()
    }

    fn is_quiet(&mut self) -> bool {
        self.arrived.try_recv().is_err()
    }
}

/// Long enough for a busy machine, and the end of a test that would hang.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(std::time::Duration::from_secs(30), future).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

struct World {
    bench: Bench,
    parts: Parts,
    clock: Clock,
    stop: watch::Sender<bool>,
    events: u64,
    /// Hops of the calls that emit.
    hops: u8,
}

impl World {
    async fn open() -> World {
        World::over(Bench::open().await)
    }

    async fn with_notifications_kept(notifications_kept: usize) -> World {
        World::over(Bench::with(CommitterSettings { notifications_kept, ..CommitterSettings::default() }).await)
    }

    fn over(bench: Bench) -> World {
        let clock = Clock::manual(START);
        let loopback = AddressRule { allow: vec!["127.0.0.0/8".parse().unwrap()] };
        let addresses = OutboundConfig { test: loopback, ..OutboundConfig::default() };
        let policy = WebhookConfig { schedule_ms: vec![DELAY_MS, DELAY_MS], ..WebhookConfig::default() };
        let parts = Parts {
            database: bench.database.clone(),
            committer: bench.committer.clone(),
            client: Arc::new(Client::new(Roots::built_in(), Arc::new(SystemResolver::new())).unwrap()),
            outside: Arc::new(Outside {
                signing: SigningRoot::new(Zeroizing::new([1; 32])),
                sealing: Arc::new(SealingRoot::new(Default::default())),
                addresses,
            }),
            policies: Arc::new(move |_| policy.clone()),
            api_keys: Arc::new(|_, _| Box::pin(async { Ok(None) })),
            clock: clock.clone(),
            metrics: Metrics::new().unwrap().delivery(),
        };
        World { bench, parts, clock, stop: watch::channel(false).0, events: 0, hops: 0 }
    }

    async fn deliver(&self) -> Delivery {
        Delivery::start(self.parts.clone(), self.stop.subscribe()).await.unwrap()
    }

    /// An engine that does not run yet, with its workers; it relies on notifications from here on.
    async fn engine(&self) -> (engine::Engine, Views) {
        let (recorder, work) = record::Recorder::new(self.parts.database.clone());
        let (ends, fan_out) = fan_out::FanOutTask::new(self.parts.database.clone());
        tokio::spawn(work.run(self.stop.subscribe()));
        tokio::spawn(fan_out.run(self.stop.subscribe()));
        let (views, questions) = Views::new();
        let mut engine = engine::Engine::open(self.parts.clone(), recorder, questions, ends).await.unwrap();
        engine.go_on().await;
        (engine, views)
    }

    async fn put(&self, id: &str, endpoint: &Endpoint) {
        let put = self.bench.run(async |draft| draft.put_endpoint(id, endpoint).await.map(|done| done.unwrap()));
        put.await.unwrap();
    }

    /// Says its id.
    async fn emit(&mut self, subject: &str) -> String {
        self.events += 1;
        let mut identity = call(&self.bench.model, TENANT);
        identity.now = self.clock.now();
        identity.seed[..8].copy_from_slice(&self.events.to_le_bytes());
        identity.hops = self.hops;
        let mut draft = self.bench.committer.begin(identity);
        let payload = format!("{{\"n\":{}}}", self.events);
        let id = draft.emit(&Envelope::default(), ("thing.changed", subject), &payload, None).unwrap();
        self.bench.committer.commit(draft.into_changes(None), None).await.unwrap();
        id
    }

    async fn rows(&self, endpoint: &str) -> Vec<StoredDelivery> {
        let page = self.bench.database.find_deliveries(&scope(TENANT), endpoint, None, None, 1_000).await.unwrap();
        page.deliveries
    }

    /// Until what is stored about the event is as it should be.
    async fn until(&self, endpoint: &str, event: &str, wanted: impl Fn(&StoredDelivery) -> bool) -> StoredDelivery {
        let look = async {
            loop {
                let row = self.rows(endpoint).await.into_iter().find(|row| &*row.event == event && wanted(row));
                if let Some(row) = row {
                    return row;
                }
                tokio::task::yield_now().await;
            }
        };
        soon("the state of a delivery", look).await
    }

    async fn until_state(&self, endpoint: &str, event: &str, state: &str) -> StoredDelivery {
        self.until(endpoint, event, |row| row.state.name() == state).await
    }

    /// As `kill -9` would: nothing is finished, nothing is written.
    async fn kill(&self, delivery: Delivery) {
        delivery.engine.abort();
        delivery.recorder.abort();
        delivery.fan_out.abort();
        let _ = (delivery.engine.await, delivery.recorder.await, delivery.fan_out.await);
    }
}
