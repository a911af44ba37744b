//! Payments: how many a second go through the whole conversation, how soon what is sent is acknowledged, and what swaps of
//! the plugin do to both.
//!
//! Two scenes. "Two hosts": a platform and a partner talk to each other; the generator submits payments and plays the scheme,
//! which settles what was approved. "Partner": the generator is the platform. Acknowledgements are measured where the
//! generator waits for them; a conversation ends when the completion is on the partner's disk. Generator and hosts share
//! the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use crate::{clearing::books::Ends, histogram::Histogram};
use drive::{Pace, Tally};
use scene::Scene;

mod drive;
mod scene;

/// Payments under way at once.
const LANES: u16 = 64;
const FULL: Pace = Pace { lanes: LANES, per_second: None };
/// One payment at a time, and a pause after it.
const IDLE: Pace = Pace { lanes: 1, per_second: Some(20.0) };
/// An acknowledgement that takes longer is late (spec/clearing: Limits).
pub const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PaymentReport {
    pub measured: Vec<PaymentLoad>,
    /// What the books of a scene had against it.
    pub wrong: Vec<String>,
}

/// One load; medians of the rounds, the longest of all, and sums where something went wrong.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PaymentLoad {
    pub scene: String,
    pub load: String,
    pub swaps: usize,
    pub per_second: f64,
    /// From the first message of a payment to its completion.
    pub p50_us: u64,
    pub p99_us: u64,
    pub acknowledged_p50_us: u64,
    pub acknowledged_p99_us: u64,
    pub acknowledged_p999_us: u64,
    pub acknowledged_max_us: u64,
    pub completed: u64,
    /// Acknowledged, and never completed.
    pub lost: u64,
    /// Not acknowledged, or rejected.
    pub failed: u64,
    /// Acknowledged after more than a second.
    pub late: u64,
    /// By all hosts of the scene together, for each payment.
    pub computed_us: u64,
}

impl PaymentReport {
    pub fn find(&self, scene: &str, load: &str) -> Option<&PaymentLoad> {
        self.measured.iter().find(|one| one.scene == scene && one.load == load)
    }

    /// A table of its own.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| payments, load | payments/s | p50 ms | p99 ms | acknowledged p50 ms | p99 ms | p99.9 ms | max ms \
                        | lost | failed |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for one in &self.measured {
            let ms = |us: u64| us as f64 / 1_000.0;
            let PaymentLoad { per_second, lost, failed, .. } = one;
            text.push_str(&format!(
                "| {} | {per_second:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {lost} | {failed} |\n",
                one.name(),
                ms(one.p50_us),
                ms(one.p99_us),
                ms(one.acknowledged_p50_us),
                ms(one.acknowledged_p99_us),
                ms(one.acknowledged_p999_us),
                ms(one.acknowledged_max_us),
            ));
        }
        text
    }
}

impl PaymentLoad {
    fn name(&self) -> String {
        let PaymentLoad { scene, load, swaps, .. } = self;
        if *swaps == 0 { format!("{scene}, {load}") } else { format!("{scene}, {load}, {swaps} swaps") }
    }

    fn of(round: &Tally, computed_ms: u64) -> PaymentLoad {
        let (acks, conversations) = (&round.acknowledgements, &round.conversations);
        let us = |histogram: &Histogram, percent| histogram.percentile_us(percent);
        PaymentLoad {
            per_second: round.completed() as f64 / round.elapsed.as_secs_f64().max(0.001),
            p50_us: us(conversations, 50.0),
            p99_us: us(conversations, 99.0),
            acknowledged_p50_us: us(acks, 50.0),
            acknowledged_p99_us: us(acks, 99.0),
            acknowledged_p999_us: us(acks, 99.9),
            acknowledged_max_us: acks.max_us(),
            completed: round.completed(),
            lost: round.lost,
            failed: round.failed,
            late: round.late,
            computed_us: computed_ms * 1_000 / round.completed().max(1),
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

    fn in_words(&self) -> String {
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
    for scene in [Scene::two_hosts(plan).await?, Scene::partner(plan).await?] {
        measure_scene(plan, scene, &mut report).await?;
    }
    Ok(report)
}

/// At full load, idle, at half of the full load, and at that load while the plugin is swapped.
async fn measure_scene(plan: &BenchPlan, mut scene: Scene, report: &mut PaymentReport) -> anyhow::Result<()> {
    let seconds = Duration::from_secs_f64(plan.warmup_seconds);
    scene.run(FULL, seconds).await?;
    let full = measure_load(plan, &mut scene, "full", FULL).await?;
    let half = Pace { per_second: Some(full.per_second / 2.0), ..FULL };
    report.measured.push(full);
    report.measured.push(measure_load(plan, &mut scene, "idle", IDLE).await?);
    report.measured.push(measure_load(plan, &mut scene, "half", half).await?);
    scene.begin_swapping().await?;
    report.measured.push(measure_load(plan, &mut scene, "half, swapping", half).await?);
    report.measured.push(measure_load(plan, &mut scene, "full, swapping", FULL).await?);
    match scene.close().await {
        Ok(Ends { completed, .. }) => {
            eprintln!("payments, books: {completed} completed on both sides, nothing disagrees")
        }
        Err(error) => report.wrong.push(format!("{error:#}")),
    }
    Ok(())
}

async fn measure_load(plan: &BenchPlan, scene: &mut Scene, load: &str, pace: Pace) -> anyhow::Result<PaymentLoad> {
    let (mut rounds, mut swaps) = (Vec::new(), 0);
    for round in 1..=plan.rounds {
        let before_ms = scene.computed_ms()?;
        let (tally, swapped) = scene.run(pace, Duration::from_secs_f64(plan.seconds)).await?;
        let one = PaymentLoad::of(&tally, scene.computed_ms()? - before_ms);
        swaps += swapped;
        eprintln!("payments, {}, {load}, round {round}: {} {:?}", scene.name(), one.in_words(), tally.reasons);
        rounds.push(one);
    }
    let (scene, load) = (scene.name().to_owned(), load.to_owned());
    Ok(PaymentLoad { scene, load, swaps, ..PaymentLoad::median(&rounds) })
}
