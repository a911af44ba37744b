//! `make bench`: everything in one run, a table on the terminal, `bench.json`, and the README's table.

use std::path::PathBuf;

use clap::Parser;
use tenon_bench::{
    bench::{self, BenchPlan, quiet, readme},
    guests,
};

/// Measures Tenon and its peers side by side.
#[derive(Parser)]
struct Arguments {
    /// One short round of everything.
    #[arg(long)]
    quick: bool,
    /// Nothing but webhooks.
    #[arg(long)]
    webhooks: bool,
    /// Nothing but payments between two hosts.
    #[arg(long, conflicts_with = "webhooks")]
    payments: bool,
    /// Nothing but wallets.
    #[arg(long, conflicts_with_all = ["webhooks", "payments"])]
    wallets: bool,
    /// Measures only an author's loop: a changed rule, built and served.
    #[arg(long, conflicts_with_all = ["webhooks", "payments", "wallets"])]
    authoring: bool,
    /// Of each load.
    #[arg(long)]
    rounds: Option<usize>,
    /// Of each round.
    #[arg(long)]
    seconds: Option<f64>,
    /// Where servers keep their data; must lie on a disk.
    #[arg(long, default_value = "target/bench-data")]
    folder: PathBuf,
    #[arg(long, default_value = "target/bench.json")]
    json: PathBuf,
    /// Replace the table between the markers of this file, after a run of everything that is not `--quick`.
    #[arg(long)]
    readme: Option<PathBuf>,
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
    let table = report.to_markdown();
    println!("{table}");
    if let Some(file) = arguments.readme.as_ref().filter(|_| arguments.is_full()) {
        readme::write_table(file, &table)?;
    }
    Ok(())
}

impl Arguments {
    fn is_full(&self) -> bool {
        !(self.quick || self.webhooks || self.payments || self.wallets || self.authoring)
    }
}
