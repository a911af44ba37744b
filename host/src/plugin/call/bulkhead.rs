//! How many calls of one plugin run at the same time, and how many may wait: a rush of one plugin is its own, and within a
//! plugin permits and places in the queue are shared by tenant.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    config::PluginLimits,
    failure::Failure,
    fair::{Bounds, Fair, NotGranted, Permit, Queueing, Request},
};

/// Permits for running calls, and a bounded fair queue in front of them.
pub struct Bulkhead(Arc<Fair<Arc<str>>>);

/// Held while the guest runs.
pub type CallPermit = Permit<Arc<str>>;

impl Bulkhead {
    pub fn new(limits: &PluginLimits) -> Bulkhead {
        let part = |whole: usize| (whole as u64).saturating_mul(limits.tenant_percent).div_ceil(100).max(1);
        Bulkhead(Fair::new(Bounds {
            capacity: limits.calls as u64,
            share: part(limits.calls),
            waiting_max: limits.queue,
            waiting_each_max: usize::try_from(part(limits.queue)).unwrap_or(usize::MAX),
        }))
    }

    /// `payer`: the tenant, or the address of a caller without a key. Waits until the deadline; `Unavailable` where the
    /// queue, or the tenant's part of it, is full already. A call that had a permit before waits outside of these bounds.
    pub async fn take_permit(
        &self,
        payer: &Arc<str>,
        queueing: Queueing,
        until: Instant,
    ) -> Result<CallPermit, Failure> {
        let request = Request { queueing, ..Request::of(1) };
        self.0.acquire(payer, request, until).await.map_err(|error| match error {
            NotGranted::Full => Failure::Unavailable,
            NotGranted::Late => Failure::DeadlineExceeded,
        })
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
        Bulkhead::new(&PluginLimits { calls, queue, ..PluginLimits::default() })
    }

    #[tokio::test]
    async fn full_queue_refuses_at_once_and_a_free_permit_goes_to_the_first_in_line() {
        let (bulkhead, acme) = (bulkhead(1, 1), Arc::from("acme/test"));
        let permit = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap();
        let mut first = Box::pin(bulkhead.take_permit(&acme, Queueing::Bounded, soon()));
        assert!((&mut first).now_or_never().is_none());
        let refused = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await;
        assert_eq!(refused.err(), Some(Failure::Unavailable));
        drop(permit);
        assert!(first.await.is_ok());
    }

    #[tokio::test]
    async fn call_that_waits_past_its_deadline_leaves_the_queue() {
        let (bulkhead, acme) = (bulkhead(1, 1), Arc::from("acme/test"));
        let _permit = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap();
        let late = bulkhead.take_permit(&acme, Queueing::Bounded, Instant::now()).await;
        assert_eq!(late.err(), Some(Failure::DeadlineExceeded));
        assert!(bulkhead.take_permit(&acme, Queueing::Bounded, soon()).now_or_never().is_none());
    }

    #[tokio::test]
    async fn tenant_with_as_many_calls_as_it_may_leaves_permits_and_places_to_others() {
        let (bulkhead, acme, globex) = (bulkhead(4, 2), Arc::from("acme/test"), Arc::from("globex/test"));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await.ok().unwrap());
        }
        let mut waiting = Box::pin(bulkhead.take_permit(&acme, Queueing::Bounded, soon()));
        assert!((&mut waiting).now_or_never().is_none(), "half of the permits are for others");
        let refused = bulkhead.take_permit(&acme, Queueing::Bounded, soon()).await;
        assert_eq!(refused.err(), Some(Failure::Unavailable), "and so is half of the queue");
        assert!(bulkhead.take_permit(&globex, Queueing::Bounded, soon()).now_or_never().is_some());
    }
}
