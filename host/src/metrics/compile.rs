//! Compilations: number, duration and outcome.

use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts, Registry};

use super::InFlight;

/// Buckets in seconds. A small component takes a tenth, an interpreter ten.
const COMPILE_SECONDS: [f64; 10] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Metrics of compilations. Cheap to clone.
#[derive(Clone)]
pub struct CompileMetrics {
    running: IntGauge,
    seconds: Histogram,
    outcomes: IntCounterVec,
}

/// Outcome of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileOutcome {
    Compiled,
    /// The component is invalid.
    Invalid,
    /// The compilation exceeded its memory or time limit.
    Limit,
    /// A newer change replaced it, or the host shut down.
    Cancelled,
    /// The compiler process failed.
    Failed,
}

impl CompileOutcome {
    const ALL: [CompileOutcome; 5] = [
        CompileOutcome::Compiled,
        CompileOutcome::Invalid,
        CompileOutcome::Limit,
        CompileOutcome::Cancelled,
        CompileOutcome::Failed,
    ];

    fn name(self) -> &'static str {
        match self {
            CompileOutcome::Compiled => "compiled",
            CompileOutcome::Invalid => "invalid",
            CompileOutcome::Limit => "limit",
            CompileOutcome::Cancelled => "cancelled",
            CompileOutcome::Failed => "failed",
        }
    }
}

impl CompileMetrics {
    pub(super) fn register(registry: &Registry) -> Result<CompileMetrics, prometheus::Error> {
        let seconds = HistogramOpts::new("tenon_compile_seconds", "Time of one compilation, however it ended.");
        let metrics = CompileMetrics {
            running: IntGauge::new("tenon_compilations_running", "Processes that compile a component now.")?,
            seconds: Histogram::with_opts(seconds.buckets(COMPILE_SECONDS.to_vec()))?,
            outcomes: IntCounterVec::new(
                Opts::new(
                    "tenon_compilations_total",
                    "Compilations, by outcome (compiled, invalid, limit, cancelled, failed).",
                ),
                &["outcome"],
            )?,
        };
        for outcome in CompileOutcome::ALL {
            metrics.outcomes.with_label_values(&[outcome.name()]);
        }
        registry.register(Box::new(metrics.running.clone()))?;
        registry.register(Box::new(metrics.seconds.clone()))?;
        registry.register(Box::new(metrics.outcomes.clone()))?;
        Ok(metrics)
    }

    /// Counts a compilation as running until the value is dropped.
    pub fn begin(&self) -> InFlight {
        InFlight::new(&self.running)
    }

    pub fn observe(&self, outcome: CompileOutcome, seconds: f64) {
        self.outcomes.with_label_values(&[outcome.name()]).inc();
        self.seconds.observe(seconds);
    }
}
