//! `kill -9` under full load, for a number of rounds. Each scenario ends with a summary of its results.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use tenon_bench::{
    crash::{self, CrashPlan},
    guests,
    program::{ProgramPlan, sibling_binary},
};

/// Maximum number of actors of the wallet scenario. More actors only wait for each other.
const WALLET_ACTORS_MAX: usize = 16;

/// Kills the real program under load, restarts it, and checks that nothing is lost or applied twice.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Arguments {
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Number of rounds of earlier runs: this run kills after other delays.
    #[arg(long, default_value_t = 0)]
    first_round: usize,
    /// Concurrent connections, each with its own requests.
    #[arg(long, default_value_t = 64)]
    actors: usize,
    /// Program under test. Default: the one built beside this program.
    #[arg(long)]
    tenon: Option<PathBuf>,
    /// New folder for all data, which is kept. Default: a temporary folder.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Run only this scenario.
    #[arg(long)]
    only: Option<Scenario>,
    /// Seed of the requests to wallets and of the kill delays.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    Drivers,
    Effects,
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
    if runs(Scenario::Effects) {
        effects(&plan("effects", Vec::new())).await?;
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
        "killed {} times under load: {} changes acknowledged, none lost, none applied twice, no event missing ({} repeated \
         after a restart); {} webhooks delivered in order, {} of them again after a kill",
        report.rounds, report.acknowledged, report.repeated, report.delivered, report.redelivered
    );
    Ok(())
}

async fn effects(plan: &CrashPlan) -> anyhow::Result<()> {
    let report = crash::run_effects(plan).await?;
    println!(
        "killed {} times under load: {} effects acknowledged ({} repeated after a restart), each task ran once and \
         none before its time; {} calls received, {} of them again after a kill; each outcome delivered once: {} answered, \
         {} unknown, {} not sent",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.received,
        report.accepted_again,
        report.outcomes.answered,
        report.outcomes.unknown,
        report.outcomes.not_sent
    );
    Ok(())
}

async fn payments(plan: &CrashPlan) -> anyhow::Result<()> {
    let report = crash::run_payments(plan).await?;
    println!(
        "killed {} times under load, the platform and the partner in turn: {} payments acknowledged, each with one result, the \
         same on both sides, and the balances match ({} messages repeated after a restart): {} completed, {} rejected, \
         {} timed out, {} of them undelivered at the partner",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.results.completed,
        report.results.rejected,
        report.results.timed_out,
        report.results.undelivered
    );
    Ok(())
}

async fn wallets(plan: &CrashPlan, seed: u64) -> anyhow::Result<()> {
    let report = crash::run_wallets(plan, seed).await?;
    println!(
        "killed {} times under load while blockchains misbehaved (seed {seed}): {} requests acknowledged ({} repeated \
         after a restart, {} refused), {} deposits sent; ledger and blockchains match, nothing was paid twice; {} webhooks \
         delivered, {} of them again after a kill; {:?}",
        report.rounds,
        report.acknowledged,
        report.repeated,
        report.refused,
        report.deposits,
        report.delivered,
        report.redelivered,
        report.results
    );
    Ok(())
}
