//! Webhooks: attempts by outcome, latency from commit to delivery, and waiting deliveries.

use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts, Registry};

use super::LATENCY_SECONDS;

/// Metrics of webhooks. Cheap to clone.
#[derive(Clone)]
pub struct DeliveryMetrics {
    attempts: IntCounterVec,
    seconds: Histogram,
    held: IntGauge,
    in_flight: IntGauge,
    oldest: IntGauge,
}

impl DeliveryMetrics {
    pub(super) fn register(registry: &Registry) -> Result<DeliveryMetrics, prometheus::Error> {
        let attempts = IntCounterVec::new(
            Opts::new("tenon_webhook_attempts_total", "Requests to endpoints, by outcome (delivered, or the failure)."),
            &["outcome"],
        )?;
        let seconds = Histogram::with_opts(
            HistogramOpts::new("tenon_webhook_seconds", "From the commit of an event to its delivery.")
                .buckets(LATENCY_SECONDS.to_vec()),
        )?;
        let held = IntGauge::new("tenon_webhook_waiting", "Deliveries in memory that wait for an attempt.")?;
        let in_flight = IntGauge::new("tenon_webhook_in_flight", "Attempts that are under way.")?;
        let oldest = IntGauge::new(
            "tenon_webhook_oldest_pending_seconds",
            "Age of the oldest event that waits for its first attempt at an endpoint that is enabled.",
        )?;
        registry.register(Box::new(oldest.clone()))?;
        registry.register(Box::new(attempts.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(held.clone()))?;
        registry.register(Box::new(in_flight.clone()))?;
        Ok(DeliveryMetrics { attempts, seconds, held, in_flight, oldest })
    }

    /// Counts an attempt, and observes the time of a delivery. `outcome` is one of a fixed set. `milliseconds`: time
    /// since the commit.
    pub fn attempt(&self, outcome: &str, milliseconds: u64, is_delivered: bool) {
        self.attempts.with_label_values(&[outcome]).inc();
        if is_delivered {
            self.seconds.observe(std::time::Duration::from_millis(milliseconds).as_secs_f64());
        }
    }

    /// Sets the age of the oldest pending event, 0 if none is pending.
    pub fn set_oldest_pending(&self, milliseconds: u64) {
        self.oldest.set(i64::try_from(milliseconds / 1_000).unwrap_or(i64::MAX));
    }

    pub fn set_waiting(&self, held: usize, in_flight: usize) {
        self.held.set(i64::try_from(held).unwrap_or(i64::MAX));
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
    }
}
