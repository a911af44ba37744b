//! Wallets: how many withdrawals a second are accepted (answered, hence durable) and carried out, how many addresses are made and
//! messages signed, how soon each is answered, and what swaps of the plugin do to withdrawals.
//!
//! One host as plugins.toml is shipped: screening, signatures, blockchains and webhooks are part of it. Every tenant has a wallet
//! on each of some blockchains. A withdrawal is carried out when the webhook of its end has arrived; an address when it is
//! screened. Generator, receiver and host share the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use drive::{Pace, Tally, Work};
use scene::Scene;

mod drive;
mod scene;

const FULL: Pace = Pace { connections: 64, per_second: None };

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WalletReport {
    pub measured: Vec<WalletLoad>,
    /// What the books, or the webhooks, had against it.
    pub wrong: Vec<String>,
}

/// One load; medians of the rounds, the longest of all, and sums where something went wrong.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WalletLoad {
    pub work: String,
    pub load: String,
    pub swaps: usize,
    /// Answered with 2xx.
    pub per_second: f64,
    /// From the first request until all that follows from them is done.
    pub done_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
    pub accepted: u64,
    /// Not answered, or not with 2xx.
    pub failed: u64,
    /// By the host for each, with all that follows.
    pub computed_us: u64,
}

impl WalletReport {
    pub fn find(&self, work: &str, load: &str) -> Option<&WalletLoad> {
        self.measured.iter().find(|one| one.work == work && one.load == load)
    }

    /// A table of its own.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| wallets, load | accepted/s | done/s | p50 ms | p99 ms | max ms | failed | host, µs each |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for one in &self.measured {
            let ms = |us: u64| us as f64 / 1_000.0;
            let WalletLoad { per_second, done_per_second, failed, computed_us, .. } = one;
            text.push_str(&format!(
                "| {} | {per_second:.0} | {done_per_second:.0} | {:.1} | {:.1} | {:.1} | {failed} | {computed_us} |\n",
                one.name(),
                ms(one.p50_us),
                ms(one.p99_us),
                ms(one.max_us),
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

    fn of(round: &Tally, done_within: Duration, computed_ms: u64) -> WalletLoad {
        let Tally { latencies, failed, elapsed, .. } = round;
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
            computed_us: computed_ms * 1_000 / accepted.max(1),
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

    fn in_words(&self) -> String {
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
    let mut scene = Scene::start(plan).await?;
    scene.run(Work::Withdraw, FULL, Duration::from_secs_f64(plan.warmup_seconds)).await?;
    scene.settle(Work::Withdraw).await?;
    let full = measure_load(plan, &scene, (Work::Withdraw, "full"), FULL).await?;
    let half = Pace { per_second: Some(full.per_second / 2.0), ..FULL };
    let mut measured = vec![full];
    measured.push(measure_load(plan, &scene, (Work::Withdraw, "half"), half).await?);
    scene.begin_swapping().await?;
    measured.push(measure_load(plan, &scene, (Work::Withdraw, "full, swapping"), FULL).await?);
    scene.end_swapping();
    measured.push(measure_load(plan, &scene, (Work::Sign, "full"), FULL).await?);
    measured.push(measure_load(plan, &scene, (Work::Address, "full"), FULL).await?);
    let wrong = scene.close().await?;
    eprintln!("wallets, books: {}", if wrong.is_empty() { "nothing disagrees".to_owned() } else { wrong.join("; ") });
    Ok(WalletReport { measured, wrong })
}

async fn measure_load(
    plan: &BenchPlan,
    scene: &Scene,
    (work, load): (Work, &str),
    pace: Pace,
) -> anyhow::Result<WalletLoad> {
    let (mut rounds, mut swaps) = (Vec::new(), 0);
    for round in 1..=plan.rounds {
        let before_ms = scene.computed_ms()?;
        let (tally, swapped) = scene.run(work, pace, Duration::from_secs_f64(plan.seconds)).await?;
        let still_busy = scene.settle(work).await?;
        let one = WalletLoad::of(&tally, tally.elapsed + still_busy, scene.computed_ms()? - before_ms);
        swaps += swapped;
        eprintln!("wallets, {}, {load}, round {round}: {} {:?}", work.name(), one.in_words(), tally.reasons);
        rounds.push(one);
    }
    let (work, load) = (work.name().to_owned(), load.to_owned());
    Ok(WalletLoad { work, load, swaps, ..WalletLoad::median(&rounds) })
}
