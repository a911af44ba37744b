//! Deploys under load: throughput, failed requests, memory, and compiling processes. Fails if a bound is exceeded.

use std::{path::PathBuf, time::Duration};

use clap::Parser;
use tenon_bench::{
    bench::BenchPlan,
    deploys::{self, DeploysPlan},
    guests,
};

/// Measures the effect of deploys on concurrent requests and on the memory of the host.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 200)]
    deploys: usize,
    /// Milliseconds between deploys. 0: each deploy waits for the result of the previous one.
    #[arg(long, default_value_t = 300)]
    interval_ms: u64,
    /// Seconds without load and deploys before the final reading of the memory.
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// Seconds of the load without deploys.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Folder for the data of the server.
    #[arg(long, default_value = "target/bench-deploys")]
    folder: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    std::env::set_current_dir(guests::workspace_root())?;
    std::fs::create_dir_all(&arguments.folder)?;
    let mut bench = BenchPlan::full(&arguments.folder.canonicalize()?);
    bench.seconds = arguments.seconds;
    let plan = DeploysPlan {
        bench,
        deploys: arguments.deploys,
        interval: (arguments.interval_ms > 0).then(|| Duration::from_millis(arguments.interval_ms)),
        rest: Duration::from_secs(arguments.rest),
    };
    let report = deploys::run(&plan).await?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    report.check()
}
