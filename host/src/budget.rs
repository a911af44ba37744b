//! The memory that requests may use, of the whole host and of each tenant.
//!
//! Owns two sums, which are separate because a body waits for its call, and bodies alone must not keep every call from
//! running:
//!
//! - `calls`: the memory of running guests and what the host holds for them (records that they read, questions, pending
//!   results, and changes until these are durable), their answers until the connection has taken them, and the chunks
//!   that streams have ready.
//! - `bodies`: request bodies from their first byte to the end of the call, the questions of a waiting call, and their
//!   replies.
//!
//! Within each sum one tenant, or one address of callers without a key, may hold its share.
//!
//! All other memory has limits of its own: the overlay, the queue of the committer, caches of the database, buffers of
//! connections, slots of the pool. `machine` reads how much memory and how many files are available.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use tokio::time::Instant;

use crate::{
    fair::{AcquireError, Bounds, Fair, Permit, Queueing, Request},
    limits::{BODIES_PERCENT, CALL_MEMORY_BYTES_MIN, MEMORY_WAITING_EACH_MAX, MEMORY_WAITING_MAX},
};

pub mod machine;

/// Tenant, or address of a caller without a key.
pub type Party = Arc<str>;

/// Settings of the request memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Limit of bodies, running calls, answers and streams together.
    pub budget_bytes: u64,
    /// Percentage of each sum that one tenant may use.
    pub tenant_percent: u64,
}

pub struct Budget {
    calls: Arc<Fair<Party>>,
    bodies: Arc<Fair<Party>>,
    /// Bytes of answers and of streams. Both are part of `calls`.
    answers: Arc<AtomicU64>,
    streams: Arc<AtomicU64>,
}

/// Bytes that are charged until this is dropped.
pub struct Charge {
    permit: Permit<Party>,
    /// A gauge that also counts the bytes.
    gauge: Option<Gauge>,
}

struct Gauge {
    sum: Arc<AtomicU64>,
    bytes: u64,
}

/// Usage of one part of the budget, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetReading {
    pub kind: &'static str,
    pub used: u64,
    pub limit: u64,
    pub waiting: usize,
}

impl BudgetReading {
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

    /// Charges a call before it runs. A first estimate is capped so that a few calls of one tenant can begin. A call
    /// that needs more grows its charge while it runs.
    pub async fn charge_call(&self, party: &Party, request: Request, until: Instant) -> Result<Charge, AcquireError> {
        self.calls.acquire(party, request, until).await.map(Charge::from)
    }

    /// Returns the maximum of the first estimate of a call.
    pub fn estimate_max(&self) -> u64 {
        (self.calls.bounds().share / 4).max(CALL_MEMORY_BYTES_MIN)
    }

    /// Returns the limit of calls, answers and streams together.
    pub fn calls_limit(&self) -> u64 {
        self.calls.bounds().capacity
    }

    /// Charges a body before it is read.
    pub async fn charge_body(&self, party: &Party, bytes: u64, until: Instant) -> Result<Charge, AcquireError> {
        self.bodies.acquire(party, Request::of(bytes), until).await.map(Charge::from)
    }

    /// Charges what a call receives after it has begun. Never waits: returns `None` if there is no capacity.
    pub async fn charge_arrived(&self, party: &Party, bytes: u64) -> Option<Charge> {
        let mut charge = self.charge_body(party, 0, Instant::now()).await.ok()?;
        charge.grow_to(bytes).then_some(charge)
    }

    /// Charges the bytes that a stream has ready for its reader. The stream was admitted before, so the request is
    /// never rejected for a full queue.
    pub async fn charge_stream(&self, party: &Party, bytes: u64, until: Instant) -> Result<Charge, AcquireError> {
        let request = Request { queueing: Queueing::Reserved, ..Request::of(bytes) };
        let permit = self.calls.acquire(party, request, until).await?;
        Ok(Charge::from(permit).counted_in(&self.streams))
    }

    /// Reduces the charge of an ended call to the bytes of its answer. The caller holds the charge until the answer is
    /// sent.
    pub fn keep_answer(&self, mut charge: Charge, bytes: u64) -> Charge {
        charge.shrink_to(bytes);
        charge.counted_in(&self.answers)
    }

    pub fn readings(&self) -> [BudgetReading; 4] {
        let (answers, streams) = (self.answers.load(Ordering::Relaxed), self.streams.load(Ordering::Relaxed));
        let running = self.calls.used().saturating_sub(answers).saturating_sub(streams);
        let limit = self.calls.bounds().capacity;
        [
            BudgetReading { kind: "calls", used: running, limit, waiting: self.calls.waiting() },
            BudgetReading { kind: "answers", used: answers, limit, waiting: 0 },
            BudgetReading { kind: "streams", used: streams, limit, waiting: 0 },
            BudgetReading {
                kind: "bodies",
                used: self.bodies.used(),
                limit: self.bodies.bounds().capacity,
                waiting: self.bodies.waiting(),
            },
        ]
    }
}

impl From<Permit<Party>> for Charge {
    fn from(permit: Permit<Party>) -> Charge {
        Charge { permit, gauge: None }
    }
}

impl Charge {
    pub fn bytes(&self) -> u64 {
        self.permit.amount()
    }

    /// Grows the charge without waiting. Returns `false` if the budget or the share of the tenant has no capacity.
    pub fn grow_to(&mut self, bytes: u64) -> bool {
        let grows = self.permit.grow_to(bytes);
        self.update_gauge();
        grows
    }

    pub fn shrink_to(&mut self, bytes: u64) {
        self.permit.shrink_to(bytes);
        self.update_gauge();
    }

    /// Moves `bytes` bytes to a new charge, or all if the charge has fewer.
    pub fn split(&mut self, bytes: u64) -> Charge {
        let split = Charge::from(self.permit.split(bytes));
        self.update_gauge();
        split
    }

    fn update_gauge(&mut self) {
        let bytes = self.bytes();
        if let Some(gauge) = &mut self.gauge {
            // For a smaller charge the difference wraps, and so does the sum.
            gauge.sum.fetch_add(bytes.wrapping_sub(gauge.bytes), Ordering::Relaxed);
            gauge.bytes = bytes;
        }
    }

    /// Returns the charge, reduced by `bytes`.
    pub fn without(mut self, bytes: u64) -> Charge {
        self.shrink_to(self.bytes().saturating_sub(bytes));
        self
    }

    /// Returns the same bytes, which release the charge when the last reference to them is dropped.
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
        let (budget, acme) = (budget(), Party::from("acme/test"));
        let charge = budget.charge_call(&acme, Request::of(100), soon()).await.unwrap();
        let bytes = budget.keep_answer(charge, 40).attach(Bytes::from_static(b"answer"));
        let part = bytes.slice(1..3);
        drop(bytes);
        assert_eq!((budget.readings()[0].used, budget.readings()[1].used), (0, 40));
        drop(part);
        assert_eq!((budget.readings()[1].used, budget.calls.used()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn stream_gauge_follows_the_charges() {
        let (budget, acme) = (budget(), Party::from("acme/test"));
        let mut charge = budget.charge_stream(&acme, 40, soon()).await.unwrap();
        assert!(charge.grow_to(60) && !charge.grow_to(1_000));
        assert_eq!(budget.readings()[2].used, 60);
        charge.shrink_to(10);
        assert_eq!(budget.readings()[2].used, 10);
        drop(charge);
        assert_eq!(budget.readings()[2].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn only_tenant_at_its_share_waits() {
        let (budget, acme, globex) = (budget(), Party::from("acme/test"), Party::from("globex/test"));
        let _held = budget.charge_call(&acme, Request::of(150), soon()).await.unwrap();
        assert_eq!(budget.charge_call(&acme, Request::of(1), soon()).await.err(), Some(AcquireError::TimedOut));
        assert!(budget.charge_call(&globex, Request::of(100), soon()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn data_received_during_a_call_is_charged_without_waiting() {
        let (budget, acme, globex) = (budget(), Party::from("acme/test"), Party::from("globex/test"));
        let held = budget.charge_arrived(&acme, 90).await.unwrap();
        assert_eq!(budget.readings()[3].used, 90);
        assert!(budget.charge_arrived(&acme, 5).await.is_none(), "acme has its share");
        assert!(budget.charge_arrived(&globex, 20).await.is_none(), "the sum is full");
        drop(held);
        assert!(budget.charge_arrived(&globex, 20).await.is_some());
        assert_eq!(budget.readings()[3].used, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_leave_memory_for_the_calls_they_wait_for() {
        let (budget, acme) = (budget(), Party::from("acme/test"));
        let _body = budget.charge_body(&acme, 50, soon()).await.unwrap();
        assert_eq!(budget.charge_body(&acme, 50, soon()).await.err(), Some(AcquireError::TimedOut));
        assert!(budget.charge_call(&acme, Request::of(150), soon()).await.is_ok());
    }
}
