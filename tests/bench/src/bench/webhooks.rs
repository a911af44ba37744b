//! Webhooks: how many a second are accepted, committed and delivered, how soon they arrive, what one dead endpoint costs
//! the others, and what waiting costs.
//!
//! Every event goes to one endpoint. Latency is from the answer to the change that made the event until the receiver has
//! the whole request. Receiver and load run on threads of this program, Tenon is a process of its own; they share the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use drive::{Pace, Until};
use scene::{Mood, Scene};

pub(super) mod drive;
mod log;
mod scene;

const ENDPOINTS: usize = 100;
const CONNECTIONS: usize = 64;
/// Of each tenant: a connection has one of its own. Where two move one driver at the same time, the fix that was taken
/// first may come last, and then moves nobody and is told to nobody.
const DRIVERS: usize = CONNECTIONS;
/// One change at a time, and a pause after it.
const IDLE: Pace = Pace { connections: 1, per_second: Some(50.0) };
const FULL: Pace = Pace { connections: CONNECTIONS, per_second: None };

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WebhookReport {
    pub measured: Vec<WebhookLoad>,
    pub hanging: Option<HangingReport>,
    pub waiting: Option<WaitingReport>,
}

/// One load on endpoints that are well; medians of the rounds, and sums where something went wrong.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WebhookLoad {
    pub load: String,
    pub endpoints: usize,
    /// Changes answered.
    pub accepted_per_second: f64,
    /// From the first request to the last arrival.
    pub delivered_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub accepted: u64,
    /// Acknowledged and never delivered.
    pub missing: u64,
    /// Not acknowledged.
    pub failed: u64,
}

/// The same load on 99 endpoints, while the hundredth answers and while it hangs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HangingReport {
    pub per_second: f64,
    pub p99_us_well: u64,
    pub p99_us_hanging: u64,
    pub missing: u64,
}

/// While nothing but retries wait.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WaitingReport {
    pub retries: u64,
    pub resident_kib: u64,
    /// Of one core.
    pub core_percent: f64,
}

impl WebhookReport {
    pub fn find(&self, load: &str, endpoints: usize) -> Option<&WebhookLoad> {
        self.measured.iter().find(|one| one.load == load && one.endpoints == endpoints)
    }

    /// A table of its own.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| webhooks, load | endpoints | accepted/s | delivered/s | p50 ms | p99 ms | missing | failed |\n\
            |---|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for one in &self.measured {
            let WebhookLoad { load, endpoints, accepted_per_second, delivered_per_second, missing, failed, .. } = one;
            let (p50, p99) = (one.p50_us as f64 / 1000.0, one.p99_us as f64 / 1000.0);
            text.push_str(&format!(
                "| {load} | {endpoints} | {accepted_per_second:.0} | {delivered_per_second:.0} | {p50:.1} | {p99:.1} \
                 | {missing} | {failed} |\n"
            ));
        }
        text
    }
}

impl HangingReport {
    pub fn p99_ratio(&self) -> f64 {
        self.p99_us_hanging as f64 / self.p99_us_well.max(1) as f64
    }
}

pub async fn measure(plan: &BenchPlan) -> anyhow::Result<WebhookReport> {
    let mut report = WebhookReport::default();
    for endpoints in [1, ENDPOINTS] {
        report.measured.extend(measure_endpoints(plan, endpoints).await?);
    }
    let half = report.measured.last().map_or(100.0, |load| load.accepted_per_second);
    report.hanging = Some(measure_hanging(plan, half).await?);
    report.waiting = Some(measure_waiting(plan).await?);
    Ok(report)
}

/// At full load, idle, and at half of the full load.
async fn measure_endpoints(plan: &BenchPlan, endpoints: usize) -> anyhow::Result<Vec<WebhookLoad>> {
    let scene = Scene::start(plan, endpoints, DRIVERS, Mood::Well).await?;
    let full = measure_load(plan, &scene, ("full", endpoints), FULL).await?;
    let half = Pace { per_second: Some(full.delivered_per_second / 2.0), ..FULL };
    let idle = measure_load(plan, &scene, ("idle", endpoints), IDLE).await?;
    let half = measure_load(plan, &scene, ("half", endpoints), half).await?;
    scene.program.stop().await?;
    Ok(vec![full, idle, half])
}

async fn measure_load(
    plan: &BenchPlan,
    scene: &Scene,
    (load, endpoints): (&str, usize),
    pace: Pace,
) -> anyhow::Result<WebhookLoad> {
    scene.run(pace, Until::After(Duration::from_secs_f64(plan.warmup_seconds))).await?;
    let mut rounds = Vec::new();
    for round in 0..plan.rounds {
        let (sent, tally) = scene.run(pace, Until::After(Duration::from_secs_f64(plan.seconds))).await?;
        let per_second = |until_us: u64, count: u64| {
            count as f64 / (until_us.saturating_sub(sent.begun_us).max(1) as f64 / 1_000_000.0)
        };
        let one = WebhookLoad {
            load: load.to_owned(),
            endpoints,
            accepted_per_second: per_second(sent.ended_us, tally.accepted),
            delivered_per_second: per_second(tally.last_arrival_us.max(sent.ended_us), tally.arrived),
            p50_us: tally.latencies.percentile_us(50.0),
            p99_us: tally.latencies.percentile_us(99.0),
            accepted: tally.accepted,
            missing: tally.accepted - tally.arrived,
            failed: sent.failed,
        };
        eprintln!("webhooks, {endpoints} endpoints, {load} load, round {}: {}", round + 1, one.in_words());
        rounds.push(one);
    }
    Ok(WebhookLoad::median(rounds))
}

impl WebhookLoad {
    fn median(rounds: Vec<WebhookLoad>) -> WebhookLoad {
        let median = |value: fn(&WebhookLoad) -> f64| median_of(&rounds, value).unwrap_or_default();
        let sum = |value: fn(&WebhookLoad) -> u64| rounds.iter().map(value).sum();
        let first = rounds.first();
        WebhookLoad {
            load: first.map(|round| round.load.clone()).unwrap_or_default(),
            endpoints: first.map_or(0, |round| round.endpoints),
            accepted_per_second: median(|round| round.accepted_per_second),
            delivered_per_second: median(|round| round.delivered_per_second),
            p50_us: median(|round| round.p50_us as f64) as u64,
            p99_us: median(|round| round.p99_us as f64) as u64,
            accepted: sum(|round| round.accepted),
            missing: sum(|round| round.missing),
            failed: sum(|round| round.failed),
        }
    }

    fn in_words(&self) -> String {
        let WebhookLoad { accepted_per_second, delivered_per_second, p50_us, p99_us, missing, failed, .. } = self;
        format!(
            "{accepted_per_second:.0}/s accepted, {delivered_per_second:.0}/s delivered, p50 {:.1} ms, p99 {:.1} ms, \
             {missing} missing, {failed} failed",
            *p50_us as f64 / 1000.0,
            *p99_us as f64 / 1000.0
        )
    }
}

/// Two hosts side by side, of which one is loaded at a time: what one endpoint has piled up is not there in the other.
async fn measure_hanging(plan: &BenchPlan, per_second: f64) -> anyhow::Result<HangingReport> {
    let pace = Pace { per_second: Some(per_second), ..FULL };
    let well = Scene::start(plan, ENDPOINTS, DRIVERS, Mood::Well).await?;
    let hanging = Scene::start_beside(plan, ENDPOINTS, DRIVERS, Mood::OneHangs).await?;
    let (mut p99_well, mut p99_hanging, mut missing) = (Vec::new(), Vec::new(), 0);
    for round in 0..=plan.rounds {
        for (scene, p99s) in [(&well, &mut p99_well), (&hanging, &mut p99_hanging)] {
            // The first round is for warming up.
            let seconds = if round == 0 { plan.warmup_seconds } else { plan.seconds };
            let (_, tally) = scene.run_on_others(pace, Until::After(Duration::from_secs_f64(seconds))).await?;
            if round > 0 {
                p99s.push(tally.latencies.percentile_us(99.0));
                missing += tally.accepted - tally.arrived;
            }
        }
        if round > 0 {
            eprintln!("webhooks, p99 in µs while all answer: {p99_well:?}; while one hangs: {p99_hanging:?}");
        }
    }
    well.program.stop().await?;
    hanging.program.stop().await?;
    let median = |p99s: &[u64]| median_of(p99s, |us| *us as f64).unwrap_or_default() as u64;
    let (p99_us_well, p99_us_hanging) = (median(&p99_well), median(&p99_hanging));
    Ok(HangingReport { per_second, p99_us_well, p99_us_hanging, missing })
}

/// Two of three first attempts fail; then nothing happens until the first retry falls due, minutes later.
async fn measure_waiting(plan: &BenchPlan) -> anyhow::Result<WaitingReport> {
    let scene = Scene::start(plan, ENDPOINTS, DRIVERS, Mood::Failing).await?;
    let (_, tally) = scene.run(FULL, Until::Mark(plan.retries as u64 * 3 / 2)).await?;
    let wait = Duration::from_secs_f64(plan.warmup_seconds);
    tokio::time::sleep(wait).await;
    let before_ms = scene.program.computed_ms()?;
    let look = Duration::from_secs_f64(plan.seconds);
    tokio::time::sleep(look).await;
    let computed_ms = scene.program.computed_ms()? - before_ms;
    let resident_kib = scene.program.resident_kib()?;
    let report = WaitingReport {
        retries: tally.arrived * 2 / 3,
        resident_kib,
        core_percent: computed_ms as f64 / look.as_millis() as f64 * 100.0,
    };
    eprintln!("webhooks that wait for a retry: {report:?}");
    scene.program.stop().await?;
    Ok(report)
}
