//! Payments: rate of complete payments, latency of acknowledgements, and the effect of swaps of the plugin on both.
//!
//! Two scenarios. "Two hosts": a platform and a partner exchange messages. The generator submits payments and acts as
//! the payment scheme, which settles approved payments. "Partner": the generator acts as the platform.
//! Acknowledgements are measured where the generator waits for them. A payment ends when its completion is on the
//! partner's disk. Generator and hosts share the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use crate::{clearing::reconciliation::ResultCounts, histogram::Histogram};
use drive::{Pace, RunStats};
use scenario::PaymentScenario;

mod drive;
mod scenario;

/// Number of concurrent payments.
const WORKERS: u16 = 64;
const FULL: Pace = Pace { workers: WORKERS, per_second: None };
/// One payment at a time, with a pause after it.
const IDLE: Pace = Pace { workers: 1, per_second: Some(20.0) };
/// An acknowledgement after a longer time is late (spec/clearing: Limits).
pub const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PaymentReport {
    pub measured: Vec<PaymentLoad>,
    /// Violations found by the reconciliation of a scenario.
    pub wrong: Vec<String>,
}

/// A load: medians of the rounds, the maximum of all rounds, and sums of counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PaymentLoad {
    #[serde(rename = "scene")]
    pub scenario: String,
    pub load: String,
    pub swaps: usize,
    pub per_second: f64,
    /// Latency from the first message of a payment to its completion.
    pub p50_us: u64,
    pub p99_us: u64,
    pub acknowledged_p50_us: u64,
    pub acknowledged_p99_us: u64,
    pub acknowledged_p999_us: u64,
    pub acknowledged_max_us: u64,
    pub completed: u64,
    /// Payments that were acknowledged and never completed.
    pub lost: u64,
    /// Payments that were not acknowledged, or were rejected.
    pub failed: u64,
    /// Messages acknowledged after more than a second.
    pub late: u64,
    /// CPU time of all hosts of the scenario for each payment.
    pub computed_us: u64,
}

impl PaymentReport {
    pub fn find(&self, scenario: &str, load: &str) -> Option<&PaymentLoad> {
        self.measured.iter().find(|entry| entry.scenario == scenario && entry.load == load)
    }

    /// Renders the loads as a Markdown table.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| payments, load | payments/s | p50 ms | p99 ms | acknowledged p50 ms | p99 ms | p99.9 ms | max ms \
                        | lost | failed |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for entry in &self.measured {
            let ms = |us: u64| us as f64 / 1_000.0;
            let PaymentLoad { per_second, lost, failed, .. } = entry;
            text.push_str(&format!(
                "| {} | {per_second:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {lost} | {failed} |\n",
                entry.name(),
                ms(entry.p50_us),
                ms(entry.p99_us),
                ms(entry.acknowledged_p50_us),
                ms(entry.acknowledged_p99_us),
                ms(entry.acknowledged_p999_us),
                ms(entry.acknowledged_max_us),
            ));
        }
        text
    }
}

impl PaymentLoad {
    fn name(&self) -> String {
        let PaymentLoad { scenario, load, swaps, .. } = self;
        if *swaps == 0 { format!("{scenario}, {load}") } else { format!("{scenario}, {load}, {swaps} swaps") }
    }

    fn from_stats(round: &RunStats, cpu_time_ms: u64) -> PaymentLoad {
        let (acknowledgements, payments) = (&round.acknowledgements, &round.payments);
        let us = |histogram: &Histogram, percent| histogram.percentile_us(percent);
        PaymentLoad {
            per_second: round.completed() as f64 / round.elapsed.as_secs_f64().max(0.001),
            p50_us: us(payments, 50.0),
            p99_us: us(payments, 99.0),
            acknowledged_p50_us: us(acknowledgements, 50.0),
            acknowledged_p99_us: us(acknowledgements, 99.0),
            acknowledged_p999_us: us(acknowledgements, 99.9),
            acknowledged_max_us: acknowledgements.max_us(),
            completed: round.completed(),
            lost: round.lost,
            failed: round.failed,
            late: round.late,
            computed_us: cpu_time_ms * 1_000 / round.completed().max(1),
            ..PaymentLoad::default()
        }
    }

    fn median(rounds: &[PaymentLoad]) -> PaymentLoad {
        let median =
            |value: fn(&PaymentLoad) -> u64| median_of(rounds, |round| value(round) as f64).unwrap_or_default() as u64;
        let sum = |value: fn(&PaymentLoad) -> u64| rounds.iter().map(value).sum();
        PaymentLoad {
            per_second: median_of(rounds, |round| round.per_second).unwrap_or_default(),
            p50_us: median(|round| round.p50_us),
            p99_us: median(|round| round.p99_us),
            acknowledged_p50_us: median(|round| round.acknowledged_p50_us),
            acknowledged_p99_us: median(|round| round.acknowledged_p99_us),
            acknowledged_p999_us: median(|round| round.acknowledged_p999_us),
            acknowledged_max_us: rounds.iter().map(|round| round.acknowledged_max_us).max().unwrap_or_default(),
            completed: sum(|round| round.completed),
            lost: sum(|round| round.lost),
            failed: sum(|round| round.failed),
            late: sum(|round| round.late),
            computed_us: median(|round| round.computed_us),
            ..PaymentLoad::default()
        }
    }

    fn summary(&self) -> String {
        let ms = |us: u64| us as f64 / 1_000.0;
        format!(
            "{:.0}/s, p50 {:.1} ms, p99 {:.1} ms; acknowledged p50 {:.1}, p99 {:.1}, p99.9 {:.1}, at most {:.1} ms; {} lost, \
             {} failed, {} late; {} µs computed for each",
            self.per_second,
            ms(self.p50_us),
            ms(self.p99_us),
            ms(self.acknowledged_p50_us),
            ms(self.acknowledged_p99_us),
            ms(self.acknowledged_p999_us),
            ms(self.acknowledged_max_us),
            self.lost,
            self.failed,
            self.late,
            self.computed_us,
        )
    }
}

pub async fn measure(plan: &BenchPlan) -> anyhow::Result<PaymentReport> {
    let mut report = PaymentReport::default();
    for scenario in [PaymentScenario::two_hosts(plan).await?, PaymentScenario::partner(plan).await?] {
        measure_scenario(plan, scenario, &mut report).await?;
    }
    Ok(report)
}

/// Measures full load, idle load, half of the full load, and half and full load while the plugin is swapped.
async fn measure_scenario(
    plan: &BenchPlan,
    mut scenario: PaymentScenario,
    report: &mut PaymentReport,
) -> anyhow::Result<()> {
    let seconds = Duration::from_secs_f64(plan.warmup_seconds);
    scenario.run(FULL, seconds).await?;
    let full = measure_load(plan, &mut scenario, "full", FULL).await?;
    let half = Pace { per_second: Some(full.per_second / 2.0), ..FULL };
    report.measured.push(full);
    report.measured.push(measure_load(plan, &mut scenario, "idle", IDLE).await?);
    report.measured.push(measure_load(plan, &mut scenario, "half", half).await?);
    scenario.start_swapping().await?;
    report.measured.push(measure_load(plan, &mut scenario, "half, swapping", half).await?);
    report.measured.push(measure_load(plan, &mut scenario, "full, swapping", FULL).await?);
    match scenario.close().await {
        Ok(ResultCounts { completed, .. }) => {
            eprintln!("payments, reconciliation: {completed} completed on both sides, no difference")
        }
        Err(error) => report.wrong.push(format!("{error:#}")),
    }
    Ok(())
}

async fn measure_load(
    plan: &BenchPlan,
    scenario: &mut PaymentScenario,
    load: &str,
    pace: Pace,
) -> anyhow::Result<PaymentLoad> {
    let (mut rounds, mut swaps) = (Vec::new(), 0);
    for round in 1..=plan.rounds {
        let before_ms = scenario.cpu_time_ms()?;
        let (stats, swapped) = scenario.run(pace, Duration::from_secs_f64(plan.seconds)).await?;
        let measured = PaymentLoad::from_stats(&stats, scenario.cpu_time_ms()? - before_ms);
        swaps += swapped;
        eprintln!("payments, {}, {load}, round {round}: {} {:?}", scenario.name(), measured.summary(), stats.reasons);
        rounds.push(measured);
    }
    let (scenario, load) = (scenario.name().to_owned(), load.to_owned());
    Ok(PaymentLoad { scenario, load, swaps, ..PaymentLoad::median(&rounds) })
}
