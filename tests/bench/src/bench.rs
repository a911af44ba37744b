//! Benchmark: the same load against Tenon and its peers, side by side in one run, round after round.
//!
//! Owns the scenarios and their sequence. Every server runs on the same disk. One server is under load at a time, from
//! a generator in a separate process. Rounds alternate between servers, and medians are reported. Webhooks, payments
//! and wallets are measured on Tenon alone, with load from threads of this program. The report names every scenario
//! that could not be measured, with the reason.

use std::path::{Path, PathBuf};

use anyhow::ensure;

use report::{BenchReport, Measurement};
use servers::{Kind, Server};

pub mod authoring;
pub mod disk;
pub mod lifecycle;
pub mod payments;
pub mod quiet;
pub mod report;
pub mod servers;
pub mod swapping;
pub mod table;
pub mod targets;
pub mod wallets;
pub mod webhooks;

#[derive(Clone, Debug)]
pub struct BenchPlan {
    /// Folder for the data of the servers, on a real disk.
    pub folder: PathBuf,
    pub rounds: usize,
    /// Duration of each round of each scenario and server.
    pub seconds: f64,
    pub warmup_seconds: f64,
    /// Number of drivers and of orders that exist before the load starts.
    pub records: usize,
    /// Minimum number of deploys while load runs.
    pub swaps: usize,
    /// Number of webhooks with a pending retry.
    pub retries: usize,
}

impl BenchPlan {
    pub fn full(folder: &Path) -> BenchPlan {
        BenchPlan {
            folder: folder.to_path_buf(),
            rounds: 3,
            seconds: 8.0,
            warmup_seconds: 2.0,
            records: 1_000,
            swaps: 1_000,
            retries: 100_000,
        }
    }

    /// Returns a short plan for a first impression, and for the test that everything still works.
    pub fn quick(folder: &Path) -> BenchPlan {
        BenchPlan {
            folder: folder.to_path_buf(),
            rounds: 1,
            seconds: 1.0,
            warmup_seconds: 0.3,
            records: 100,
            swaps: 20,
            retries: 1_000,
        }
    }
}

/// Kind of request of each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Moves one of all drivers: reads, changes and durably writes a record and an event.
    Track,
    /// Moves a single driver.
    TrackHot,
    /// Reads one of all orders.
    Read,
}

#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub work: Work,
    pub connections: usize,
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "track", work: Work::Track, connections: 64 },
    Scenario { name: "track", work: Work::Track, connections: 256 },
    Scenario { name: "one hot record", work: Work::TrackHot, connections: 64 },
    Scenario { name: "one hot record", work: Work::TrackHot, connections: 256 },
    Scenario { name: "read", work: Work::Read, connections: 64 },
];

/// Runs all measurements. Progress goes to standard error.
pub async fn run(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
    disk::reject_memory(&plan.folder)?;
    let mut report = BenchReport::new(plan)?;
    let servers = start_all(plan, &mut report).await?;
    ensure!(!servers.is_empty(), "there is nothing to measure: {}", report.skipped.join("; "));
    for scenario in SCENARIOS {
        report.measured.extend(measure(plan, scenario, &servers).await?);
    }
    for server in servers.into_iter().filter(|server| server.kind == Kind::Plugin) {
        eprintln!("swapping under load …");
        report.swap = Some(swapping::measure(plan, &server).await?);
        eprintln!("new files, starts, memory …");
        report.lifecycle = Some(lifecycle::measure(server).await?);
    }
    lifecycle::measure_calls(&mut report)?;
    eprintln!("a changed rule …");
    report.authoring = Some(authoring::measure(plan).await?);
    eprintln!("webhooks …");
    report.webhooks = Some(webhooks::measure(plan).await?);
    eprintln!("payments …");
    report.payments = Some(payments::measure(plan).await?);
    eprintln!("wallets …");
    report.wallets = Some(wallets::measure(plan).await?);
    report.evaluate_targets();
    Ok(report)
}

/// Measures only the edit loop of a plugin author.
pub async fn run_authoring(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
    disk::reject_memory(&plan.folder)?;
    let mut report = BenchReport::new(plan)?;
    report.authoring = Some(authoring::measure(plan).await?);
    report.evaluate_targets();
    Ok(report)
}

/// Measures only payments.
pub async fn run_payments(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
    disk::reject_memory(&plan.folder)?;
    let mut report = BenchReport::new(plan)?;
    report.payments = Some(payments::measure(plan).await?);
    report.evaluate_targets();
    Ok(report)
}

/// Measures only wallets.
pub async fn run_wallets(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
    disk::reject_memory(&plan.folder)?;
    let mut report = BenchReport::new(plan)?;
    report.wallets = Some(wallets::measure(plan).await?);
    report.evaluate_targets();
    Ok(report)
}

/// Measures only webhooks.
pub async fn run_webhooks(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
    disk::reject_memory(&plan.folder)?;
    let mut report = BenchReport::new(plan)?;
    report.webhooks = Some(webhooks::measure(plan).await?);
    report.evaluate_targets();
    Ok(report)
}

async fn start_all(plan: &BenchPlan, report: &mut BenchReport) -> anyhow::Result<Vec<Server>> {
    let mut servers = Vec::new();
    for kind in Kind::ALL {
        match servers::start(kind, plan).await? {
            Ok(server) => servers.push(server),
            Err(missing) => report.skipped.push(missing),
        }
    }
    Ok(servers)
}

/// Runs all rounds of one scenario, alternating between the servers. Returns the medians of each server.
async fn measure(plan: &BenchPlan, scenario: &Scenario, servers: &[Server]) -> anyhow::Result<Vec<Measurement>> {
    let has_scenario = |server: &&Server| server.kind.has_records() || scenario.work == Work::Track;
    let servers: Vec<&Server> = servers.iter().filter(has_scenario).collect();
    let mut rounds: Vec<Vec<_>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..plan.rounds {
        for (server, reports) in servers.iter().zip(&mut rounds) {
            let report = server.load(scenario, plan).await?;
            eprintln!(
                "{} × {} on {}, round {}: {:.0}/s, p99 {:.1} ms, {} failed",
                scenario.name,
                scenario.connections,
                server.kind.name(),
                round + 1,
                report.per_second,
                report.p99_us as f64 / 1000.0,
                report.failed()
            );
            reports.push(report);
        }
    }
    Ok(servers
        .iter()
        .zip(rounds)
        .filter_map(|(server, reports)| Measurement::median(scenario, server.kind, reports))
        .collect())
}
