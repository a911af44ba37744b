//! The memory that requests may use: of the whole host, and of each tenant.
//!
//! Owns two sums. `calls`: the memory of running guests and what the host holds for them (records that they read, questions, results on
//! their way, and changes until these are durable), and of their answers until the connection has taken them; and what streams
//! have ready. `bodies`: request bodies, from their first byte to the end of the call, the questions of a call that waits, and
//! their replies. They are apart because a body waits for its call: bodies alone must not
//! keep every call from running. Within each sum one tenant, or one address of callers without a key, may hold its share.
//!
//! All other memory has bounds of its own: the overlay, the queue of the committer, caches of the database,
//! buffers of connections, slots of the pool. `machine` reads how much memory there is, and how many files.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use tokio::time::Instant;

use crate::{
    fair::{Bounds, Fair, NotGranted, Permit, Queueing, Request},
    limits::{BODIES_PERCENT, CALL_MEMORY_BYTES_MIN, MEMORY_WAITING_EACH_MAX, MEMORY_WAITING_MAX},
};

pub mod machine;

/// Tenant, or address of a caller without a key.
pub type Payer = Arc<str>;

/// Settings of the memory of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Bodies, running calls and answers together.
    pub budget_bytes: u64,
    /// Share of it that one tenant may use.
    pub tenant_percent: u64,
}

pub struct Budget {
    calls: Arc<Fair<Payer>>,
    bodies: Arc<Fair<Payer>>,
    /// Bytes of answers and of streams; both are part of `calls`.
    answers: Arc<AtomicU64>,
    streams: Arc<AtomicU64>,
}

/// Bytes that are counted until this is dropped.
pub struct Charge {
    permit: Permit<Payer>,
    /// The gauge that shows them besides.
    gauge: Option<Gauge>,
}

struct Gauge {
    sum: Arc<AtomicU64>,
    bytes: u64,
}

/// Use of one part of the budget, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub kind: &'static str,
    pub used: u64,
    pub limit: u64,
    pub waiting: usize,
}

impl Reading {
    pub const KINDS: [&'static str; 4] = ["calls", "answers", "streams", "bodies"];
}

impl Budget {
    pub fn new(config: &MemoryConfig) -> Arc<Budget> {
        let bodies = config.budget_bytes / 100 * BODIES_PERCENT;
        let sum = |capacity: u64| {
            Fair::new(Bounds {
                capacity,
                share: capacity / 100 * config.tenant_percent,
                waiting_max: MEMORY_WAITING_MAX,
                waiting_each_max: MEMORY_WAITING_EACH_MAX,
            })
        };
        Arc::new(Budget {
            calls: sum(config.budget_bytes - bodies),
            bodies: sum(bodies),
            answers: Arc::default(),
            streams: Arc::default(),
        })
    }

    /// Charges a call before it runs. A first estimate is cut so that a few calls of one tenant can begin; a call that needs
    /// more takes more while it runs.
    pub async fn charge_call(&self, payer: &Payer, request: Request, until: Instant) -> Result<Charge, NotGranted> {
        self.calls.acquire(payer, request, until).await.map(Charge::from)
    }

    /// The most that the first estimate of a call may be.
    pub fn estimate_max(&self) -> u64 {
        (self.calls.bounds().share / 4).max(CALL_MEMORY_BYTES_MIN)
    }

    /// All that calls and answers may have.
    pub fn calls_limit(&self) -> u64 {
        self.calls.bounds().capacity
    }

    /// Charges a body before it is read.
    pub async fn charge_body(&self, payer: &Payer, bytes: u64, until: Instant) -> Result<Charge, NotGranted> {
        self.bodies.acquire(payer, Request::of(bytes), until).await.map(Charge::from)
    }

    /// Charges what a call receives after it has begun. It never waits: `None` where there is no room.
    pub async fn charge_arrived(&self, payer: &Payer, bytes: u64) -> Option<Charge> {
        let mut charge = self.charge_body(payer, 0, Instant::now()).await.ok()?;
        charge.grow_to(bytes).then_some(charge)
    }

    /// Charges the bytes that a stream has ready for its reader. The stream was admitted before, so it only waits.
    pub async fn charge_stream(&self, payer: &Payer, bytes: u64, until: Instant) -> Result<Charge, NotGranted> {
        let request = Request { queueing: Queueing::Reserved, ..Request::of(bytes) };
        let permit = self.calls.acquire(payer, request, until).await?;
        Ok(Charge::from(permit).counted_in(&self.streams))
    }

    /// The charge of a call that has ended, for as long as its answer is under way.
    pub fn keep_answer(&self, mut charge: Charge, bytes: u64) -> Charge {
        charge.shrink_to(bytes);
        charge.counted_in(&self.answers)
    }

    pub fn readings(&self) -> [Reading; 4] {
        let (answers, streams) = (self.answers.load(Ordering::Relaxed), self.streams.load(Ordering::Relaxed));
        let running = self.calls.used().saturating_sub(answers).saturating_sub(streams);
        let limit = self.calls.bounds().capacity;
        [
            Reading { kind: "calls", used: running, limit, waiting: self.calls.waiting() },
            Reading { kind: "answers", used: answers, limit, waiting: 0 },
            Reading { kind: "streams", used: streams, limit, waiting: 0 },
            Reading {
                kind: "bodies",
                used: self.bodies.used(),
                limit: self.bodies.bounds().capacity,
                waiting: self.bodies.waiting(),
            },
        ]
    }
}

impl From<Permit<Payer>> for Charge {
    fn from(permit: Permit<Payer>) -> Charge {
        Charge { permit, gauge: None }
    }
}

impl Charge {
    pub fn bytes(&self) -> u64 {
        self.permit.amount()
    }

    /// Takes more without waiting; `false` where the budget or the share of the tenant has no room.
    pub fn grow_to(&mut self, bytes: u64) -> bool {
        let grows = self.permit.grow_to(bytes);
        self.update_gauge();
        grows
    }

    pub fn shrink_to(&mut self, bytes: u64) {
        self.permit.shrink_to(bytes);
        self.update_gauge();
    }

    /// Moves so many bytes, or all of them, to a charge of their own.
    pub fn split(&mut self, bytes: u64) -> Charge {
        let split = Charge::from(self.permit.split(bytes));
        self.update_gauge();
        split
    }

    fn update_gauge(&mut self) {
        let bytes = self.bytes();
        if let Some(gauge) = &mut self.gauge {
            // A smaller charge wraps, and so does the sum.
            gauge.sum.fetch_add(bytes.wrapping_sub(gauge.bytes), Ordering::Relaxed);
            gauge.bytes = bytes;
        }
    }

    /// The same charge, less so many bytes.
    pub fn without(mut self, bytes: u64) -> Charge {
        self.shrink_to(self.bytes().saturating_sub(bytes));
        self
    }

    /// The same bytes, which release the charge when the last reference to them is dropped.
    pub fn attach(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Charged { bytes, _charge: self })
    }

    fn counted_in(mut self, sum: &Arc<AtomicU64>) -> Charge {
        let bytes = self.bytes();
        sum.fetch_add(bytes, Ordering::Relaxed);
        self.gauge = Some(Gauge { sum: sum.clone(), bytes });
        self
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct Charged {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn budget() -> Arc<Budget> {
        Budget::new(&MemoryConfig { budget_bytes: 400, tenant_percent: 50 })
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_charged_until_its_bytes_are_dropped() {
        let (budget, acme) = (budget(), Payer::from("acme/test"));
        let charge = budget.charge_call(&acme, Request::of(100), soon()).await.unwrap();
        let bytes = budget.keep_answer(charge, 40).attach(Bytes::from_static(b"answer"));
        let part = bytes.slice(1..3);
        drop(bytes);
        assert_eq!((budget.readings()[0].used, budget.readings()[1].used), (0, 40));
        drop(part);
        assert_eq!((budget.readings()[1].used, budget.calls.used()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn reading_of_streams_follows_their_charges() {
        let (budget, acme) = (budget(), Payer::from("acme/test"));
        let mut charge = budget.charge_stream(&acme, 40, soon()).await.unwrap();
        assert!(charge.grow_to(60) && !charge.grow_to(1_000));
        assert_eq!(budget.readings()[2].used, 60);
        charge.shrink_to(10);
        assert_eq!(budget.readings()[2].used, 10);
        drop(charge);
        assert_eq!(budget.readings()[2].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn tenant_that_holds_its_share_waits_and_others_do_not() {
        let (budget, acme, globex) = (budget(), Payer::from("acme/test"), Payer::from("globex/test"));
        let _held = budget.charge_call(&acme, Request::of(150), soon()).await.unwrap();
        assert_eq!(budget.charge_call(&acme, Request::of(1), soon()).await.err(), Some(NotGranted::Late));
        assert!(budget.charge_call(&globex, Request::of(100), soon()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_for_a_call_is_charged_without_waiting() {
        let (budget, acme, globex) = (budget(), Payer::from("acme/test"), Payer::from("globex/test"));
        let held = budget.charge_arrived(&acme, 90).await.unwrap();
        assert_eq!(budget.readings()[3].used, 90);
        assert!(budget.charge_arrived(&acme, 5).await.is_none(), "acme has its share");
        assert!(budget.charge_arrived(&globex, 20).await.is_none(), "the sum is full");
        drop(held);
        assert!(budget.charge_arrived(&globex, 20).await.is_some());
        assert_eq!(budget.readings()[3].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_leave_room_for_the_calls_they_wait_for() {
        let (budget, acme) = (budget(), Payer::from("acme/test"));
        let _body = budget.charge_body(&acme, 50, soon()).await.unwrap();
        assert_eq!(budget.charge_body(&acme, 50, soon()).await.err(), Some(NotGranted::Late));
        assert!(budget.charge_call(&acme, Request::of(150), soon()).await.is_ok());
    }
}
