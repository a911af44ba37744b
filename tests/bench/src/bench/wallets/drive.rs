//! Connections that send one kind of request to wallets, each request with its own reference.
//!
//! Runs on a thread of its own. Times are measured at the client.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use tokio::runtime;

pub use crate::bench::webhooks::drive::Pace;
use crate::{
    histogram::Histogram,
    wallet::Wallet,
    wire::{Connection, request},
};

const REASONS_MAX: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Withdraw,
    Sign,
    Address,
}

impl Work {
    pub fn name(self) -> &'static str {
        match self {
            Work::Withdraw => "withdrawals",
            Work::Sign => "signatures",
            Work::Address => "addresses",
        }
    }

    fn request(self, FundedWallet { wallet, asset }: &FundedWallet, reference: &str) -> Vec<u8> {
        let (path, body) = match self {
            Work::Withdraw => {
                let to = external_address(&wallet.blockchain);
                let body = format!(
                    r#"{{"asset_id":"{asset}","amount":"0.01","destination_address":"{to}","reference":"{reference}"}}"#
                );
                ("/withdraw", body)
            }
            Work::Sign => ("/signing/message", format!(r#"{{"message":"of {reference}","reference":"{reference}"}}"#)),
            Work::Address => ("/addresses", format!(r#"{{"name":"{reference}","metadata":{{"customer":7}}}}"#)),
        };
        request("POST", &wallet.path(path), "", &[("x-api-key", &wallet.key)], body.as_bytes())
    }
}

/// Returns an address that belongs to no wallet of the host.
fn external_address(blockchain: &str) -> &'static str {
    match blockchain {
        "tron" => "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
        "solana" => "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
        _ => "0x000000000000000000000000000000000000dEaD",
    }
}

/// Wallet with coins and a token.
pub struct FundedWallet {
    pub wallet: Wallet,
    /// Id of the token.
    pub asset: String,
}

#[derive(Clone)]
pub struct LoadTarget {
    pub address: SocketAddr,
    pub wallets: Arc<Vec<FundedWallet>>,
    pub work: Work,
}

#[derive(Default)]
pub struct RunStats {
    /// Latencies of requests answered with 2xx.
    pub latencies: Histogram,
    pub failed: u64,
    /// The first errors.
    pub reasons: Vec<String>,
    /// Duration until the last response.
    pub elapsed: Duration,
}

pub async fn drive(target: LoadTarget, pace: Pace, duration: Duration) -> anyhow::Result<RunStats> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(target, pace, duration))).await?
}

async fn drive_all(target: LoadTarget, pace: Pace, duration: Duration) -> anyhow::Result<RunStats> {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    let (run, started) = (RUNS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let tasks = (0..pace.connections).map(|number| {
        let (target, stats) = (target.clone(), RunStats::default());
        let worker = Worker { target, pace, number, run, started, connection: None, stats };
        tokio::spawn(worker.run(duration))
    });
    let tasks: Vec<_> = tasks.collect();
    let mut total = RunStats::default();
    for task in tasks {
        let RunStats { latencies, failed, reasons, .. } = task.await?;
        total.latencies.merge(&latencies);
        total.failed += failed;
        total.reasons.extend(reasons);
    }
    total.reasons.truncate(REASONS_MAX);
    total.elapsed = started.elapsed();
    Ok(total)
}

struct Worker {
    target: LoadTarget,
    pace: Pace,
    number: usize,
    run: u32,
    started: Instant,
    connection: Option<Connection>,
    stats: RunStats,
}

impl Worker {
    async fn run(mut self, duration: Duration) -> RunStats {
        for iteration in 0_usize.. {
            if let Some(at_us) = self.pace.due_us(self.number, iteration) {
                tokio::time::sleep_until((self.started + Duration::from_micros(at_us)).into()).await;
            }
            if self.started.elapsed() >= duration {
                break;
            }
            // Connections start at different wallets, so that at any time each wallet gets its share.
            let wallets = self.target.wallets.clone();
            let Some(wallet) = wallets.get((self.number + iteration) % wallets.len().max(1)) else { break };
            let reference = format!("bench-{}-{}-{iteration}", self.run, self.number);
            let started = Instant::now();
            match self.send(&self.target.work.request(wallet, &reference)).await {
                Ok(()) => self.stats.latencies.record(started.elapsed().as_micros() as u64),
                Err(error) => self.record_error(&error),
            }
        }
        self.stats
    }

    async fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.target.address).await?,
        };
        let response = connection.exchange(request).await?;
        if !connection.is_closing() {
            self.connection = Some(connection);
        }
        let text = String::from_utf8_lossy(&response.body);
        ensure!((200..300).contains(&response.status), "{} {text}", response.status);
        Ok(())
    }

    fn record_error(&mut self, error: &anyhow::Error) {
        self.stats.failed += 1;
        if self.stats.reasons.len() < REASONS_MAX {
            self.stats.reasons.push(format!("{error:#}"));
        }
    }
}
