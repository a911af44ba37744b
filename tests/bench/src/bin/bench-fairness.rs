//! Fairness between tenants: the p99 of small requests beside crowds and slow readers, in one run. Fails if a bound is
//! exceeded.

use std::path::PathBuf;

use clap::Parser;
use tenon_bench::{
    fairness::{self, FairnessPlan},
    guests,
};

/// Measures the effect of tenants on a neighbour.
#[derive(Parser)]
struct Arguments {
    /// Connections that request the largest lists, one measurement each.
    #[arg(long, value_delimiter = ',', default_value = "16,64,400")]
    crowds: Vec<usize>,
    /// Also measure beside clients that do not read.
    #[arg(long)]
    attacks: bool,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Further TOML lines of the plugin's section.
    #[arg(long, default_value = "")]
    limits: String,
    /// Folder for the data of the server.
    #[arg(long, default_value = "target/bench-fairness")]
    folder: PathBuf,
    #[arg(long, default_value = "target/bench-fairness.json")]
    json: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    std::env::set_current_dir(guests::workspace_root())?;
    std::fs::create_dir_all(&arguments.folder)?;
    let plan = FairnessPlan {
        folder: arguments.folder.canonicalize()?,
        seconds: arguments.seconds,
        crowds: arguments.crowds,
        attacks: arguments.attacks,
        limits: arguments.limits,
    };
    let report = fairness::run(&plan).await?;
    std::fs::write(&arguments.json, serde_json::to_string_pretty(&report)?)?;
    println!("{}", report.to_markdown());
    report.check()
}
