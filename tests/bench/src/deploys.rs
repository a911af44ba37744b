//! Many deploys under load: their effect on concurrent requests, on the memory of the host, and on the number of
//! compiling processes.
//!
//! Owns the plan and the report. Each deploy is a component with the same behaviour and different bytes. Deploys at an
//! interval arrive faster than they are compiled. Deploys without an interval wait for the result of the previous one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::{sync::oneshot, task::JoinSet, time};

use crate::{
    bench::{
        BenchPlan, Work,
        servers::{self, Generator, Kind},
    },
    guests,
    load::LoadReport,
    program::Program,
};

const PLUGIN: &str = "fleet";
const CONNECTIONS: usize = 64;
/// Interval between two readings of the memory and the processes of the host.
const POLL: Duration = Duration::from_millis(50);
/// Duration of each of the consecutive loads.
const LOAD_SECONDS: f64 = 5.0;
/// Timeout after the last deploy until the newest version serves.
const SETTLE_SECONDS_MAX: u64 = 60;
/// Bounds: concurrently compiling processes, growth of the host, and the request rate relative to the rate without
/// deploys.
const PROCESSES_MAX: usize = 2;
const GROWTH_MIB_MAX: u64 = 300;
const RATE_MIN: f64 = 0.6;

pub struct DeploysPlan {
    /// Folder for the data of the server, and the load before the deploys.
    pub bench: BenchPlan,
    pub deploys: usize,
    /// Interval between deploys. `None`: each deploy waits for the result of the previous one.
    pub interval: Option<Duration>,
    /// Pause without load after the last deploy, before the memory is read.
    pub rest: Duration,
}

#[derive(Debug, Serialize)]
pub struct DeploysReport {
    pub deploys: usize,
    pub published: usize,
    /// Deploys that a newer deploy overtook before they were compiled.
    pub overtaken: usize,
    /// Responses to the deploys that were neither published nor overtaken.
    pub refused: Vec<String>,
    pub newest_serves_after_ms: u128,
    /// Maximum number of concurrently compiling processes.
    pub processes_max: usize,
    pub requests_per_second_before: f64,
    pub requests_per_second_meanwhile: f64,
    pub failed: u64,
    pub resident_mib_before: u64,
    pub resident_mib_max: u64,
    pub resident_mib_after: u64,
}

impl DeploysReport {
    /// Fails if a request failed, a deploy was refused, or a bound is exceeded. The error names the first of these.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(self.failed == 0, "{} requests failed", self.failed);
        ensure!(self.refused.is_empty(), "deploys were refused: {:?}", self.refused);
        let processes = self.processes_max;
        ensure!(processes <= PROCESSES_MAX, "{processes} processes compiled at once, the limit is {PROCESSES_MAX}");
        let grown = self.resident_mib_max.saturating_sub(self.resident_mib_before);
        ensure!(grown <= GROWTH_MIB_MAX, "the host grew by {grown} MiB, the limit is {GROWTH_MIB_MAX} MiB");
        let rate = self.requests_per_second_meanwhile / self.requests_per_second_before;
        ensure!(rate >= RATE_MIN, "the rate fell to {rate:.2} of the rate without deploys, the minimum is {RATE_MIN}");
        Ok(())
    }
}

/// Runs the plan. Progress goes to standard error.
pub async fn run(plan: &DeploysPlan) -> anyhow::Result<DeploysReport> {
    let server = servers::start(Kind::Plugin, &plan.bench).await?.map_err(anyhow::Error::msg)?;
    let generator = server.generator(Work::Track);
    let program = Arc::new(server.into_program()?);
    let fleet = guests::component(PLUGIN)?;
    eprintln!("load without deploys …");
    let baseline = generator.run(CONNECTIONS, plan.bench.warmup_seconds, plan.bench.seconds).await?;
    let before = program.resident_kib()?;
    let peaks = Arc::new(Peaks::default());
    let watch = tokio::spawn(peaks.clone().watch(program.clone()));
    eprintln!("{} deploys beside load …", plan.deploys);
    let (stop, stopped) = oneshot::channel();
    let load = tokio::spawn(load_until(generator, stopped));
    let (responses, newest_serves_after_ms) = deploy_all(plan, &program, &fleet).await?;
    drop(stop);
    let loads = load.await??;
    watch.abort();
    time::sleep(plan.rest).await;
    let mut report = DeploysReport {
        deploys: plan.deploys,
        published: 0,
        overtaken: 0,
        refused: Vec::new(),
        newest_serves_after_ms,
        processes_max: peaks.processes.load(Ordering::Relaxed),
        requests_per_second_before: baseline.per_second,
        requests_per_second_meanwhile: mean_rate(&loads),
        failed: loads.iter().map(LoadReport::failed).sum(),
        resident_mib_before: before >> 10,
        resident_mib_max: peaks.resident_kib.load(Ordering::Relaxed) >> 10,
        resident_mib_after: program.resident_kib()? >> 10,
    };
    for (status, text) in responses {
        match status {
            200..300 => report.published += 1,
            409 if text.contains("overtook") => report.overtaken += 1,
            _ => report.refused.push(format!("{status} {text}")),
        }
    }
    Ok(report)
}

/// Maximum readings of a host.
#[derive(Default)]
struct Peaks {
    resident_kib: AtomicU64,
    processes: AtomicUsize,
}

impl Peaks {
    async fn watch(self: Arc<Self>, program: Arc<Program>) {
        loop {
            self.resident_kib.fetch_max(program.resident_kib().unwrap_or(0), Ordering::Relaxed);
            self.processes.fetch_max(program.compiling().len(), Ordering::Relaxed);
            time::sleep(POLL).await;
        }
    }
}

/// Runs short loads one after another until the sender is dropped.
async fn load_until(generator: Generator, mut stopped: oneshot::Receiver<()>) -> anyhow::Result<Vec<LoadReport>> {
    let mut loads = Vec::new();
    while stopped.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
        loads.push(generator.run(CONNECTIONS, 0.0, LOAD_SECONDS).await?);
    }
    Ok(loads)
}

/// Sends all deploys. Returns status and text of each response, and the time in milliseconds from the last deploy
/// until the newest component serves.
async fn deploy_all(
    plan: &DeploysPlan,
    program: &Arc<Program>,
    fleet: &[u8],
) -> anyhow::Result<(Vec<(u16, String)>, u128)> {
    let mut pace = time::interval(plan.interval.unwrap_or(Duration::from_millis(1)));
    let mut running = JoinSet::new();
    let mut responses = Vec::new();
    let mut newest = String::new();
    for number in 0..plan.deploys {
        pace.tick().await;
        let component = guests::stamped(fleet, &number.to_string());
        newest = hex::encode(Sha256::digest(&component));
        let program = program.clone();
        running.spawn(async move { program.deploy(PLUGIN, &component).await });
        if plan.interval.is_none() {
            responses.extend(running.join_next().await);
        }
    }
    let last = Instant::now();
    while !program.serves(PLUGIN, &newest).await? {
        ensure!(last.elapsed().as_secs() < SETTLE_SECONDS_MAX, "the newest component does not serve");
        time::sleep(POLL).await;
    }
    let newest_serves_after_ms = last.elapsed().as_millis();
    responses.extend(running.join_all().await.into_iter().map(Ok));
    let responses = responses.into_iter().map(|response| {
        let response = response??;
        Ok((response.status, String::from_utf8_lossy(&response.body).into_owned()))
    });
    Ok((responses.collect::<anyhow::Result<_>>()?, newest_serves_after_ms))
}

fn mean_rate(loads: &[LoadReport]) -> f64 {
    let (requests, seconds) = loads.iter().fold((0, 0.0), |(n, s), load| (n + load.requests, s + load.seconds));
    requests as f64 / f64::max(seconds, f64::MIN_POSITIVE)
}
