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
    /// Connections that ask, each for things of its own.
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
    let plan = |name: &str, plugins| CrashPlan {
        program: ProgramPlan { binary: binary.clone(), folder: folder.path().join(name), plugins },
        rounds: arguments.rounds,
        actors: arguments.actors,
        kill_after_ms: (50, 2_000),
    };
    let report = crash::run(&plan("drivers", vec![crash::fleet()])).await?;
    println!(
        "killed {} times under load: {} changes acknowledged, none lost, none twice, no event missing ({} were repeated \
         after a restart); {} webhooks delivered in their turn, {} of them once more after a kill",
        report.rounds, report.acknowledged, report.repeated, report.delivered, report.redelivered
    );
    let report = crash::run_errands(&plan("errands", Vec::new())).await?;
    println!(
        "killed {} times under load: {} errands acknowledged ({} were repeated after a restart), each task ran once and \
         none before its time; {} calls received, {} of them once more after a kill; each outcome told once: {} answered, \
         {} unknown, {} not sent",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.received,
        report.received_again,
        report.told.answered,
        report.told.unknown,
        report.told.not_sent
    );
    let report = crash::run_payments(&plan("payments", Vec::new())).await?;
    println!(
        "killed {} times under load, the platform and the partner in turn: {} payments acknowledged, each has one end, the \
         same on both sides, and the books agree ({} messages were repeated after a restart): {} completed, {} rejected, \
         {} timed out, {} of them listed by the partner",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.ends.completed,
        report.ends.rejected,
        report.ends.timed_out,
        report.ends.listed
    );
    Ok(())
}
