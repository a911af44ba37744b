//! Load that makes events: changes of drivers of many tenants, as fast as they are answered, or so many a second.
//!
//! Runs on a thread of its own. Notes when each change was acknowledged; never waits for an arrival.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::runtime;

use super::log::{Log, Span, latitude_of};
use crate::wire::{Connection, request};

/// Whose drivers are moved, and which endpoint hears of it.
pub struct Tenant {
    pub key: String,
    pub drivers: Vec<String>,
    pub endpoint: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub connections: usize,
    /// Of all connections together; none: as fast as they are answered.
    pub per_second: Option<f64>,
}

impl Pace {
    /// When a connection takes its turn, from the beginning; none: as soon as the one before is over.
    pub fn due_us(&self, connection: usize, turn: usize) -> Option<u64> {
        let turns = turn as f64 * self.connections as f64 + connection as f64;
        self.per_second.map(|per_second| (turns * 1_000_000.0 / per_second) as u64)
    }
}

/// Whom to load, and who notes it.
#[derive(Clone)]
pub struct Driven {
    pub address: SocketAddr,
    pub tenants: Arc<Vec<Tenant>>,
    pub log: Arc<Log>,
}

/// What was sent, and how much of it was not answered with 2xx.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub span: Span,
    pub begun_us: u64,
    pub ended_us: u64,
    pub failed: u64,
}

/// For so long, or until the change with this mark.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    After(Duration),
    Mark(u64),
}

pub async fn drive(driven: Driven, pace: Pace, until: Until) -> anyhow::Result<Sent> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(driven, pace, until))).await?
}

async fn drive_all(driven: Driven, pace: Pace, until: Until) -> anyhow::Result<Sent> {
    let (from, begun_us, begun) = (driven.log.next_mark(), driven.log.now_us(), Instant::now());
    let running: Vec<_> = (0..pace.connections)
        .map(|number| {
            let worker = Worker { driven: driven.clone(), pace, number, begun, until };
            tokio::spawn(worker.run())
        })
        .collect();
    let mut failed = 0;
    for one in running {
        failed += one.await?;
    }
    let span = Span { from, to: driven.log.next_mark() };
    Ok(Sent { span, begun_us, ended_us: driven.log.now_us(), failed })
}

/// One connection.
struct Worker {
    driven: Driven,
    pace: Pace,
    number: usize,
    begun: Instant,
    until: Until,
}

impl Worker {
    /// How many of its requests failed.
    async fn run(self) -> u64 {
        let (mut failed, mut connection) = (0, None);
        for turn in 0_usize.. {
            if let Some(at_us) = self.pace.due_us(self.number, turn) {
                tokio::time::sleep_until((self.begun + Duration::from_micros(at_us)).into()).await;
            }
            if self.is_over() {
                break;
            }
            // Connections begin at different tenants, so that each gets its share at any moment.
            let place = self.number + turn * self.pace.connections;
            let Some(tenant) = self.driven.tenants.get(place % self.driven.tenants.len().max(1)) else { break };
            let Some(mark) = self.driven.log.mark(tenant.endpoint) else { break };
            match self.send(&mut connection, tenant, mark).await {
                Ok(status) if (200..300).contains(&status) => self.driven.log.answered(mark),
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
            Until::After(duration) => self.begun.elapsed() >= duration,
            Until::Mark(mark) => self.driven.log.next_mark() > mark,
        }
    }

    async fn send(&self, kept: &mut Option<Connection>, tenant: &Tenant, mark: u64) -> anyhow::Result<u16> {
        let driver = tenant.drivers.get(self.number % tenant.drivers.len().max(1)).map_or("", String::as_str);
        let body = format!("{{\"latitude\":{},\"longitude\":103.8519,\"heading\":90,\"speed\":42}}", latitude_of(mark));
        let request = request("POST", &format!("/v1/drivers/{driver}/track"), &tenant.key, &[], body.as_bytes());
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => Connection::open(self.driven.address).await?,
        };
        let answer = connection.exchange(&request).await?;
        if !connection.is_closing() {
            *kept = Some(connection);
        }
        Ok(answer.status)
    }
}
