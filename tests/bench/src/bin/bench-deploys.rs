//! Deploys under load: throughput, failed requests, memory and compiling processes beside them. Fails if a bound is exceeded.

use std::{path::PathBuf, time::Duration};

use clap::Parser;
use tenon_bench::{
    bench::BenchPlan,
    deploys::{self, DeploysPlan},
    guests,
};

/// Measures what deploys do to the requests beside them and to the memory of the host.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 200)]
    deploys: usize,
    /// Milliseconds from one deploy to the next; 0: each waits for the verdict on the one before.
    #[arg(long, default_value_t = 300)]
    interval_ms: u64,
    /// Seconds without load and deploys before the memory is read at the end.
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// Of the load without deploys.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Where the server keeps its data.
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
