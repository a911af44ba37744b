//! `make bench`: measures everything in one run and writes a table to the terminal, `bench.json`, and the table of
//! docs/benchmarks.md.

use std::path::PathBuf;

use clap::Parser;
use tenon_bench::{
    bench::{self, BenchPlan, quiet, table},
    guests,
};

/// Measures Tenon and its peers side by side.
#[derive(Parser)]
struct Arguments {
    /// Run one short round of everything.
    #[arg(long)]
    quick: bool,
    /// Measure only webhooks.
    #[arg(long)]
    webhooks: bool,
    /// Measure only payments.
    #[arg(long, conflicts_with = "webhooks")]
    payments: bool,
    /// Measure only wallets.
    #[arg(long, conflicts_with_all = ["webhooks", "payments"])]
    wallets: bool,
    /// Measure only an author's edit loop: a changed rule, built and served.
    #[arg(long, conflicts_with_all = ["webhooks", "payments", "wallets"])]
    authoring: bool,
    /// Rounds of each load.
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds of each round.
    #[arg(long)]
    seconds: Option<f64>,
    /// Folder for the data of the servers. Must be on a disk.
    #[arg(long, default_value = "target/bench-data")]
    folder: PathBuf,
    #[arg(long, default_value = "target/bench.json")]
    json: PathBuf,
    /// Replace the table between the markers of this file, after a full run without `--quick`.
    #[arg(long)]
    table: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    guests::use_optimised();
    std::env::set_current_dir(guests::workspace_root())?;
    std::fs::create_dir_all(&arguments.folder)?;
    let folder = arguments.folder.canonicalize()?;
    let mut plan = if arguments.quick { BenchPlan::quick(&folder) } else { BenchPlan::full(&folder) };
    plan.rounds = arguments.rounds.unwrap_or(plan.rounds);
    plan.seconds = arguments.seconds.unwrap_or(plan.seconds);
    if !arguments.quick {
        quiet::wait().await?;
    }
    let report = match &arguments {
        Arguments { webhooks: true, .. } => bench::run_webhooks(&plan).await?,
        Arguments { payments: true, .. } => bench::run_payments(&plan).await?,
        Arguments { wallets: true, .. } => bench::run_wallets(&plan).await?,
        Arguments { authoring: true, .. } => bench::run_authoring(&plan).await?,
        _ => bench::run(&plan).await?,
    };
    std::fs::write(&arguments.json, serde_json::to_string_pretty(&report)?)?;
    let text = report.to_markdown();
    println!("{text}");
    if let Some(file) = arguments.table.as_ref().filter(|_| arguments.is_full()) {
        table::write(file, &text)?;
    }
    Ok(())
}

impl Arguments {
    fn is_full(&self) -> bool {
        !(self.quick || self.webhooks || self.payments || self.wallets || self.authoring)
    }
}
