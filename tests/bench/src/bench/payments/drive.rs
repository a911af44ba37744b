//! Workers that make payments: each submits one, waits for its approval, sends the second message, and continues with
//! the next.
//!
//! Times are measured at the sender: an acknowledgement takes from the first byte of a message to the last byte of its
//! response. If the message needs a new connection, the time includes the connection setup.

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
    clearing::message::{Payment, uetr_of, worker_of},
    histogram::Histogram,
    wire::{Connection, request},
};

/// Longer than the timeout of the payment scheme, after which no event arrives.
const EVENT_TIMEOUT: Duration = Duration::from_secs(70);
const REASONS_MAX: usize = 5;

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub workers: u16,
    /// Rate of all workers together. `None`: each worker starts its next payment after the previous payment has ended.
    pub per_second: Option<f64>,
}

/// Event that a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentEvent {
    Approved,
    Rejected,
    Completed,
}

/// Event of the payment with this uetr.
type Notification = (String, PaymentEvent);

/// Routes events to the workers that wait for them. Events of workers that have ended are dropped.
#[derive(Clone, Default)]
pub struct EventRouter(Arc<RwLock<Vec<mpsc::UnboundedSender<Notification>>>>);

impl EventRouter {
    /// Sends an event to the worker of the payment. `text` contains the uetr.
    pub fn route(&self, text: &str, event: PaymentEvent) {
        let Some(uetr) = uetr_of(text) else { return };
        let Some(worker) = worker_of(uetr) else { return };
        if let Some(sender) = self.0.read().get(usize::from(worker)) {
            // An error means that the worker has ended.
            let _ = sender.send((uetr.to_owned(), event));
        }
    }

    fn subscribe(&self, workers: u16) -> Vec<mpsc::UnboundedReceiver<Notification>> {
        let (senders, receivers) = (0..workers).map(|_| mpsc::unbounded_channel()).unzip();
        *self.0.write() = senders;
        receivers
    }
}

/// Messages of a payment: functions that return path and body of both, and whether a payment ends with an event or
/// with the response to the second message.
#[derive(Clone, Copy)]
pub struct PaymentFlow {
    pub first_message: fn(&Payment) -> (String, String),
    pub second_message: fn(&Payment) -> (String, String),
    pub awaits_completion_event: bool,
}

#[derive(Clone)]
pub struct LoadTarget {
    pub address: SocketAddr,
    pub token: String,
    pub flow: PaymentFlow,
    pub router: EventRouter,
}

#[derive(Default)]
pub struct RunStats {
    pub acknowledgements: Histogram,
    pub payments: Histogram,
    pub failed: u64,
    pub lost: u64,
    pub late: u64,
    /// The first errors.
    pub reasons: Vec<String>,
    /// Duration until the last payment ended.
    pub elapsed: Duration,
}

impl RunStats {
    pub fn completed(&self) -> u64 {
        self.payments.count()
    }

    fn add(&mut self, other: RunStats) {
        self.acknowledgements.merge(&other.acknowledgements);
        self.payments.merge(&other.payments);
        self.failed += other.failed;
        self.lost += other.lost;
        self.late += other.late;
        self.reasons.extend(other.reasons);
        self.reasons.truncate(REASONS_MAX);
    }
}

/// Runs the load on a thread of its own. The uetrs differ from those of other runs.
pub async fn drive(target: LoadTarget, pace: Pace, duration: Duration) -> anyhow::Result<RunStats> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::spawn_blocking(move || runtime.block_on(drive_all(target, pace, duration))).await?
}

async fn drive_all(target: LoadTarget, pace: Pace, duration: Duration) -> anyhow::Result<RunStats> {
    static RUNS: AtomicU32 = AtomicU32::new(1);
    let (run, started) = (RUNS.fetch_add(1, Ordering::Relaxed), Instant::now());
    let receivers = target.router.subscribe(pace.workers);
    let tasks = (0..).zip(receivers).map(|(number, events)| {
        let target = target.clone();
        let stats = RunStats::default();
        let worker = Worker { target, pace, number, run, started, events, connection: None, stats };
        tokio::spawn(worker.run(duration))
    });
    let tasks: Vec<_> = tasks.collect();
    let mut total = RunStats::default();
    for task in tasks {
        total.add(task.await?);
    }
    total.elapsed = started.elapsed();
    Ok(total)
}

struct Worker {
    target: LoadTarget,
    pace: Pace,
    number: u16,
    run: u32,
    started: Instant,
    events: mpsc::UnboundedReceiver<Notification>,
    connection: Option<Connection>,
    stats: RunStats,
}

/// Reason why a payment did not complete.
enum PaymentError {
    Failed(anyhow::Error),
    Lost(&'static str),
}

impl From<anyhow::Error> for PaymentError {
    fn from(error: anyhow::Error) -> PaymentError {
        PaymentError::Failed(error)
    }
}

impl Worker {
    async fn run(mut self, duration: Duration) -> RunStats {
        for number in 0_u32.. {
            if let Some(per_second) = self.pace.per_second {
                let workers = f64::from(self.pace.workers);
                let position = f64::from(number) + f64::from(self.number) / workers;
                let at = self.started + Duration::from_secs_f64(position * workers / per_second);
                tokio::time::sleep_until(at.into()).await;
            }
            if self.started.elapsed() >= duration {
                break;
            }
            let (payment, started) = (Payment::new(self.run, self.number, number), Instant::now());
            match self.pay(&payment).await {
                Ok(()) => self.stats.payments.record(started.elapsed().as_micros() as u64),
                Err(error) => self.record_error(error, &payment),
            }
        }
        self.stats
    }

    async fn pay(&mut self, payment: &Payment) -> Result<(), PaymentError> {
        let flow = self.target.flow;
        self.send((flow.first_message)(payment)).await?;
        self.await_event(payment, PaymentEvent::Approved).await?;
        self.send((flow.second_message)(payment)).await?;
        if flow.awaits_completion_event { self.await_event(payment, PaymentEvent::Completed).await } else { Ok(()) }
    }

    async fn send(&mut self, (path, body): (String, String)) -> anyhow::Result<()> {
        let request = request("POST", &path, &self.target.token, &[], body.as_bytes());
        let started = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.target.address).await?,
        };
        let response = connection.exchange(&request).await?;
        let elapsed = started.elapsed();
        if !connection.is_closing() {
            self.connection = Some(connection);
        }
        ensure!(response.status == 202, "{path}: {} {}", response.status, String::from_utf8_lossy(&response.body));
        self.stats.acknowledgements.record(elapsed.as_micros() as u64);
        self.stats.late += u64::from(elapsed > ACKNOWLEDGED_WITHIN);
        Ok(())
    }

    /// Waits for an event of this payment. Events of earlier payments that timed out are skipped.
    async fn await_event(&mut self, payment: &Payment, expected: PaymentEvent) -> Result<(), PaymentError> {
        let until = tokio::time::Instant::now() + EVENT_TIMEOUT;
        loop {
            let remaining = until.saturating_duration_since(tokio::time::Instant::now());
            match timeout(remaining, self.events.recv()).await {
                Ok(Some((uetr, event))) if uetr == payment.uetr && event == expected => return Ok(()),
                Ok(Some((uetr, PaymentEvent::Rejected))) if uetr == payment.uetr => {
                    return Err(PaymentError::Failed(anyhow::anyhow!("{uetr} was rejected")));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Err(PaymentError::Lost("no event within the timeout")),
            }
        }
    }

    fn record_error(&mut self, error: PaymentError, payment: &Payment) {
        let reason = match error {
            PaymentError::Failed(error) => {
                self.stats.failed += 1;
                self.connection = None;
                format!("{error:#}")
            }
            PaymentError::Lost(why) => {
                self.stats.lost += 1;
                format!("{}: {why}", payment.uetr)
            }
        };
        if self.stats.reasons.len() < REASONS_MAX {
            self.stats.reasons.push(reason);
        }
    }
}
