//! Tasks and effects: runs and attempts by outcome, and those that wait or were given up.

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// Cheap to clone.
#[derive(Clone)]
pub struct TaskMetrics {
    runs: IntCounterVec,
    attempts: IntCounterVec,
    waiting: IntGaugeVec,
    given_up: IntGaugeVec,
    late: IntGaugeVec,
}

impl TaskMetrics {
    pub(super) fn register(registry: &Registry) -> Result<TaskMetrics, prometheus::Error> {
        let counter = |name: &str, help: &str| IntCounterVec::new(Opts::new(name, help), &["outcome"]);
        let gauge = |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &["kind"]);
        let metrics = TaskMetrics {
            runs: counter(
                "tenon_task_runs_total",
                "Runs of tasks, by outcome (done, later, fault, postponed, not-due, unwritten).",
            )?,
            attempts: counter(
                "tenon_effect_attempts_total",
                "Outgoing calls after a commit, by outcome (answered, or the failure).",
            )?,
            waiting: gauge("tenon_tasks_waiting", "Timers, and effects on their way.")?,
            given_up: gauge("tenon_tasks_given_up", "Those that wait for an operator.")?,
            late: gauge("tenon_tasks_late_seconds", "How long the earliest of them has been due.")?,
        };
        registry.register(Box::new(metrics.runs.clone()))?;
        registry.register(Box::new(metrics.attempts.clone()))?;
        for gauge in [&metrics.waiting, &metrics.given_up, &metrics.late] {
            registry.register(Box::new(gauge.clone()))?;
        }
        Ok(metrics)
    }

    /// Counts a run. `outcome` is one of a fixed set.
    pub fn count_run(&self, outcome: &str) {
        self.runs.with_label_values(&[outcome]).inc();
    }

    /// Counts an attempt. `outcome` is one of a fixed set.
    pub fn count_attempt(&self, outcome: &str) {
        self.attempts.with_label_values(&[outcome]).inc();
    }

    /// Sets the gauges of a kind. `kind`: "timer" or "effect".
    pub fn set_counts(&self, kind: &str, counts: TaskReading) {
        let TaskReading { waiting, given_up, late_ms } = counts;
        for (gauge, value) in [(&self.waiting, waiting), (&self.given_up, given_up), (&self.late, late_ms / 1_000)] {
            gauge.with_label_values(&[kind]).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}

/// Counts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskReading {
    pub waiting: u64,
    pub given_up: u64,
    /// How long the earliest one has been due, or 0.
    pub late_ms: u64,
}
