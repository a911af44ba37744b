//! The load generator as a program: reads a plan and prints a JSON report.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Parser;
use tenon_bench::load::{self, LoadPlan, PlannedRequest};

/// Sends requests over persistent connections and prints a report as one line of JSON.
#[derive(Parser)]
struct Arguments {
    /// Address of the server, e.g. 127.0.0.1:8080.
    #[arg(long)]
    address: SocketAddr,
    /// File with one JSON object per line: {"method":"GET","path":"/v1/…","body":"…"}.
    #[arg(long)]
    requests: PathBuf,
    /// API key, sent as a bearer token.
    #[arg(long, env = "BENCH_KEY", default_value = "", hide_env_values = true)]
    key: String,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds of warm-up, which are not counted.
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let text = std::fs::read_to_string(&arguments.requests).context("failed to read the requests")?;
    let planned: Vec<PlannedRequest> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    anyhow::ensure!(!planned.is_empty(), "no requests in {}", arguments.requests.display());
    let mut plan = LoadPlan::new(arguments.address, &arguments.key, &planned);
    plan.connections = arguments.connections;
    plan.duration = Duration::from_secs_f64(arguments.seconds);
    plan.warmup = Duration::from_secs_f64(arguments.warmup);
    println!("{}", serde_json::to_string(&load::run(plan).await)?);
    Ok(())
}
