//! `kill -9` under full load, as often as told; each scenario ends with the sentence that says what held.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use tenon_bench::{
    crash::{self, CrashPlan},
    guests,
    program::{ProgramPlan, sibling_binary},
};

/// More only wait for each other.
const WALLET_ACTORS_MAX: usize = 16;

/// Kills the real program under load, starts it again and looks for what was lost or done twice.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Arguments {
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Rounds that earlier runs have done: the kills come at other moments than theirs.
    #[arg(long, default_value_t = 0)]
    first_round: usize,
    /// Connections that ask, each for things of its own.
    #[arg(long, default_value_t = 64)]
    actors: usize,
    /// The program under test; default: the one that was built beside this one.
    #[arg(long)]
    tenon: Option<PathBuf>,
    /// A new folder for everything that the program writes; it stays. Default: one that is deleted.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// One scenario, without the others.
    #[arg(long)]
    only: Option<Scenario>,
    /// What is asked of wallets, and when they are killed.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Drivers,
    Errands,
    Payments,
    Wallets,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let binary =
        arguments.tenon.or_else(|| sibling_binary("tenon")).context("no tenon beside this program: build it")?;
    let temporary = tempfile::tempdir_in(guests::workspace_root().join("target-plugins"))?;
    let folder = arguments.folder.as_deref().unwrap_or(temporary.path());
    let plan = |name: &str, plugins| CrashPlan {
        program: ProgramPlan { binary: binary.clone(), folder: folder.join(name), plugins },
        rounds: arguments.rounds,
        actors: arguments.actors,
        kill_after_ms: (50, 2_000),
        first_round: arguments.first_round,
    };
    let runs = |scenario| arguments.only.is_none_or(|only| only == scenario);
    if runs(Scenario::Drivers) {
        drivers(&plan("drivers", vec![crash::fleet()])).await?;
    }
    if runs(Scenario::Errands) {
        errands(&plan("errands", Vec::new())).await?;
    }
    if runs(Scenario::Payments) {
        payments(&plan("payments", Vec::new())).await?;
    }
    if runs(Scenario::Wallets) {
        let plan = CrashPlan { actors: arguments.actors.min(WALLET_ACTORS_MAX), ..plan("wallets", Vec::new()) };
        wallets(&plan, arguments.seed.unwrap_or_else(|| crash::seed_or(1))).await?;
    }
    Ok(())
}

async fn drivers(plan: &CrashPlan) -> anyhow::Result<()> {
    let report = crash::run(plan).await?;
    println!(
        "killed {} times under load: {} changes acknowledged, none lost, none twice, no event missing ({} were repeated \
         after a restart); {} webhooks delivered in their turn, {} of them once more after a kill",
        report.rounds, report.acknowledged, report.repeated, report.delivered, report.redelivered
    );
    Ok(())
}

async fn errands(plan: &CrashPlan) -> anyhow::Result<()> {
    let report = crash::run_errands(plan).await?;
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
    Ok(())
}

async fn payments(plan: &CrashPlan) -> anyhow::Result<()> {
    let report = crash::run_payments(plan).await?;
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

async fn wallets(plan: &CrashPlan, seed: u64) -> anyhow::Result<()> {
    let report = crash::run_wallets(plan, seed).await?;
    println!(
        "killed {} times under load while blockchains misbehaved (seed {seed}): {} requests acknowledged ({} were repeated \
         after a restart, {} refused), {} deposits sent; ledger and blockchains agree, nothing was paid twice; {} webhooks \
         delivered, {} of them once more after a kill; {:?}",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.refused,
        report.gifts,
        report.delivered,
        report.redelivered,
        report.ends
    );
    Ok(())
}
