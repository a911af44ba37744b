//! `kill -9` under full load, as often as told; ends with the sentence that says what held.

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use tenon_bench::{
    crash::{self, CrashPlan},
    guests,
    program::{ProgramPlan, sibling_binary},
};

/// Kills the real program under load, starts it again and looks for what was lost or done twice.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Connections that write, each to a record of its own.
    #[arg(long, default_value_t = 64)]
    actors: usize,
    /// The program under test; default: the one that was built beside this one.
    #[arg(long)]
    tenon: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let binary =
        arguments.tenon.or_else(|| sibling_binary("tenon")).context("no tenon beside this program: build it")?;
    let folder = tempfile::tempdir_in(guests::workspace_root().join("target-plugins"))?;
    let program = ProgramPlan { binary, folder: folder.path().to_path_buf(), plugins: vec![crash::fleet()] };
    let plan = CrashPlan { program, rounds: arguments.rounds, actors: arguments.actors, kill_after_ms: (50, 2_000) };
    let report = crash::run(&plan).await?;
    println!(
        "killed {} times under load: {} changes acknowledged, none lost, none twice, no event missing ({} were repeated \
         after a restart); {} webhooks delivered in their turn, {} of them once more after a kill",
        report.rounds, report.acknowledged, report.repeated, report.delivered, report.redelivered
    );
    Ok(())
}
