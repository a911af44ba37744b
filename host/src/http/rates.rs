//! Rate limits: a token bucket for each plugin and caller. A caller is a principal, or the address of a request without
//! a credential. The token endpoint has buckets for each address and each OAuth client.
//!
//! Buckets survive a swap as long as the configured numbers stay the same. Each process has its own buckets, so several
//! hosts on one database count independently.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
};
use http::{HeaderMap, HeaderValue, header};
use parking_lot::RwLock;

use crate::{config::PluginLimits, limits::RATE_CALLERS_MAX};

type Limiter = DefaultKeyedRateLimiter<Arc<str>, StateInformationMiddleware>;

/// Number of checks between two sweeps of idle buckets.
const CHECKS_PER_SWEEP: u32 = 4_096;

#[derive(Default)]
pub(super) struct Rates {
    plugins: RwLock<HashMap<Arc<str>, Arc<Buckets>>>,
    clock: DefaultClock,
}

struct Buckets {
    per_second: NonZeroU32,
    burst: NonZeroU32,
    limiter: Limiter,
    checks: AtomicU32,
}

/// The rate limit state of a caller after a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    limit: u32,
    remaining: u32,
    /// Seconds until the bucket is full again.
    reset_seconds: u32,
    /// Seconds in which an empty bucket becomes full.
    window_seconds: u32,
    /// Seconds to wait, if the request exceeded the limit.
    pub retry_after_seconds: Option<u64>,
}

impl Rates {
    /// Counts a request and returns the state of the caller. Returns `None` if the plugin has no limit.
    pub(super) fn check(&self, plugin: &Arc<str>, limits: &PluginLimits, caller: &Arc<str>) -> Option<Rate> {
        let per_second = NonZeroU32::new(limits.rate_per_second)?;
        let burst = NonZeroU32::new(limits.rate_burst).unwrap_or(per_second);
        let buckets = self.find_buckets(plugin, per_second, burst);
        if buckets.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_PER_SWEEP == CHECKS_PER_SWEEP - 1 {
            self.sweep(plugin, &buckets);
        }
        Some(match buckets.limiter.check_key(caller) {
            Ok(snapshot) => buckets.rate(snapshot.remaining_burst_capacity(), None),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                buckets.rate(0, Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)))
            }
        })
    }

    fn find_buckets(&self, plugin: &Arc<str>, per_second: NonZeroU32, burst: NonZeroU32) -> Arc<Buckets> {
        let fits = |buckets: &&Arc<Buckets>| buckets.per_second == per_second && buckets.burst == burst;
        if let Some(buckets) = self.plugins.read().get(plugin).filter(fits) {
            return Arc::clone(buckets);
        }
        let mut plugins = self.plugins.write();
        if let Some(buckets) = plugins.get(plugin).filter(fits) {
            return Arc::clone(buckets);
        }
        let limiter = RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst)).with_middleware();
        let buckets = Arc::new(Buckets { per_second, burst, limiter, checks: AtomicU32::new(0) });
        plugins.insert(Arc::clone(plugin), Arc::clone(&buckets));
        buckets
    }

    fn sweep(&self, plugin: &Arc<str>, buckets: &Buckets) {
        buckets.limiter.retain_recent();
        if buckets.limiter.len() > RATE_CALLERS_MAX {
            // Bounds memory: with more active callers, all buckets of the plugin are reset.
            self.plugins.write().remove(plugin);
        }
    }
}

impl Buckets {
    fn rate(&self, remaining: u32, retry_after_seconds: Option<u64>) -> Rate {
        let limit = self.burst.get();
        Rate {
            limit,
            remaining,
            reset_seconds: limit.saturating_sub(remaining).div_ceil(self.per_second.get()),
            window_seconds: limit.div_ceil(self.per_second.get()),
            retry_after_seconds,
        }
    }
}

impl Rate {
    /// Adds the widespread X- headers (reset in seconds from now), and those of the draft that will replace them
    /// (draft-ietf-httpapi-ratelimit-headers).
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        headers.insert("x-ratelimit-limit", HeaderValue::from(self.limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(self.remaining));
        headers.insert("x-ratelimit-reset", HeaderValue::from(self.reset_seconds));
        let policy = format!("\"default\";q={};w={}", self.limit, self.window_seconds);
        let state = format!("\"default\";r={};t={}", self.remaining, self.reset_seconds);
        for (name, value) in [("ratelimit-policy", policy), ("ratelimit", state)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rate_per_second: u32, rate_burst: u32) -> PluginLimits {
        PluginLimits { rate_per_second, rate_burst, ..PluginLimits::default() }
    }

    #[test]
    fn each_caller_has_a_bucket_per_plugin() {
        let rates = Rates::default();
        let (notes, things) = (Arc::from("notes"), Arc::from("things"));
        let (one, two) = (Arc::from("key_1"), Arc::from("key_2"));
        let limits = limits(1, 2);
        let remaining = |plugin, caller| rates.check(plugin, &limits, caller).unwrap().remaining;
        assert_eq!(remaining(&notes, &one), 1);
        assert_eq!(remaining(&notes, &one), 0);
        assert_eq!(rates.check(&notes, &limits, &one).unwrap().retry_after_seconds, Some(1));
        assert_eq!(remaining(&notes, &two), 1);
        assert_eq!(remaining(&things, &one), 1);
    }

    #[test]
    fn plugin_without_a_limit_is_not_counted() {
        assert_eq!(Rates::default().check(&Arc::from("notes"), &limits(0, 0), &Arc::from("key_1")), None);
    }

    #[test]
    fn headers_report_the_rate_limit_state() {
        let mut headers = HeaderMap::new();
        let rate = Rates::default().check(&Arc::from("notes"), &limits(2, 10), &Arc::from("key_1")).unwrap();
        rate.add_headers(&mut headers);
        assert_eq!(headers["x-ratelimit-limit"], "10");
        assert_eq!(headers["x-ratelimit-remaining"], "9");
        assert_eq!(headers["x-ratelimit-reset"], "1");
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=10;w=5");
        assert_eq!(headers["ratelimit"], "\"default\";r=9;t=1");
        assert!(!headers.contains_key("retry-after"));
    }
}
