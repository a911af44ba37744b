//! Closed-loop load on N connections. Each sends its next request after the response to the previous request.
//!
//! Owns what is counted and what counts as failed. `bench-load` runs it in a process of its own. Tests, `demo-swap`
//! and the measured neighbour of `fairness` run it inside their own process. Requests are built before the clock
//! starts.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    histogram::Histogram,
    wire::{Connection, request},
};

/// A request of a plan, as it is stored in a line of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedRequest {
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub body: String,
}

#[derive(Clone)]
pub struct LoadPlan {
    pub address: SocketAddr,
    /// Complete requests. Each connection selects among them at random.
    pub requests: Arc<Vec<Vec<u8>>>,
    pub connections: usize,
    /// Time in which caches and connections become warm. Its responses are not counted.
    pub warmup: Duration,
    pub duration: Duration,
}

impl LoadPlan {
    pub fn new(address: SocketAddr, key: &str, planned: &[PlannedRequest]) -> LoadPlan {
        let build = |plan: &PlannedRequest| request(&plan.method, &plan.path, key, &[], plan.body.as_bytes());
        LoadPlan {
            address,
            requests: Arc::new(planned.iter().map(build).collect()),
            connections: 64,
            warmup: Duration::ZERO,
            duration: Duration::from_secs(1),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadReport {
    pub connections: usize,
    pub seconds: f64,
    /// Requests with a response of any status.
    pub requests: u64,
    pub per_second: f64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a response, failed connects and the warm-up included.
    pub broken: u64,
    /// The first reasons of broken requests.
    pub reasons: Vec<String>,
}

impl LoadReport {
    /// Returns the number of failed requests: requests without a response, or with a status other than 2xx.
    pub fn failed(&self) -> u64 {
        let refused: u64 =
            self.statuses.iter().filter(|(status, _)| !(200..300).contains(*status)).map(|(_, n)| n).sum();
        refused + self.broken
    }
}

/// Counts of one connection.
#[derive(Default)]
struct ConnectionStats {
    histogram: Histogram,
    statuses: BTreeMap<u16, u64>,
    broken: u64,
    reasons: Vec<String>,
}

const REASONS_MAX: usize = 5;

pub async fn run(plan: LoadPlan) -> LoadReport {
    let counted_from = Instant::now() + plan.warmup;
    let until = counted_from + plan.duration;
    let running: Vec<_> = (0..plan.connections)
        .map(|number| tokio::spawn(drive(plan.clone(), number as u64, counted_from, until)))
        .collect();
    let mut total = ConnectionStats::default();
    for connection in running {
        match connection.await {
            Ok(stats) => total.add(stats),
            Err(error) => total.note_broken(&error.to_string()),
        }
    }
    total.into_report(plan.connections, counted_from.elapsed())
}

async fn drive(plan: LoadPlan, number: u64, counted_from: Instant, until: Instant) -> ConnectionStats {
    let mut stats = ConnectionStats::default();
    let mut connection: Option<Connection> = None;
    let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    while Instant::now() < until {
        random = next_random(random);
        let Some(request) = plan.requests.get(random as usize % plan.requests.len().max(1)) else { break };
        let started = Instant::now();
        match exchange(&mut connection, plan.address, request).await {
            Ok(status) if started >= counted_from => {
                stats.histogram.record(started.elapsed().as_micros() as u64);
                *stats.statuses.entry(status).or_default() += 1;
            }
            Ok(_) => {}
            Err(error) => {
                connection = None;
                stats.note_broken(&error.to_string());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
    stats
}

async fn exchange(idle: &mut Option<Connection>, address: SocketAddr, request: &[u8]) -> io::Result<u16> {
    let mut connection = match idle.take() {
        Some(connection) => connection,
        None => Connection::open(address).await?,
    };
    let response = connection.exchange(request).await?;
    if !connection.is_closing() {
        *idle = Some(connection);
    }
    Ok(response.status)
}

/// Returns the next state of xorshift64, which selects the next request. The sequence is the same in every run.
fn next_random(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

impl ConnectionStats {
    fn add(&mut self, other: ConnectionStats) {
        self.histogram.merge(&other.histogram);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.broken += other.broken;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(REASONS_MAX);
    }

    fn note_broken(&mut self, reason: &str) {
        self.broken += 1;
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(reason.to_owned());
        }
    }

    fn into_report(self, connections: usize, elapsed: Duration) -> LoadReport {
        let seconds = elapsed.as_secs_f64();
        LoadReport {
            connections,
            seconds,
            requests: self.histogram.count(),
            per_second: self.histogram.count() as f64 / seconds,
            p50_us: self.histogram.percentile_us(50.0),
            p90_us: self.histogram.percentile_us(90.0),
            p99_us: self.histogram.percentile_us(99.0),
            max_us: self.histogram.max_us(),
            statuses: self.statuses,
            broken: self.broken,
            reasons: self.reasons,
        }
    }
}
