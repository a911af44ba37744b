//! Wallets: rates and latency of withdrawals, created addresses and signed messages, and the effect of swaps of the
//! plugin on withdrawals. An accepted request is answered, and therefore durable.
//!
//! One host with the shipped plugins.toml: screening, signatures, blockchains and webhooks are included. Each tenant
//! has a wallet on each of several blockchains. A withdrawal is complete when the webhook of its result has arrived. An
//! address is complete when it is screened. Generator, receiver and host share the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use drive::{Pace, RunStats, Work};
use scenario::WalletScenario;

mod drive;
mod scenario;

const FULL: Pace = Pace { connections: 64, per_second: None };

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WalletReport {
    pub measured: Vec<WalletLoad>,
    /// Differences between ledger, blockchains and webhooks.
    pub wrong: Vec<String>,
}

/// A load: medians of the rounds, the maximum of all rounds, and sums of counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WalletLoad {
    pub work: String,
    pub load: String,
    pub swaps: usize,
    /// Rate of requests answered with 2xx.
    pub per_second: f64,
    /// Rate of accepted requests, from the first request until all consequences are complete.
    pub done_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
    pub accepted: u64,
    /// Requests without a response, or with a status other than 2xx.
    pub failed: u64,
    /// CPU time of the host for each accepted request, consequences included.
    pub computed_us: u64,
}

impl WalletReport {
    pub fn find(&self, work: &str, load: &str) -> Option<&WalletLoad> {
        self.measured.iter().find(|entry| entry.work == work && entry.load == load)
    }

    /// Renders the loads as a Markdown table.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| wallets, load | accepted/s | done/s | p50 ms | p99 ms | max ms | failed | host, µs each |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for entry in &self.measured {
            let ms = |us: u64| us as f64 / 1_000.0;
            let WalletLoad { per_second, done_per_second, failed, computed_us, .. } = entry;
            text.push_str(&format!(
                "| {} | {per_second:.0} | {done_per_second:.0} | {:.1} | {:.1} | {:.1} | {failed} | {computed_us} |\n",
                entry.name(),
                ms(entry.p50_us),
                ms(entry.p99_us),
                ms(entry.max_us),
            ));
        }
        text
    }
}

impl WalletLoad {
    fn name(&self) -> String {
        let WalletLoad { work, load, swaps, .. } = self;
        if *swaps == 0 { format!("{work}, {load}") } else { format!("{work}, {load}, {swaps} swaps") }
    }

    fn from_stats(round: &RunStats, done_within: Duration, cpu_time_ms: u64) -> WalletLoad {
        let RunStats { latencies, failed, elapsed, .. } = round;
        let accepted = latencies.count();
        let per_second = |within: Duration| accepted as f64 / within.as_secs_f64().max(0.001);
        WalletLoad {
            per_second: per_second(*elapsed),
            done_per_second: per_second(done_within),
            p50_us: latencies.percentile_us(50.0),
            p99_us: latencies.percentile_us(99.0),
            max_us: latencies.max_us(),
            accepted,
            failed: *failed,
            computed_us: cpu_time_ms * 1_000 / accepted.max(1),
            ..WalletLoad::default()
        }
    }

    fn median(rounds: &[WalletLoad]) -> WalletLoad {
        let median = |value: fn(&WalletLoad) -> f64| median_of(rounds, value).unwrap_or_default();
        let sum = |value: fn(&WalletLoad) -> u64| rounds.iter().map(value).sum();
        WalletLoad {
            per_second: median(|round| round.per_second),
            done_per_second: median(|round| round.done_per_second),
            p50_us: median(|round| round.p50_us as f64) as u64,
            p99_us: median(|round| round.p99_us as f64) as u64,
            max_us: rounds.iter().map(|round| round.max_us).max().unwrap_or_default(),
            accepted: sum(|round| round.accepted),
            failed: sum(|round| round.failed),
            computed_us: median(|round| round.computed_us as f64) as u64,
            ..WalletLoad::default()
        }
    }

    fn summary(&self) -> String {
        let WalletLoad { per_second, done_per_second, p50_us, p99_us, max_us, failed, computed_us, .. } = self;
        let ms = |us: &u64| *us as f64 / 1_000.0;
        format!(
            "{per_second:.0}/s accepted, {done_per_second:.0}/s done, p50 {:.1} ms, p99 {:.1} ms, at most {:.1} ms, {failed} failed; \
             {computed_us} µs computed for each",
            ms(p50_us),
            ms(p99_us),
            ms(max_us),
        )
    }
}

pub async fn measure(plan: &BenchPlan) -> anyhow::Result<WalletReport> {
    let mut scenario = WalletScenario::start(plan).await?;
    scenario.run(Work::Withdraw, FULL, Duration::from_secs_f64(plan.warmup_seconds)).await?;
    scenario.wait_until_complete(Work::Withdraw).await?;
    let full = measure_load(plan, &scenario, (Work::Withdraw, "full"), FULL).await?;
    let half = Pace { per_second: Some(full.per_second / 2.0), ..FULL };
    let mut measured = vec![full];
    measured.push(measure_load(plan, &scenario, (Work::Withdraw, "half"), half).await?);
    scenario.start_swapping().await?;
    measured.push(measure_load(plan, &scenario, (Work::Withdraw, "full, swapping"), FULL).await?);
    scenario.stop_swapping();
    measured.push(measure_load(plan, &scenario, (Work::Sign, "full"), FULL).await?);
    measured.push(measure_load(plan, &scenario, (Work::Address, "full"), FULL).await?);
    let wrong = scenario.close().await?;
    eprintln!(
        "wallets, reconciliation: {}",
        if wrong.is_empty() { "no difference".to_owned() } else { wrong.join("; ") }
    );
    Ok(WalletReport { measured, wrong })
}

async fn measure_load(
    plan: &BenchPlan,
    scenario: &WalletScenario,
    (work, load): (Work, &str),
    pace: Pace,
) -> anyhow::Result<WalletLoad> {
    let (mut rounds, mut swaps) = (Vec::new(), 0);
    for round in 1..=plan.rounds {
        let before_ms = scenario.cpu_time_ms()?;
        let (stats, swapped) = scenario.run(work, pace, Duration::from_secs_f64(plan.seconds)).await?;
        let completed_after = scenario.wait_until_complete(work).await?;
        let cpu_time_ms = scenario.cpu_time_ms()? - before_ms;
        let measured = WalletLoad::from_stats(&stats, stats.elapsed + completed_after, cpu_time_ms);
        swaps += swapped;
        eprintln!("wallets, {}, {load}, round {round}: {} {:?}", work.name(), measured.summary(), stats.reasons);
        rounds.push(measured);
    }
    let (work, load) = (work.name().to_owned(), load.to_owned());
    Ok(WalletLoad { work, load, swaps, ..WalletLoad::median(&rounds) })
}
