//! Tasks and effects: runs and attempts by what they came to, what waits, what was given up.

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

use crate::{
    changes::{change_set::Timestamp, timer::TaskKind},
    db::tasks::TaskCounts,
    plugin::call::TaskEnd,
};

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
        let counter = |name: &str, what: &str| IntCounterVec::new(Opts::new(name, what), &["outcome"]);
        let gauge = |name: &str, what: &str| IntGaugeVec::new(Opts::new(name, what), &["kind"]);
        let metrics = TaskMetrics {
            runs: counter(
                "tenon_task_runs_total",
                "Runs of tasks, by outcome (done, later, fault, postponed, not-due).",
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

    pub fn count_run(&self, end: &TaskEnd) {
        let outcome = match end {
            TaskEnd::Done => "done",
            TaskEnd::Later { .. } => "later",
            TaskEnd::NotDue => "not-due",
            TaskEnd::Fault(_) => "fault",
            TaskEnd::Postponed(_) => "postponed",
        };
        self.runs.with_label_values(&[outcome]).inc();
    }

    /// `outcome` is one of a fixed set.
    pub fn count_attempt(&self, outcome: &str) {
        self.attempts.with_label_values(&[outcome]).inc();
    }

    pub fn set_counts(&self, kind: TaskKind, counts: &TaskCounts, now: Timestamp) {
        let label = match kind {
            TaskKind::Timer => "timer",
            TaskKind::Effect => "effect",
        };
        let late_ms = counts.earliest.map_or(0, |due| now.saturating_sub(due));
        let gauges =
            [(&self.waiting, counts.waiting), (&self.given_up, counts.given_up), (&self.late, late_ms / 1_000)];
        for (gauge, value) in gauges {
            gauge.with_label_values(&[label]).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }
}
