//! Effects under load: a task runs once and not early, and a call goes out whose outcome is delivered once.
//!
//! An effect is one request to the guest `clockwork`, which writes a mark, schedules a task and starts an outgoing
//! call in one commit. The task and the delivery of the outcome write marks as well. Therefore each acknowledged
//! effect must have its three marks, each written once (`marks`), and the delivered outcomes must match the calls that
//! the bank received (`bank`). The rounds do not wait for effects: a kill interrupts effects of all earlier rounds.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use super::{
    Actor, ActorRequest, CrashPlan, ExternalService, Precondition, Readiness, SETTLE_TIMEOUT, ensure_no_pending_tasks,
    kill_after, kill_under_load, repeat_unanswered,
};
use crate::{
    guests,
    program::{PluginSection, Program},
};
use bank::Bank;
use marks::{Marks, OutcomeCounts};

mod bank;
mod marks;

/// An actor waits for the outcome of its effect this many positions earlier, which limits the number of pending
/// effects.
const LEAD: u64 = 16;
const GIVE_UP_MS: u64 = 300;
const POLL: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub struct EffectReport {
    pub rounds: usize,
    /// Effects answered with 2xx.
    pub acknowledged: u64,
    /// Requests that were sent without a response and repeated after the restart.
    pub repeated: u64,
    /// Calls that reached the bank, each counted once.
    pub received: u64,
    /// Calls that arrived again after a kill although they had been accepted.
    pub accepted_again: u64,
    /// Outcomes that were delivered to the plugin.
    pub outcomes: OutcomeCounts,
}

/// Runs all rounds with `plan.program`, which names no plugin. The first violated invariant is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<EffectReport> {
    let bank = ExternalService::open(Bank::receive)?;
    let mut started = plan.program.clone();
    started.plugins.push(clockwork(&bank.url()?));
    let mut program = Program::start(started).await?;
    let key = program.create_key("clockwork", "crash")?;
    let mut actors: Vec<Actor> = (0..plan.actors).map(|number| Actor::new(format!("a{number}"), effect)).collect();
    let (mut marks, mut repeated) = (Marks::default(), 0);
    for round in 0..plan.rounds {
        let stopped =
            kill_under_load(program, &key, &mut actors, kill_after(plan.kill_after_ms, plan.first_round + round))
                .await?;
        bank.wait_until_disconnected().await;
        bank.with(Bank::record_kill);
        program = Program::start(stopped).await.with_context(|| format!("restart of round {round}"))?;
        repeated += repeat_unanswered(&program, &key, &mut actors).await.with_context(|| format!("round {round}"))?;
        marks.read(&program.database_file()).await.with_context(|| format!("after round {round}"))?;
        bank.with(|bank| marks.check(&actors, bank)).with_context(|| format!("after round {round}"))?;
    }
    await_outcomes(&program, &bank, &mut marks).await?;
    let outcomes = bank.with(|bank| marks.check(&actors, bank))?;
    marks.check_records(&program.database_file()).await?;
    ensure_no_pending_tasks(&program).await?;
    program.stop().await?;
    let (received, accepted_again) = bank.with(|bank| (bank.received(), bank.accepted_again()));
    let acknowledged = actors.iter().map(|actor| actor.position).sum();
    ensure!(received + outcomes.not_sent + outcomes.unknown >= acknowledged, "{received} calls received, {outcomes:?}");
    Ok(EffectReport { rounds: plan.rounds, acknowledged, repeated, received, accepted_again, outcomes })
}

/// Returns the section of the plugin under load, with its bank as destination. Failed attempts are retried soon.
fn clockwork(bank: &str) -> PluginSection {
    let grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"];
    let mut section = PluginSection::new("clockwork", &guests::component_path("clockwork"), &grants);
    section.extra_toml = format!(
        "tasks = {{ delays-ms = [100, 200, 400, 800, 1600, 3200] }}\n\
         destinations.bank = {{ base-url = {bank:?}, kind = \"none\" }}"
    );
    section
}

/// Returns the request of an actor at a position. The delay of its task, whether the first run of the task fails, and
/// whether the call has a deadline depend on the position.
fn effect(name: &str, position: u64) -> ActorRequest {
    let body = json!({
        "in_ms": in_ms(position),
        "then": if position.is_multiple_of(5) { "fail-first" } else { "mark" },
        "destination": "bank",
        "delays": [50, 100, 200, 400, 800, 1_600, 3_200],
        "give_up_in": may_give_up(position).then_some(GIVE_UP_MS),
    });
    let body = body.to_string();
    let awaited = position.checked_sub(LEAD).filter(|before| *before > 0);
    ActorRequest {
        path: format!("/v1/effects/{name}-{position}"),
        body,
        precondition: awaited.map(|before| Precondition {
            path: format!("/v1/marks/{name}-{before}-called"),
            evaluate: |mark| if mark.status == 200 { Readiness::Ready } else { Readiness::Pending },
        }),
    }
}

/// Returns the minimum delay of the task in milliseconds.
fn in_ms(position: u64) -> u64 {
    (position * 37) % 500
}

/// Returns true if the call may be given up after a while. All other calls must be answered in the end.
fn may_give_up(position: u64) -> bool {
    position % 4 == 3
}

async fn await_outcomes(program: &Program, bank: &ExternalService<Bank>, marks: &mut Marks) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    loop {
        marks.read(&program.database_file()).await?;
        if marks.is_complete() {
            return Ok(());
        }
        let progress = || format!("{}; {}", marks.progress(), bank.with(|bank| bank.progress()));
        ensure!(Instant::now() < until, "effects are incomplete after {SETTLE_TIMEOUT:?}: {}", progress());
        tokio::time::sleep(POLL).await;
    }
}
