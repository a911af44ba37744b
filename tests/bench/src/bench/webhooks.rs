//! Webhooks: rates of accepted, committed and delivered events, their latency, the cost of one dead endpoint for the
//! others, and the cost of pending retries.
//!
//! Every event goes to one endpoint. Latency is the time from the response to the change that caused the event until
//! the receiver has the whole request. Receiver and load run on threads of this program. Tenon is a separate process.
//! Both processes share the cores.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BenchPlan, report::median_of};
use drive::{Pace, Until};
use scenario::{ReceiverBehaviour, WebhookScenario};

pub(super) mod drive;
mod event_log;
mod scenario;

const ENDPOINTS: usize = 100;
const CONNECTIONS: usize = 64;
/// Drivers of each tenant: each connection moves its own. If two connections moved one driver at the same time, the
/// older location update could arrive last. It would then move no driver and emit no event.
const DRIVERS: usize = CONNECTIONS;
/// One change at a time, with a pause after it.
const IDLE: Pace = Pace { connections: 1, per_second: Some(50.0) };
const FULL: Pace = Pace { connections: CONNECTIONS, per_second: None };

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WebhookReport {
    pub measured: Vec<WebhookLoad>,
    pub hanging: Option<HangingReport>,
    pub waiting: Option<WaitingReport>,
}

/// A load on healthy endpoints: medians of the rounds, and sums of counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WebhookLoad {
    pub load: String,
    pub endpoints: usize,
    /// Rate of acknowledged changes.
    pub accepted_per_second: f64,
    /// Rate from the first request to the last arrival.
    pub delivered_per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub accepted: u64,
    /// Events of acknowledged changes that were never delivered.
    pub missing: u64,
    /// Changes that were not acknowledged.
    pub failed: u64,
}

/// The same load on 99 endpoints, while the hundredth responds and while it hangs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HangingReport {
    pub per_second: f64,
    pub p99_us_well: u64,
    pub p99_us_hanging: u64,
    pub missing: u64,
}

/// Resource use while only retries are pending.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WaitingReport {
    pub retries: u64,
    pub resident_kib: u64,
    /// CPU use in percent of one core.
    pub core_percent: f64,
}

impl WebhookReport {
    pub fn find(&self, load: &str, endpoints: usize) -> Option<&WebhookLoad> {
        self.measured.iter().find(|entry| entry.load == load && entry.endpoints == endpoints)
    }

    /// Renders the loads as a Markdown table.
    pub fn to_markdown(&self) -> String {
        let mut text =
            "\n| webhooks, load | endpoints | accepted/s | delivered/s | p50 ms | p99 ms | missing | failed |\n\
            |---|--:|--:|--:|--:|--:|--:|--:|\n"
                .to_owned();
        for entry in &self.measured {
            let WebhookLoad { load, endpoints, accepted_per_second, delivered_per_second, missing, failed, .. } = entry;
            let (p50, p99) = (entry.p50_us as f64 / 1000.0, entry.p99_us as f64 / 1000.0);
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

/// Measures full load, idle load, and half of the full load.
async fn measure_endpoints(plan: &BenchPlan, endpoints: usize) -> anyhow::Result<Vec<WebhookLoad>> {
    let scenario = WebhookScenario::start(plan, endpoints, DRIVERS, ReceiverBehaviour::Healthy).await?;
    let full = measure_load(plan, &scenario, ("full", endpoints), FULL).await?;
    let half = Pace { per_second: Some(full.delivered_per_second / 2.0), ..FULL };
    let idle = measure_load(plan, &scenario, ("idle", endpoints), IDLE).await?;
    let half = measure_load(plan, &scenario, ("half", endpoints), half).await?;
    scenario.program.stop().await?;
    Ok(vec![full, idle, half])
}

async fn measure_load(
    plan: &BenchPlan,
    scenario: &WebhookScenario,
    (load, endpoints): (&str, usize),
    pace: Pace,
) -> anyhow::Result<WebhookLoad> {
    scenario.run(pace, Until::After(Duration::from_secs_f64(plan.warmup_seconds))).await?;
    let mut rounds = Vec::new();
    for round in 0..plan.rounds {
        let (sent, stats) = scenario.run(pace, Until::After(Duration::from_secs_f64(plan.seconds))).await?;
        let per_second = |until_us: u64, count: u64| {
            count as f64 / (until_us.saturating_sub(sent.begun_us).max(1) as f64 / 1_000_000.0)
        };
        let measured = WebhookLoad {
            load: load.to_owned(),
            endpoints,
            accepted_per_second: per_second(sent.ended_us, stats.accepted),
            delivered_per_second: per_second(stats.last_arrival_us.max(sent.ended_us), stats.arrived),
            p50_us: stats.latencies.percentile_us(50.0),
            p99_us: stats.latencies.percentile_us(99.0),
            accepted: stats.accepted,
            missing: stats.accepted - stats.arrived,
            failed: sent.failed,
        };
        eprintln!("webhooks, {endpoints} endpoints, {load} load, round {}: {}", round + 1, measured.summary());
        rounds.push(measured);
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

    fn summary(&self) -> String {
        let WebhookLoad { accepted_per_second, delivered_per_second, p50_us, p99_us, missing, failed, .. } = self;
        format!(
            "{accepted_per_second:.0}/s accepted, {delivered_per_second:.0}/s delivered, p50 {:.1} ms, p99 {:.1} ms, \
             {missing} missing, {failed} failed",
            *p50_us as f64 / 1000.0,
            *p99_us as f64 / 1000.0
        )
    }
}

/// Measures two hosts side by side, one under load at a time, so that the backlog of the hanging endpoint does not
/// affect the other host.
async fn measure_hanging(plan: &BenchPlan, per_second: f64) -> anyhow::Result<HangingReport> {
    let pace = Pace { per_second: Some(per_second), ..FULL };
    let healthy = WebhookScenario::start(plan, ENDPOINTS, DRIVERS, ReceiverBehaviour::Healthy).await?;
    let hanging = WebhookScenario::start_beside(plan, ENDPOINTS, DRIVERS, ReceiverBehaviour::OneHangs).await?;
    let (mut p99_healthy, mut p99_hanging, mut missing) = (Vec::new(), Vec::new(), 0);
    for round in 0..=plan.rounds {
        for (scenario, p99s) in [(&healthy, &mut p99_healthy), (&hanging, &mut p99_hanging)] {
            // The first round is the warm-up.
            let seconds = if round == 0 { plan.warmup_seconds } else { plan.seconds };
            let (_, stats) = scenario.run_on_others(pace, Until::After(Duration::from_secs_f64(seconds))).await?;
            if round > 0 {
                p99s.push(stats.latencies.percentile_us(99.0));
                missing += stats.accepted - stats.arrived;
            }
        }
        if round > 0 {
            eprintln!("webhooks, p99 in µs while all respond: {p99_healthy:?}; while one hangs: {p99_hanging:?}");
        }
    }
    healthy.program.stop().await?;
    hanging.program.stop().await?;
    let median = |p99s: &[u64]| median_of(p99s, |us| *us as f64).unwrap_or_default() as u64;
    let (p99_us_well, p99_us_hanging) = (median(&p99_healthy), median(&p99_hanging));
    Ok(HangingReport { per_second, p99_us_well, p99_us_hanging, missing })
}

/// Measures pending retries: two of three first attempts fail, and no retry is due for minutes.
async fn measure_waiting(plan: &BenchPlan) -> anyhow::Result<WaitingReport> {
    let scenario = WebhookScenario::start(plan, ENDPOINTS, DRIVERS, ReceiverBehaviour::Failing).await?;
    let (_, stats) = scenario.run(FULL, Until::Mark(plan.retries as u64 * 3 / 2)).await?;
    let wait = Duration::from_secs_f64(plan.warmup_seconds);
    tokio::time::sleep(wait).await;
    let before_ms = scenario.program.cpu_time_ms()?;
    let window = Duration::from_secs_f64(plan.seconds);
    tokio::time::sleep(window).await;
    let cpu_time_ms = scenario.program.cpu_time_ms()? - before_ms;
    let resident_kib = scenario.program.resident_kib()?;
    let report = WaitingReport {
        retries: stats.arrived * 2 / 3,
        resident_kib,
        core_percent: cpu_time_ms as f64 / window.as_millis() as f64 * 100.0,
    };
    eprintln!("webhooks with pending retries: {report:?}");
    scenario.program.stop().await?;
    Ok(report)
}
