//! The request memory, and the connections of the interfaces.

use prometheus::{IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

use crate::budget::BudgetReading;

#[derive(Clone)]
pub struct MemoryMetrics {
    used: IntGaugeVec,
    limit: IntGaugeVec,
    waiting: IntGaugeVec,
    connections: IntGauge,
    refused: IntCounter,
    cut: IntCounter,
    flooded: IntCounter,
}

/// Counters of the interfaces' listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionReading {
    pub open: u64,
    /// Connections refused because their peer had too many.
    pub refused: u64,
    /// Connections closed because their peer did not read.
    pub cut: u64,
    /// Connections closed because their peer sent too many control frames, or too many of its requests were refused.
    pub flooded: u64,
}

impl MemoryMetrics {
    pub(super) fn register(registry: &Registry) -> Result<MemoryMetrics, prometheus::Error> {
        let by_kind = |name: &str, help: &str| {
            let gauge = IntGaugeVec::new(Opts::new(name, help), &["kind"])?;
            // Present from the start, before anything is charged.
            BudgetReading::KINDS.iter().for_each(|kind| gauge.with_label_values(&[kind]).set(0));
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(name, help)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        Ok(MemoryMetrics {
            used: by_kind("tenon_memory_used_bytes", "Memory that requests are charged with, by what it is used for.")?,
            limit: by_kind(
                "tenon_memory_limit_bytes",
                "What they may use; calls, answers and streams share one limit.",
            )?,
            waiting: by_kind("tenon_memory_waiting", "Requests that wait for memory.")?,
            connections: gauge("tenon_http_connections", "Open connections to the interfaces.")?,
            refused: counter(
                "tenon_http_connections_refused_total",
                "Connections that were closed at once because their peer had http.connections-per-peer-max of them.",
            )?,
            cut: counter(
                "tenon_http_connections_cut_total",
                "Connections that were closed because their peer did not read its answers.",
            )?,
            flooded: counter(
                "tenon_http_connections_flooded_total",
                "Connections that were closed because their peer sent too many control frames of HTTP/2, or too many requests \
                 that were refused.",
            )?,
        })
    }

    /// Updates all values for a scrape.
    pub fn set(&self, budget: &[BudgetReading], connections: ConnectionReading) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        for reading in budget {
            self.used.with_label_values(&[reading.kind]).set(number(reading.used));
            self.limit.with_label_values(&[reading.kind]).set(number(reading.limit));
            self.waiting.with_label_values(&[reading.kind]).set(number(reading.waiting as u64));
        }
        self.connections.set(number(connections.open));
        self.refused.inc_by(connections.refused.saturating_sub(self.refused.get()));
        self.cut.inc_by(connections.cut.saturating_sub(self.cut.get()));
        self.flooded.inc_by(connections.flooded.saturating_sub(self.flooded.get()));
    }
}
