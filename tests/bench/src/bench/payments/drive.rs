//! Lanes that make payments: each begins one, waits until it is approved, says what became of it, and goes on.
//!
//! Times are taken where the sender waits: an acknowledgement from the first byte of a message to the last of its answer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use parking_lot::RwLock;
use tokio::{runtime, sync::mpsc, time::timeout};

use super::ACKNOWLEDGED_WITHIN;
use crate::{
    clearing::message::{Payment, lane_of, uetr_of},
    histogram::Histogram,
    wire::{Connection, request},
};

/// Longer than the scheme's own time: who is not told by then never will be.
const TOLD_WITHIN: Duration = Duration::from_secs(70);
const REASONS_MAX: usize = 5;

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub lanes: u16,
    /// Of all lanes together; none: the next payment as soon as one is over.
    pub per_second: Option<f64>,
}

/// What a lane waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    Approved,
    Rejected,
    Completed,
}

/// Of the payment with this uetr.
type Told = (String, Fact);

/// Brings facts to the lanes that wait for them. Facts of lanes that are gone are dropped.
#[derive(Clone, Default)]
pub struct Switchboard(Arc<RwLock<Vec<mpsc::UnboundedSender<Told>>>>);

impl Switchboard {
    /// `text` holds the uetr, whatever else.
    pub fn tell(&self, text: &str, fact: Fact) {
        let Some(uetr) = uetr_of(text) else { return };
        let Some(lane) = lane_of(uetr) else { return };
        if let Some(lane) = self.0.read().get(usize::from(lane)) {
            // It may have given up.
            let _ = lane.send((uetr.to_owned(), fact));
        }
    }

    fn connect(&self, lanes: u16) -> Vec<mpsc::UnboundedReceiver<Told>> {
        let (tellers, listeners) = (0..lanes).map(|_| mpsc::unbounded_channel()).unzip();
        *self.0.write() = tellers;
        listeners
    }
}

/// What a payment is made of: path and body of both messages, and whether its end is told or is the second answer.
#[derive(Clone, Copy)]
pub struct Script {
    pub begin: fn(&Payment) -> (String, String),
    pub go_on: fn(&Payment) -> (String, String),
    pub end_is_told: bool,
}

#[derive(Clone)]
pub struct Driven {
    pub address: SocketAddr,
    pub token: String,
    pub script: Script,
    pub switchboard: Switchboard,
}

#[derive(Default)]
pub struct Tally {
    pub acknowledgements: Histogram,
    pub conversations: Histogram,
    pub failed: u64,
    pub lost: u64,
    pub late: u64,
    /// The first few of what went wrong.
    pub reasons: Vec<String>,
    /// Until the last payment was over.
    pub elapsed: Duration,
}

impl Tally {
    pub fn completed(&self) -> u64 {
        self.conversations.count()
    }

    fn add(&mut self, other: Tally) {
        self.acknowledgements.merge(&other.acknowledgements);
        self.conversations.merge(&other.conversations);
        self.failed += other.failed;
        self.lost += other.lost;
        self.late += other.late;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(REASONS_MAX);
    }
}

/// On a thread of its own. Payments of other runs have other uetrs.
pub async fn drive(driven: Driven, pace: Pace, duration: Duration) -> anyhow::Result<Tally> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(driven, pace, duration))).await?
}

async fn drive_all(driven: Driven, pace: Pace, duration: Duration) -> anyhow::Result<Tally> {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    let (run, begun) = (RUNS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let listeners = driven.switchboard.connect(pace.lanes);
    let lanes = (0..).zip(listeners).map(|(lane, told)| {
        let lane =
            Lane { driven: driven.clone(), pace, lane, run, begun, told, connection: None, tally: Tally::default() };
        tokio::spawn(lane.run(duration))
    });
    let lanes: Vec<_> = lanes.collect();
    let mut total = Tally::default();
    for lane in lanes {
        total.add(lane.await?);
    }
    total.elapsed = begun.elapsed();
    Ok(total)
}

struct Lane {
    driven: Driven,
    pace: Pace,
    lane: u16,
    run: u32,
    begun: Instant,
    told: mpsc::UnboundedReceiver<Told>,
    connection: Option<Connection>,
    tally: Tally,
}

/// How a payment came to nothing.
enum Miss {
    Failed(anyhow::Error),
    Lost(&'static str),
}

impl From<anyhow::Error> for Miss {
    fn from(error: anyhow::Error) -> Miss {
        Miss::Failed(error)
    }
}

impl Lane {
    async fn run(mut self, duration: Duration) -> Tally {
        for number in 0_u32.. {
            if let Some(per_second) = self.pace.per_second {
                let turns = f64::from(number) + f64::from(self.lane) / f64::from(self.pace.lanes);
                let at = self.begun + Duration::from_secs_f64(turns * f64::from(self.pace.lanes) / per_second);
                tokio::time::sleep_until(at.into()).await;
            }
            if self.begun.elapsed() >= duration {
                break;
            }
            let (payment, begun) = (Payment::new(self.run, self.lane, number), Instant::now());
            match self.pay(&payment).await {
                Ok(()) => self.tally.conversations.record(begun.elapsed().as_micros() as u64),
                Err(miss) => self.note(miss, &payment),
            }
        }
        self.tally
    }

    async fn pay(&mut self, payment: &Payment) -> Result<(), Miss> {
        let script = self.driven.script;
        self.send((script.begin)(payment)).await?;
        self.await_fact(payment, Fact::Approved).await?;
        self.send((script.go_on)(payment)).await?;
        if script.end_is_told { self.await_fact(payment, Fact::Completed).await } else { Ok(()) }
    }

    async fn send(&mut self, (path, body): (String, String)) -> anyhow::Result<()> {
        let request = request("POST", &path, &self.driven.token, &[], body.as_bytes());
        let begun = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.driven.address).await?,
        };
        let answer = connection.exchange(&request).await?;
        let taken = begun.elapsed();
        if !connection.is_closing() {
            self.connection = Some(connection);
        }
        ensure!(answer.status == 202, "{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
        self.tally.acknowledgements.record(taken.as_micros() as u64);
        self.tally.late += u64::from(taken > ACKNOWLEDGED_WITHIN);
        Ok(())
    }

    /// Facts about payments that were given up before are passed over.
    async fn await_fact(&mut self, payment: &Payment, wanted: Fact) -> Result<(), Miss> {
        let until = tokio::time::Instant::now() + TOLD_WITHIN;
        loop {
            let told = timeout(until.saturating_duration_since(tokio::time::Instant::now()), self.told.recv()).await;
            match told {
                Ok(Some((uetr, fact))) if uetr == payment.uetr && fact == wanted => return Ok(()),
                Ok(Some((uetr, Fact::Rejected))) if uetr == payment.uetr => {
                    return Err(Miss::Failed(anyhow::anyhow!("{uetr} was rejected")));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Err(Miss::Lost("nobody told what became of it")),
            }
        }
    }

    fn note(&mut self, miss: Miss, payment: &Payment) {
        let reason = match miss {
            Miss::Failed(error) => {
                self.tally.failed += 1;
                self.connection = None;
                format!("{error:#}")
            }
            Miss::Lost(why) => {
                self.tally.lost += 1;
                format!("{}: {why}", payment.uetr)
            }
        };
        if self.tally.reasons.len() < REASONS_MAX {
            self.tally.reasons.push(reason);
        }
    }
}
