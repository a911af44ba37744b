//! The memory charge of a body, and the limit of callers without a key while they send.
//!
//! Invariants: bodies of callers without a key that are still being read hold at most `ANONYMOUS_BODIES_PERCENT` of the
//! memory for bodies, and one address at most its share of that, or one body. A body acquires its part of that limit
//! before its memory. A body that waits for the limit therefore holds no memory, and one that waits for memory holds
//! nothing but the share of its own address.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    budget::{Budget, Charge, Party},
    fair::{AcquireError, Bounds, Fair, Permit, Request},
    limits::{ANONYMOUS_BODIES_PERCENT, MEMORY_WAITING_EACH_MAX, MEMORY_WAITING_MAX},
};

/// The part of the memory for bodies that callers without a key may hold together while they send. Before a body is
/// complete, its sender alone decides how long that takes. Afterwards its call runs or is rejected.
pub(super) struct AnonymousBodies(Arc<Fair<Party>>);

impl AnonymousBodies {
    /// Creates the limit. `limit`: bytes of memory for all bodies. `share_percent`: percentage of the part that one
    /// address may hold.
    pub fn new(limit: u64, share_percent: u64) -> AnonymousBodies {
        let capacity = (limit / 100 * ANONYMOUS_BODIES_PERCENT).max(1);
        AnonymousBodies(Fair::new(Bounds {
            capacity,
            share: capacity / 100 * share_percent,
            waiting_max: MEMORY_WAITING_MAX,
            waiting_each_max: MEMORY_WAITING_EACH_MAX,
        }))
    }

    async fn admit(&self, party: &Party, bytes: u64, until: Instant) -> Result<Permit<Party>, AcquireError> {
        self.0.acquire(party, Request::of(bytes), until).await
    }
}

/// Memory charge of a body while it is read, or of a stream over HTTP/2.
pub(super) struct BodyMemory {
    charge: Charge,
    /// Permit for as many bytes as the charge, if the caller has no key.
    anonymous: Option<Permit<Party>>,
}

impl BodyMemory {
    pub async fn take(
        budget: &Budget,
        anonymous: Option<&AnonymousBodies>,
        (party, bytes): (&Party, u64),
        until: Instant,
    ) -> Result<BodyMemory, AcquireError> {
        let anonymous = match anonymous {
            Some(limit) => Some(limit.admit(party, bytes, until).await?),
            None => None,
        };
        Ok(BodyMemory { charge: budget.charge_body(party, bytes, until).await?, anonymous })
    }

    /// Grows the charge to at least `needed` bytes without waiting. Doubles it, or grows it to `needed` if no more is
    /// free. Returns false without a change if `needed` bytes are not free either.
    pub fn grow_for(&mut self, needed: u64) -> bool {
        let held = self.charge.bytes();
        needed <= held || self.grow_to(needed.max(held.saturating_mul(2))) || self.grow_to(needed)
    }

    /// Grows the charge and the permit, or neither.
    fn grow_to(&mut self, bytes: u64) -> bool {
        let before = self.charge.bytes();
        if !self.charge.grow_to(bytes) {
            return false;
        }
        let grows = self.anonymous.as_mut().is_none_or(|permit| permit.grow_to(bytes));
        if !grows {
            self.charge.shrink_to(before);
        }
        grows
    }

    /// Releases all but `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        self.charge.shrink_to(bytes);
        if let Some(permit) = &mut self.anonymous {
            permit.shrink_to(bytes);
        }
    }

    /// Returns the charge of a body that has been read, which lasts until its call ends.
    pub fn into_charge(self) -> Charge {
        self.charge
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;
    use crate::budget::MemoryConfig;

    /// Returns a budget with 400 bytes for bodies, and 200 for one party.
    fn budget() -> Arc<Budget> {
        Budget::new(&MemoryConfig { budget_bytes: 1_600, tenant_percent: 50 })
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn charged(budget: &Budget) -> u64 {
        budget.readings()[3].used
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_waits_for_the_anonymous_limit_holds_no_memory() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(400, 100));
        let (one, other) = (Party::from("ip:10.0.0.1"), Party::from("ip:10.0.0.2"));
        let held = BodyMemory::take(&budget, Some(&anonymous), (&one, 200), soon()).await.unwrap();
        let mut waiting = Box::pin(BodyMemory::take(&budget, Some(&anonymous), (&other, 100), soon()));
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(charged(&budget), 200);
        let charge = held.into_charge();
        assert!(waiting.await.is_ok(), "a complete body no longer counts");
        drop(charge);
    }

    #[tokio::test(start_paused = true)]
    async fn address_at_its_share_does_not_delay_another() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(400, 25));
        let (one, other) = (Party::from("ip:10.0.0.1"), Party::from("ip:10.0.0.2"));
        let _held = BodyMemory::take(&budget, Some(&anonymous), (&one, 50), soon()).await.unwrap();
        let take = || Box::pin(BodyMemory::take(&budget, Some(&anonymous), (&one, 50), soon()));
        let mut waiting: Vec<_> = (0..8).map(|_| take()).collect();
        assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        assert!(BodyMemory::take(&budget, Some(&anonymous), (&other, 50), soon()).now_or_never().unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn address_that_waits_for_memory_holds_only_its_share_of_the_limit() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(400, 25));
        let (one, other) = (Party::from("ip:10.0.0.1"), Party::from("ip:10.0.0.2"));
        // Running calls hold half of the memory for bodies.
        let _bodies = budget.charge_body(&one, 200, soon()).await.unwrap();
        let take = || Box::pin(BodyMemory::take(&budget, Some(&anonymous), (&one, 25), soon()));
        let mut waiting: Vec<_> = (0..8).map(|_| take()).collect();
        assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        assert!(BodyMemory::take(&budget, Some(&anonymous), (&other, 150), soon()).now_or_never().unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn body_grows_in_both_limits_or_neither() {
        let (budget, anonymous) = (budget(), AnonymousBodies::new(400, 100));
        let one = Party::from("ip:10.0.0.1");
        let mut memory = BodyMemory::take(&budget, Some(&anonymous), (&one, 10), soon()).await.unwrap();
        assert!(memory.grow_for(15));
        assert_eq!((charged(&budget), anonymous.0.used()), (20, 20));
        assert!(memory.grow_for(150));
        assert!(memory.grow_for(160), "grows to 160, since 300 do not fit");
        assert_eq!((charged(&budget), anonymous.0.used()), (160, 160));
        assert!(memory.grow_for(200));
        assert!(!memory.grow_for(201));
        assert_eq!((charged(&budget), anonymous.0.used()), (200, 200));
        drop(memory);
        assert_eq!((charged(&budget), anonymous.0.used()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn body_that_fits_is_read_without_capacity_to_double_its_charge() {
        let budget = budget();
        let mut memory = BodyMemory::take(&budget, None, (&"acme/test".into(), 210), soon()).await.unwrap();
        assert!(memory.grow_for(390));
        assert_eq!(memory.into_charge().bytes(), 390);
    }
}
