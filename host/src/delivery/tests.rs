//! The engine with a real file and a real receiver, and a clock that the test sets.

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
    changes::{
        endpoint::{Endpoint, EndpointId},
        envelope::Envelope,
    },
    commit::{
        committer::{CommitNotification, CommitterSettings},
        testing::{Bench, call, scope},
    },
    db::{deliveries::StoredDelivery, testing::endpoint},
    limits::COMMIT_NOTIFICATIONS_MAX,
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

/// A received request.
#[derive(Clone, Debug, PartialEq)]
struct ReceivedRequest {
    path: String,
    id: String,
    body: String,
    headers: HeaderMap,
}

/// Responds to every request with the current status. If the status is 0, it never responds.
struct Receiver {
    url: String,
    status: Arc<parking_lot::Mutex<u16>>,
    requests: UnboundedReceiver<ReceivedRequest>,
}

type ReceiverState = (Arc<parking_lot::Mutex<u16>>, UnboundedSender<ReceivedRequest>);

async fn receive(
    State((status, requests)): State<ReceiverState>,
    uri: http::Uri,
    headers: HeaderMap,
    body: String,
) -> http::StatusCode {
    let path = uri.path().to_owned();
    let id = headers["webhook-id"].to_str().unwrap().to_owned();
    let _ = requests.send(ReceivedRequest { path, id, body, headers });
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
        let (status, (sender, requests)) = (Arc::new(parking_lot::Mutex::new(200)), unbounded_channel());
        let router = Router::new().fallback(receive).with_state((status.clone(), sender));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Receiver { url, status, requests }
    }

    fn respond(&self, status: u16) {
        *self.status.lock() = status;
    }

    async fn next(&mut self) -> ReceivedRequest {
        soon("a request", self.requests.recv()).await.unwrap()
    }

    fn is_quiet(&mut self) -> bool {
        self.requests.try_recv().is_err()
    }
}

/// Awaits the future with a timeout that is long enough for a busy machine.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(std::time::Duration::from_secs(30), future).await.unwrap_or_else(|_| panic!("timed out waiting for {what}"))
}

struct World {
    bench: Bench,
    parts: DeliveryParts,
    clock: Clock,
    stop: watch::Sender<bool>,
    events: u64,
    /// Hops of the calls that emit.
    hops: u8,
}

/// Returns a channel that lets an engine end at once when the host stops.
fn no_wait() -> tokio::sync::oneshot::Receiver<()> {
    tokio::sync::oneshot::channel().1
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
        let parts = DeliveryParts {
            database: bench.database.clone(),
            committer: bench.committer.clone(),
            client: Arc::new(Client::new(Roots::built_in(), Arc::new(SystemResolver::new())).unwrap()),
            outbound_context: Arc::new(OutboundContext {
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

    /// Starts the tasks of an engine, opens the engine and runs one pass of it. The engine receives later changes only
    /// through notifications.
    async fn engine(&self) -> (engine::Engine, QueueViews) {
        let (recorder, work) = record::Recorder::new(self.parts.database.clone());
        let (ends, fan_out) = fan_out::FanOutTask::new(self.parts.database.clone());
        tokio::spawn(work.run(self.stop.subscribe()));
        tokio::spawn(fan_out.run(self.stop.subscribe()));
        let (views, view_requests) = QueueViews::new();
        let mut engine = engine::Engine::open(self.parts.clone(), recorder, view_requests, ends).await.unwrap();
        engine.advance().await;
        (engine, views)
    }

    async fn put(&self, id: &str, endpoint: &Endpoint) {
        let put = self.bench.run(async |draft| draft.put_endpoint(id, endpoint).await.map(|done| done.unwrap()));
        put.await.unwrap();
    }

    /// Emits an event and returns its id.
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
        let (scope, endpoint) = (scope(TENANT), EndpointId::from(endpoint));
        let page = self.bench.database.find_deliveries(&scope, &endpoint, None, None, 1_000).await.unwrap();
        page.deliveries
    }

    /// Waits until the stored delivery of the event is as expected.
    async fn until(
        &self,
        endpoint: &str,
        event: &str,
        is_expected: impl Fn(&StoredDelivery) -> bool,
    ) -> StoredDelivery {
        let poll = async {
            loop {
                let row = self.rows(endpoint).await.into_iter().find(|row| &*row.event == event && is_expected(row));
                if let Some(row) = row {
                    return row;
                }
                tokio::task::yield_now().await;
            }
        };
        soon("the state of a delivery", poll).await
    }

    async fn until_state(&self, endpoint: &str, event: &str, state: &str) -> StoredDelivery {
        self.until(endpoint, event, |row| row.state.name() == state).await
    }

    /// Aborts the tasks as `kill -9` would: nothing is finished, nothing is written.
    async fn kill(&self, delivery: Delivery) {
        delivery.engine.abort();
        delivery.recorder.abort();
        delivery.fan_out.abort();
        let _ = (delivery.engine.await, delivery.recorder.await, delivery.fan_out.await);
    }
}
