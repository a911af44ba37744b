//! Connections that ask wallets for one kind of work, each request with a reference of its own.
//!
//! On a thread of its own; times are taken where the client waits.

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

    fn request(self, Funded { wallet, asset }: &Funded, reference: &str) -> Vec<u8> {
        let (path, body) = match self {
            Work::Withdraw => {
                let to = outside(&wallet.blockchain);
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

/// Somebody's.
fn outside(blockchain: &str) -> &'static str {
    match blockchain {
        "tron" => "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
        "solana" => "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
        _ => "0x000000000000000000000000000000000000dEaD",
    }
}

/// A wallet that has coins and a token.
pub struct Funded {
    pub wallet: Wallet,
    /// The id of the token.
    pub asset: String,
}

#[derive(Clone)]
pub struct Driven {
    pub address: SocketAddr,
    pub wallets: Arc<Vec<Funded>>,
    pub work: Work,
}

#[derive(Default)]
pub struct Tally {
    /// Of what was answered with 2xx.
    pub latencies: Histogram,
    pub failed: u64,
    /// The first few of what went wrong.
    pub reasons: Vec<String>,
    /// Until the last answer.
    pub elapsed: Duration,
}

pub async fn drive(driven: Driven, pace: Pace, duration: Duration) -> anyhow::Result<Tally> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(driven, pace, duration))).await?
}

async fn drive_all(driven: Driven, pace: Pace, duration: Duration) -> anyhow::Result<Tally> {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    let (run, begun) = (RUNS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let lanes = (0..pace.connections).map(|number| {
        let lane = Lane { driven: driven.clone(), pace, number, run, begun, connection: None, tally: Tally::default() };
        tokio::spawn(lane.run(duration))
    });
    let lanes: Vec<_> = lanes.collect();
    let mut total = Tally::default();
    for lane in lanes {
        let Tally { latencies, failed, reasons, .. } = lane.await?;
        total.latencies.merge(&latencies);
        total.failed += failed;
        total.reasons.extend(reasons);
    }
    total.reasons.truncate(REASONS_MAX);
    total.elapsed = begun.elapsed();
    Ok(total)
}

struct Lane {
    driven: Driven,
    pace: Pace,
    number: usize,
    run: u32,
    begun: Instant,
    connection: Option<Connection>,
    tally: Tally,
}

impl Lane {
    async fn run(mut self, duration: Duration) -> Tally {
        for turn in 0_usize.. {
            if let Some(at_us) = self.pace.due_us(self.number, turn) {
                tokio::time::sleep_until((self.begun + Duration::from_micros(at_us)).into()).await;
            }
            if self.begun.elapsed() >= duration {
                break;
            }
            // Connections begin at different wallets, so that each gets its share at any moment.
            let wallets = self.driven.wallets.clone();
            let Some(wallet) = wallets.get((self.number + turn) % wallets.len().max(1)) else { break };
            let reference = format!("bench-{}-{}-{turn}", self.run, self.number);
            let begun = Instant::now();
            match self.ask(&self.driven.work.request(wallet, &reference)).await {
                Ok(()) => self.tally.latencies.record(begun.elapsed().as_micros() as u64),
                Err(error) => self.note(&error),
            }
        }
        self.tally
    }

    async fn ask(&mut self, request: &[u8]) -> anyhow::Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.driven.address).await?,
        };
        let answer = connection.exchange(request).await?;
        if !connection.is_closing() {
            self.connection = Some(connection);
        }
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "{} {text}", answer.status);
        Ok(())
    }

    fn note(&mut self, error: &anyhow::Error) {
        self.tally.failed += 1;
        if self.tally.reasons.len() < REASONS_MAX {
            self.tally.reasons.push(format!("{error:#}"));
        }
    }
}
