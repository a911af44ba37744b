//! Limits how many calls of one plugin run at the same time and how many wait. Many calls of one plugin do not delay
//! those of others. Within a plugin, tenants share the permits, the slots of the pool, and the queue.
//!
//! Each generation has its own bulkhead, so that a new one does not wait for calls of the previous one. All generations
//! of a plugin share its part of the pool, which bounds the slots that they hold together.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    config::PluginLimits,
    fair::{AcquireError, Bounds, Fair, Permit, Queueing, Request, machine_cores},
    host_error::HostError,
    limits::TENANT_RUNS_PER_CORE,
};

/// Permits for running calls, and a bounded fair queue in front of them.
pub struct Bulkhead(Arc<Fair<Arc<str>>>);

/// Held while the guest runs.
pub type CallPermit = Permit<Arc<str>>;

/// Slots of the engine's pool for the calls of one plugin.
pub struct PoolPart(Arc<Fair<Arc<str>>>);

/// Returns the part of `whole` that one tenant may hold.
fn share(whole: usize, limits: &PluginLimits) -> u64 {
    (whole as u64).saturating_mul(limits.tenant_percent).div_ceil(100).max(1)
}

/// Returns how many calls of one tenant may run at the same time. More of them would only compete for the threads, and
/// each call of another tenant would wait for all of them whenever it returns from the database.
fn tenant_runs_max() -> u64 {
    TENANT_RUNS_PER_CORE.saturating_mul(machine_cores() as u64)
}

impl Bulkhead {
    /// Creates the bulkhead of a generation. `instances`: number of instances of the component that fit into the
    /// plugin's part of the pool. More calls would hold memory while they wait for slots.
    pub fn new(limits: &PluginLimits, instances: usize) -> Bulkhead {
        let calls = limits.calls.min(instances);
        Bulkhead(Fair::new(Bounds {
            capacity: calls as u64,
            share: share(calls, limits).min(tenant_runs_max()),
            waiting_max: limits.queue,
            waiting_each_max: usize::try_from(share(limits.queue, limits)).unwrap_or(usize::MAX),
        }))
    }

    /// Waits until the deadline for a permit. `party`: the tenant, or the address of a caller without a key. Fails with
    /// `Unavailable` if the queue, or the party's part of it, is full. `Queueing::Reserved` waits outside of these
    /// bounds.
    pub async fn take_permit(
        &self,
        party: &Arc<str>,
        queueing: Queueing,
        until: Instant,
    ) -> Result<CallPermit, HostError> {
        let request = Request { queueing, ..Request::of(1) };
        self.0.acquire(party, request, until).await.map_err(|error| match error {
            AcquireError::QueueFull => HostError::Unavailable,
            AcquireError::TimedOut => HostError::DeadlineExceeded,
        })
    }
}

impl PoolPart {
    pub fn new(slots: usize, limits: &PluginLimits) -> PoolPart {
        let capacity = slots as u64;
        let (waiting_max, waiting_each_max) = (usize::MAX, usize::MAX);
        PoolPart(Fair::new(Bounds { capacity, share: share(slots, limits), waiting_max, waiting_each_max }))
    }

    /// Returns true if `new` would return an equal value.
    pub fn matches(&self, slots: usize, limits: &PluginLimits) -> bool {
        let bounds = self.0.bounds();
        (bounds.capacity, bounds.share) == (slots as u64, share(slots, limits))
    }

    /// Returns how many instances fit. At least one, so that an instance that needs more than the part runs alone.
    pub fn instances(&self, slots: u32) -> usize {
        let instances = self.0.bounds().capacity / u64::from(slots.max(1));
        usize::try_from(instances).unwrap_or(usize::MAX).max(1)
    }

    /// Waits until the deadline for the slots of one instance. The queue is bounded by the bulkhead.
    pub async fn take_slots(&self, party: &Arc<str>, slots: u32, until: Instant) -> Result<CallPermit, HostError> {
        let request = Request { queueing: Queueing::Reserved, ..Request::of(slots.into()) };
        self.0.acquire(party, request, until).await.map_err(|_late| HostError::DeadlineExceeded)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn bulkhead(calls: usize, queue: usize) -> Bulkhead {
        Bulkhead::new(&PluginLimits { calls, queue, ..PluginLimits::default() }, calls)
    }

    #[tokio::test]
    async fn full_queue_rejects_at_once_and_a_free_permit_goes_to_the_first_waiting_call() {
        let (bulkhead, acme) = (bulkhead(1, 1), Arc::from("acme/test"));
        let permit = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap();
        let mut first = Box::pin(bulkhead.take_permit(&acme, Queueing::Bounded, soon()));
        assert!((&mut first).now_or_never().is_none());
        let rejected = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await;
        assert_eq!(rejected.err(), Some(HostError::Unavailable));
        drop(permit);
        assert!(first.await.is_ok());
    }

    #[tokio::test]
    async fn call_that_waits_past_its_deadline_leaves_the_queue() {
        let (bulkhead, acme) = (bulkhead(1, 1), Arc::from("acme/test"));
        let _permit = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap();
        let late = bulkhead.take_permit(&acme, Queueing::Bounded, Instant::now()).await;
        assert_eq!(late.err(), Some(HostError::DeadlineExceeded));
        assert!(bulkhead.take_permit(&acme, Queueing::Bounded, soon()).now_or_never().is_none());
    }

    #[tokio::test]
    async fn tenant_at_its_limit_leaves_permits_and_queue_entries_to_others() {
        let (bulkhead, acme, globex) = (bulkhead(4, 2), Arc::from("acme/test"), Arc::from("globex/test"));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap());
        }
        let mut waiting = Box::pin(bulkhead.take_permit(&acme, Queueing::Bounded, soon()));
        assert!((&mut waiting).now_or_never().is_none(), "half of the permits are for others");
        let rejected = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await;
        assert_eq!(rejected.err(), Some(HostError::Unavailable), "and so is half of the queue");
        assert!(bulkhead.take_permit(&globex, Queueing::Bounded, soon()).now_or_never().is_some());
    }

    #[tokio::test]
    async fn component_with_many_memories_runs_as_many_calls_as_its_part_of_the_pool_has_room_for() {
        let (limits, acme) = (PluginLimits { calls: 64, ..PluginLimits::default() }, Arc::from("acme/test"));
        let part = PoolPart::new(128, &limits);
        assert_eq!([1, 2, 3, 8, 200].map(|slots| part.instances(slots)), [128, 64, 42, 16, 1]);
        let bulkhead = Bulkhead::new(&limits, part.instances(8));
        let mut held = Vec::new();
        while let Some(permit) = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).now_or_never() {
            held.push(permit.ok().unwrap());
        }
        assert_eq!(held.len(), 8, "half of 16");
    }

    #[tokio::test]
    async fn generations_of_a_plugin_share_its_part_of_the_pool() {
        let (acme, globex) = (Arc::from("acme/test"), Arc::from("globex/test"));
        let part = PoolPart::new(128, &PluginLimits::default());
        let mut held = Vec::new();
        for slots in [1; 8].into_iter().chain([8; 7]) {
            held.push(part.take_slots(&acme, slots, soon()).now_or_never().unwrap().ok().unwrap());
        }
        assert!(part.take_slots(&acme, 8, soon()).now_or_never().is_none(), "half of the slots are for others");
        for slots in [8; 8] {
            held.push(part.take_slots(&globex, slots, soon()).now_or_never().unwrap().ok().unwrap());
        }
        assert!(part.take_slots(&Arc::from("third/test"), 1, soon()).now_or_never().is_none());
    }
}
