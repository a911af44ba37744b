//! Load that causes events: changes of drivers of many tenants, as fast as they are answered or at a fixed rate.
//!
//! Runs on a thread of its own. Records when each change was acknowledged, and never waits for an arrival.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::runtime;

use super::event_log::{EventLog, Span, latitude_of};
use crate::wire::{Connection, request};

/// Tenant whose drivers are moved, with the endpoint of its events.
pub struct Tenant {
    pub key: String,
    pub drivers: Vec<String>,
    pub endpoint: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub connections: usize,
    /// Rate of all connections together. `None`: each connection sends its next request after the previous
    /// response.
    pub per_second: Option<f64>,
}

impl Pace {
    /// Returns when a connection sends its n-th request, in microseconds since the start. `None`: immediately after
    /// the response to the previous request.
    pub fn due_us(&self, connection: usize, iteration: usize) -> Option<u64> {
        let position = iteration as f64 * self.connections as f64 + connection as f64;
        self.per_second.map(|per_second| (position * 1_000_000.0 / per_second) as u64)
    }
}

/// Target of the load, and the log of its events.
#[derive(Clone)]
pub struct LoadTarget {
    pub address: SocketAddr,
    pub tenants: Arc<Vec<Tenant>>,
    pub log: Arc<EventLog>,
}

/// Events of a round, and the number of requests that were not answered with 2xx.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub span: Span,
    pub begun_us: u64,
    pub ended_us: u64,
    pub failed: u64,
}

/// Stop condition: a duration, or the change with this mark.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    After(Duration),
    Mark(u64),
}

pub async fn drive(target: LoadTarget, pace: Pace, until: Until) -> anyhow::Result<Sent> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(target, pace, until))).await?
}

async fn drive_all(target: LoadTarget, pace: Pace, until: Until) -> anyhow::Result<Sent> {
    let (from, begun_us, started) = (target.log.next_mark(), target.log.now_us(), Instant::now());
    let running: Vec<_> = (0..pace.connections)
        .map(|number| {
            let worker = Worker { target: target.clone(), pace, number, started, until };
            tokio::spawn(worker.run())
        })
        .collect();
    let mut failed = 0;
    for task in running {
        failed += task.await?;
    }
    let span = Span { from, to: target.log.next_mark() };
    Ok(Sent { span, begun_us, ended_us: target.log.now_us(), failed })
}

/// A connection.
struct Worker {
    target: LoadTarget,
    pace: Pace,
    number: usize,
    started: Instant,
    until: Until,
}

impl Worker {
    /// Runs the load and returns the number of failed requests.
    async fn run(self) -> u64 {
        let (mut failed, mut connection) = (0, None);
        for iteration in 0_usize.. {
            if let Some(at_us) = self.pace.due_us(self.number, iteration) {
                tokio::time::sleep_until((self.started + Duration::from_micros(at_us)).into()).await;
            }
            if self.is_over() {
                break;
            }
            // Connections start at different tenants, so that at any time each tenant gets its share.
            let position = self.number + iteration * self.pace.connections;
            let Some(tenant) = self.target.tenants.get(position % self.target.tenants.len().max(1)) else { break };
            let Some(mark) = self.target.log.mark(tenant.endpoint) else { break };
            match self.send(&mut connection, tenant, mark).await {
                Ok(status) if (200..300).contains(&status) => self.target.log.record_answer(mark),
                Ok(_) => failed += 1,
                Err(_) => {
                    (failed, connection) = (failed + 1, None);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
        failed
    }

    fn is_over(&self) -> bool {
        match self.until {
            Until::After(duration) => self.started.elapsed() >= duration,
            Until::Mark(mark) => self.target.log.next_mark() > mark,
        }
    }

    async fn send(&self, idle: &mut Option<Connection>, tenant: &Tenant, mark: u64) -> anyhow::Result<u16> {
        let driver = tenant.drivers.get(self.number % tenant.drivers.len().max(1)).map_or("", String::as_str);
        let body = format!("{{\"latitude\":{},\"longitude\":103.8519,\"heading\":90,\"speed\":42}}", latitude_of(mark));
        let request = request("POST", &format!("/v1/drivers/{driver}/track"), &tenant.key, &[], body.as_bytes());
        let mut connection = match idle.take() {
            Some(connection) => connection,
            None => Connection::open(self.target.address).await?,
        };
        let response = connection.exchange(&request).await?;
        if !connection.is_closing() {
            *idle = Some(connection);
        }
        Ok(response.status)
    }
}
