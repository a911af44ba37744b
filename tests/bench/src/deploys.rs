//! Many deploys under load: what they cost the requests beside them, the memory of the host, and the processes that compile.
//!
//! Owns the plan and the report. Each deploy is a component of other bytes that behaves alike. Deploys at an interval come
//! faster than they are compiled; deploys one after another wait for each verdict.

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
/// Between two looks at the memory and the processes of the host.
const LOOK: Duration = Duration::from_millis(50);
/// Of each of the loads that run one after another.
const LOAD_SECONDS: f64 = 5.0;
/// Until the newest version serves, after the last deploy was sent.
const SETTLE_SECONDS_MAX: u64 = 60;
/// The bounds: processes that compile at once, growth of the host, part of the rate without deploys.
const PROCESSES_MAX: usize = 2;
const GROWTH_MIB_MAX: u64 = 300;
const RATE_MIN: f64 = 0.6;

pub struct DeploysPlan {
    /// Where the server keeps its data, and how the load runs before the deploys.
    pub bench: BenchPlan,
    pub deploys: usize,
    /// `None`: each deploy waits for the verdict on the one before.
    pub interval: Option<Duration>,
    /// After the last deploy, without load, before the memory is read.
    pub rest: Duration,
}

#[derive(Debug, Serialize)]
pub struct DeploysReport {
    pub deploys: usize,
    pub published: usize,
    /// Overtaken by a newer one before they were compiled.
    pub overtaken: usize,
    /// Answers that are neither.
    pub refused: Vec<String>,
    pub newest_serves_after_ms: u128,
    /// Processes that compiled at the same time.
    pub processes_max: usize,
    pub requests_per_second_before: f64,
    pub requests_per_second_meanwhile: f64,
    pub failed: u64,
    pub resident_mib_before: u64,
    pub resident_mib_max: u64,
    pub resident_mib_after: u64,
}

impl DeploysReport {
    /// Returns an error that names the first bound that was exceeded.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(self.failed == 0, "{} requests failed", self.failed);
        ensure!(self.refused.is_empty(), "deploys were refused: {:?}", self.refused);
        let processes = self.processes_max;
        ensure!(processes <= PROCESSES_MAX, "{processes} processes compiled at once, {PROCESSES_MAX} are the limit");
        let grown = self.resident_mib_max.saturating_sub(self.resident_mib_before);
        ensure!(grown <= GROWTH_MIB_MAX, "the host grew by {grown} MiB, {GROWTH_MIB_MAX} are the limit");
        let rate = self.requests_per_second_meanwhile / self.requests_per_second_before;
        ensure!(rate >= RATE_MIN, "the rate fell to {rate:.2} of the one without deploys, {RATE_MIN} is the least");
        Ok(())
    }
}

/// Runs it; progress is printed to standard error.
pub async fn run(plan: &DeploysPlan) -> anyhow::Result<DeploysReport> {
    let server = servers::start(Kind::Plugin, &plan.bench).await?.map_err(anyhow::Error::msg)?;
    let generator = server.generator(Work::Track);
    let program = Arc::new(server.into_program()?);
    let fleet = guests::component(PLUGIN)?;
    eprintln!("load without deploys …");
    let still = generator.run(CONNECTIONS, plan.bench.warmup_seconds, plan.bench.seconds).await?;
    let before = program.resident_kib()?;
    let peaks = Arc::new(Peaks::default());
    let watch = tokio::spawn(peaks.clone().watch(program.clone()));
    eprintln!("{} deploys beside load …", plan.deploys);
    let (stop, stopped) = oneshot::channel();
    let load = tokio::spawn(load_until(generator, stopped));
    let (answers, newest_serves_after_ms) = deploy_all(plan, &program, &fleet).await?;
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
        requests_per_second_before: still.per_second,
        requests_per_second_meanwhile: mean_rate(&loads),
        failed: loads.iter().map(LoadReport::failed).sum(),
        resident_mib_before: before >> 10,
        resident_mib_max: peaks.resident_kib.load(Ordering::Relaxed) >> 10,
        resident_mib_after: program.resident_kib()? >> 10,
    };
    for (status, text) in answers {
        match status {
            200..300 => report.published += 1,
            409 if text.contains("overtook") => report.overtaken += 1,
            _ => report.refused.push(format!("{status} {text}")),
        }
    }
    Ok(report)
}

/// The highest readings of a host.
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
            time::sleep(LOOK).await;
        }
    }
}

/// Short loads one after another, until the sender is dropped.
async fn load_until(generator: Generator, mut stopped: oneshot::Receiver<()>) -> anyhow::Result<Vec<LoadReport>> {
    let mut loads = Vec::new();
    while stopped.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
        loads.push(generator.run(CONNECTIONS, 0.0, LOAD_SECONDS).await?);
    }
    Ok(loads)
}

/// Statuses and texts of all answers, and the time from the last deploy until the newest component serves.
async fn deploy_all(
    plan: &DeploysPlan,
    program: &Arc<Program>,
    fleet: &[u8],
) -> anyhow::Result<(Vec<(u16, String)>, u128)> {
    let mut pace = time::interval(plan.interval.unwrap_or(Duration::from_millis(1)));
    let mut running = JoinSet::new();
    let mut answers = Vec::new();
    let mut newest = String::new();
    for number in 0..plan.deploys {
        pace.tick().await;
        let component = guests::stamped(fleet, &number.to_string());
        newest = hex::encode(Sha256::digest(&component));
        let program = program.clone();
        running.spawn(async move { program.deploy(PLUGIN, &component).await });
        if plan.interval.is_none() {
            answers.extend(running.join_next().await);
        }
    }
    let last = Instant::now();
    while !program.serves(PLUGIN, &newest).await? {
        ensure!(last.elapsed().as_secs() < SETTLE_SECONDS_MAX, "the newest component does not serve");
        time::sleep(LOOK).await;
    }
    let newest_serves_after_ms = last.elapsed().as_millis();
    answers.extend(running.join_all().await.into_iter().map(Ok));
    let answers = answers.into_iter().map(|answer| {
        let answer = answer??;
        Ok((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
    });
    Ok((answers.collect::<anyhow::Result<_>>()?, newest_serves_after_ms))
}

fn mean_rate(loads: &[LoadReport]) -> f64 {
    let (requests, seconds) = loads.iter().fold((0, 0.0), |(n, s), load| (n + load.requests, s + load.seconds));
    requests as f64 / f64::max(seconds, f64::MIN_POSITIVE)
}
