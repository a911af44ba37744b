//! Limits concurrent questions and password computations: one limit for the host, and one for each plugin and tenant.
//!
//! A tenant that exceeds its limit, or whose receivers are slow, delays only itself. The number of waiting calls of a
//! tenant is bounded, and further ones are rejected.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Plugin, and the tenant or the address of a caller without a key.
pub(super) type LimiterKey = (Arc<str>, Arc<str>);

/// Permits that callers share by plugin and tenant.
pub(super) struct TenantLimiter {
    all: Arc<Semaphore>,
    key_max: usize,
    key_waiting_max: usize,
    by_key: Mutex<HashMap<LimiterKey, Arc<Semaphore>>>,
}

/// Permits of one call, released when the value is dropped.
pub(super) struct LimiterPermit {
    _own: Option<OwnedSemaphorePermit>,
    _shared: Option<OwnedSemaphorePermit>,
}

impl TenantLimiter {
    /// Creates a limiter with `all` permits. One plugin and tenant may hold `key_max` of them, and `key_waiting_max` of
    /// its calls may wait.
    pub fn new(all: usize, key_max: usize, key_waiting_max: usize) -> TenantLimiter {
        TenantLimiter { all: Arc::new(Semaphore::new(all)), key_max, key_waiting_max, by_key: Mutex::default() }
    }

    /// Waits for a permit. Returns `None` if too many calls of the key already wait.
    pub async fn acquire(&self, key: LimiterKey) -> Option<LimiterPermit> {
        let own = {
            let mut by_key = self.by_key.lock();
            if !by_key.contains_key(&key) {
                // Unused semaphores are removed and created again when needed.
                by_key.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            }
            let semaphore = by_key.entry(key).or_insert_with(|| Arc::new(Semaphore::new(self.key_max)));
            // Each permit and each waiting call holds a reference, and so does the map.
            if Arc::strong_count(semaphore) > self.key_max.saturating_add(self.key_waiting_max) {
                return None;
            }
            semaphore.clone()
        };
        // The semaphores are never closed.
        let own_permit = own.acquire_owned().await.ok();
        let shared_permit = self.all.clone().acquire_owned().await.ok();
        Some(LimiterPermit { _own: own_permit, _shared: shared_permit })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn key(tenant: &str) -> LimiterKey {
        ("notes".into(), tenant.into())
    }

    #[tokio::test]
    async fn tenant_over_its_limit_delays_only_itself() {
        let limiter = TenantLimiter::new(8, 4, 8);
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(limiter.acquire(key("acme/test")).await.unwrap());
        }
        assert!(limiter.acquire(key("acme/test")).now_or_never().is_none());
        assert!(limiter.acquire(key("globex/test")).now_or_never().is_some());
        held.pop();
        assert!(limiter.acquire(key("acme/test")).now_or_never().is_some());
    }

    #[tokio::test]
    async fn call_is_next_after_many_waiting_calls_of_another_tenant() {
        let limiter = TenantLimiter::new(1, 1, 30);
        let first = limiter.acquire(key("acme/test")).await;
        let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(limiter.acquire(key("acme/test")))).collect();
        assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        let mut other = Box::pin(limiter.acquire(key("globex/test")));
        assert!((&mut other).now_or_never().is_none());
        drop(first);
        // At most one of the waiting calls may be before it.
        let before = waiting.iter_mut().filter_map(|waiting| waiting.now_or_never()).count();
        assert!(before <= 1, "{before}");
        assert!(other.now_or_never().flatten().is_some());
    }

    #[tokio::test]
    async fn waiting_calls_of_a_tenant_are_bounded_and_excess_calls_are_rejected_at_once() {
        let limiter = TenantLimiter::new(8, 2, 3);
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(limiter.acquire(key("acme/test")).await.unwrap());
        }
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(limiter.acquire(key("acme/test")))).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        assert!(limiter.acquire(key("acme/test")).await.is_none());
        assert!(limiter.acquire(key("globex/test")).await.is_some());
        held.clear();
        assert!(waiting.remove(0).await.is_some());
        waiting.clear();
        assert!(limiter.acquire(key("acme/test")).await.is_some(), "an abandoned call no longer counts");
    }
}
