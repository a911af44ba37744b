//! Swaps under load: failed requests, the latency of the slowest requests, and the growth of memory.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use super::{BenchPlan, Work, servers::Server};
use crate::{guests, load::LoadReport};

const CONNECTIONS: usize = 64;
/// Pause between two deploys, so that each generation is under load.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SwapReport {
    pub swaps: usize,
    pub seconds: f64,
    pub failed: u64,
    pub requests: u64,
    /// 99th percentile of the same load without swaps, measured immediately before.
    pub p99_us_still: u64,
    pub p99_us_swapping: u64,
    pub resident_kib_before: u64,
    pub resident_kib_after: u64,
}

impl SwapReport {
    pub fn p99_ratio(&self) -> f64 {
        self.p99_us_swapping as f64 / self.p99_us_still.max(1) as f64
    }
}

/// Measures the same load without and with swaps. Two components with the same behaviour and different bytes are
/// deployed in alternation.
pub async fn measure(plan: &BenchPlan, server: &Server) -> anyhow::Result<SwapReport> {
    let program = server.program()?;
    let fleet = guests::component("fleet")?;
    let components = [guests::stamped(&fleet, "one"), guests::stamped(&fleet, "two")];
    // Both are compiled in advance, so that the compiler does not affect the load.
    for component in &components {
        deploy(server, component).await?;
    }
    let generator = server.generator(Work::Track);
    let mut still = Vec::new();
    for _ in 0..plan.rounds {
        still.push(generator.run(CONNECTIONS, plan.warmup_seconds, plan.seconds).await?);
    }
    let before = program.resident_kib()?;
    let started = Instant::now();
    let (mut swaps, mut loads) = (0, Vec::new());
    while swaps < plan.swaps {
        let mut load = std::pin::pin!(generator.run(CONNECTIONS, plan.warmup_seconds, plan.seconds));
        for component in components.iter().cycle() {
            tokio::select! {
                report = &mut load => { loads.push(report?); break }
                deployed = deploy_after_pause(server, component) => { deployed?; swaps += 1 }
            }
        }
    }
    Ok(SwapReport {
        swaps,
        seconds: started.elapsed().as_secs_f64(),
        failed: loads.iter().map(LoadReport::failed).sum(),
        requests: loads.iter().map(|load| load.requests).sum(),
        p99_us_still: median_p99_us(&still),
        p99_us_swapping: median_p99_us(&loads),
        resident_kib_before: before,
        resident_kib_after: program.resident_kib()?,
    })
}

fn median_p99_us(loads: &[LoadReport]) -> u64 {
    let mut values: Vec<u64> = loads.iter().map(|load| load.p99_us).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

async fn deploy_after_pause(server: &Server, component: &[u8]) -> anyhow::Result<()> {
    tokio::time::sleep(PAUSE).await;
    deploy(server, component).await
}

async fn deploy(server: &Server, component: &[u8]) -> anyhow::Result<()> {
    let response = server.program()?.deploy("fleet", component).await?;
    let text = String::from_utf8_lossy(&response.body);
    ensure!((200..300).contains(&response.status), "a deploy was refused: {} {text}", response.status);
    Ok(())
}
