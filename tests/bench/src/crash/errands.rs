//! Errands under load: a task that runs once and not early, a call that goes out and whose outcome is told once.
//!
//! An errand is one request to the guest `clockwork`, which marks it, schedules a task and starts an outgoing call in one
//! commit. The task and the telling of the outcome leave marks as well. So every errand that was acknowledged must have its
//! three marks in the end, each written once (`ledger`), and the bank that is called must have got what it was told
//! (`bank`). In between nothing is waited for: a kill finds errands of all lives before it.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use super::{
    Actor, CrashPlan, Due, Look, Outside, SETTLED_WITHIN, Step, ensure_nothing_waits, kill_after, kill_under_load,
    settle,
};
use crate::{
    guests,
    program::{PluginSection, Program},
};
use bank::Bank;
use ledger::{Ledger, Told};

mod bank;
mod ledger;

/// An actor waits for the outcome of the errand so many before: what is under way stays within bounds.
const LEAD: u64 = 16;
const GIVE_UP_MS: u64 = 300;
const LOOK: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub struct ErrandReport {
    pub rounds: usize,
    /// Errands answered with 2xx.
    pub acknowledged: u64,
    /// Sent without an answer, and repeated after the restart.
    pub repeated: u64,
    /// Calls that reached the bank, each counted once.
    pub received: u64,
    /// Those that came again after a kill although they had been accepted.
    pub received_again: u64,
    /// What the plugin was told of all calls.
    pub told: Told,
}

/// Runs all rounds with `plan.program`, which names no plugin; the first thing that does not hold is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<ErrandReport> {
    let bank = Outside::open(Bank::receive)?;
    let mut started = plan.program.clone();
    started.plugins.push(clockwork(&bank.url()?));
    let mut program = Program::start(started).await?;
    let key = program.create_key("clockwork", "crash")?;
    let mut actors: Vec<Actor> = (0..plan.actors).map(|number| Actor::new(format!("a{number}"), errand)).collect();
    let (mut ledger, mut repeated) = (Ledger::default(), 0);
    for round in 0..plan.rounds {
        let stopped =
            kill_under_load(program, &key, &mut actors, kill_after(plan.kill_after_ms, plan.first_round + round))
                .await?;
        bank.until_quiet().await;
        bank.with(Bank::note_kill);
        program = Program::start(stopped).await.with_context(|| format!("restart of round {round}"))?;
        repeated += settle(&program, &key, &mut actors).await.with_context(|| format!("round {round}"))?;
        ledger.read(&program.database_file()).await.with_context(|| format!("after round {round}"))?;
        bank.with(|bank| ledger.check(&actors, bank)).with_context(|| format!("after round {round}"))?;
    }
    await_outcomes(&program, &bank, &mut ledger).await?;
    let told = bank.with(|bank| ledger.check(&actors, bank))?;
    ledger.check_records(&program.database_file()).await?;
    ensure_nothing_waits(&program).await?;
    program.stop().await?;
    let (received, received_again) = bank.with(|bank| (bank.received(), bank.received_again()));
    let acknowledged = actors.iter().map(|actor| actor.position).sum();
    ensure!(received + told.not_sent + told.unknown >= acknowledged, "{received} calls received, {told:?}");
    Ok(ErrandReport { rounds: plan.rounds, acknowledged, repeated, received, received_again, told })
}

/// The plugin that is under load, with its bank; what failed is tried again soon.
fn clockwork(bank: &str) -> PluginSection {
    let grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"];
    let mut section = PluginSection::new("clockwork", &guests::component_path("clockwork"), &grants);
    section.more = format!(
        "tasks = {{ delays-ms = [100, 200, 400, 800, 1600, 3200] }}\n\
         destinations.bank = {{ base-url = {bank:?}, kind = \"none\" }}"
    );
    section
}

/// What an actor asks for: tasks due at once and later, some that fail the first time, calls with and without patience.
fn errand(name: &str, position: u64) -> Step {
    let body = json!({
        "in_ms": in_ms(position),
        "then": if position.is_multiple_of(5) { "fail-first" } else { "mark" },
        "destination": "bank",
        "delays": [50, 100, 200, 400, 800, 1_600, 3_200],
        "give_up_in": may_give_up(position).then_some(GIVE_UP_MS),
    });
    let body = body.to_string();
    let first = position.checked_sub(LEAD).filter(|before| *before > 0);
    Step {
        path: format!("/v1/errands/{name}-{position}"),
        body,
        first: first.map(|before| Look {
            path: format!("/v1/marks/{name}-{before}-called"),
            judge: |mark| if mark.status == 200 { Due::Now } else { Due::Later },
        }),
    }
}

/// How long its task waits at least.
fn in_ms(position: u64) -> u64 {
    (position * 37) % 500
}

/// Whether its call is given up after a while: the only ones that need not be answered in the end.
fn may_give_up(position: u64) -> bool {
    position % 4 == 3
}

async fn await_outcomes(program: &Program, bank: &Outside<Bank>, ledger: &mut Ledger) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLED_WITHIN;
    loop {
        ledger.read(&program.database_file()).await?;
        if ledger.is_complete() {
            return Ok(());
        }
        let words = || format!("{}; {}", ledger.in_words(), bank.with(|bank| bank.in_words()));
        ensure!(Instant::now() < until, "not everything happened within {SETTLED_WITHIN:?}: {}", words());
        tokio::time::sleep(LOOK).await;
    }
}
