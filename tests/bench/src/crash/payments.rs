//! Payments under load while the platform and the partner are killed in turn: each that was acknowledged reaches its end, once,
//! on both sides the same one, and the books agree.
//!
//! An actor submits payments and settles those that were approved, some behind: so payments of all stages are under way
//! when a process dies. The platform's death leaves actors in doubt, who repeat themselves; the partner's does not, they
//! ask on while it is down and comes back. What both sides must have in the end says `clearing::books`.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Actor, CrashPlan, Due, Load, Look, POLL, SETTLED_WITHIN, Step, ensure_nothing_waits, kill_after, settle};
use crate::{
    clearing::{
        Pair, Side,
        books::{Books, Ends},
        message::Payment,
    },
    wire::{Answer, Client},
};

/// An actor settles the payment so many before: what is under way stays within bounds.
const LEAD: u64 = 8;
/// Rounds from one look at the books to the next: for that nothing may be under way.
const ROUNDS_BETWEEN_BOOKS: usize = 20;
const LOOK: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub struct PaymentReport {
    pub rounds: usize,
    /// Payments whose submission was acknowledged.
    pub acknowledged: u64,
    /// Sent without an answer, and repeated after the restart.
    pub repeated: u64,
    pub ends: Ends,
}

/// Runs all rounds with `plan.program`, whose plugins do not matter; the first thing that does not hold is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<PaymentReport> {
    let mut pair = Pair::start(&plan.program.binary, &plan.program.folder).await?;
    let mut actors: Vec<Actor> = (0..plan.actors).map(|lane| Actor::new(lane.to_string(), pay)).collect();
    let mut report = PaymentReport::default();
    for round in 0..plan.rounds {
        let after = kill_after(plan.kill_after_ms, plan.first_round + round);
        pair = kill_side(pair, side_of(round), &mut actors, after).await.with_context(|| format!("round {round}"))?;
        let token = pair.hub.token().await?;
        let repeated = settle(&pair.hub.program, &token, &mut actors).await;
        report.repeated += repeated.with_context(|| format!("after round {round}"))?;
        report.rounds += 1;
        if report.rounds.is_multiple_of(ROUNDS_BETWEEN_BOOKS) || report.rounds == plan.rounds {
            report.ends = close_books(&pair, &actors).await.with_context(|| format!("after round {round}"))?;
        }
    }
    report.acknowledged = uetrs(&actors).count() as u64;
    pair.stop().await?;
    Ok(report)
}

fn side_of(round: usize) -> Side {
    if round.is_multiple_of(2) { Side::Hub } else { Side::Bank }
}

async fn kill_side(pair: Pair, side: Side, actors: &mut Vec<Actor>, after: Duration) -> anyhow::Result<Pair> {
    let load = Load::start(&pair.hub.program, &pair.hub.token().await?, actors);
    tokio::time::sleep(after).await;
    let pair = pair.restart(side).await?;
    load.stop(actors).await?;
    Ok(pair)
}

/// What comes at a position of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Submit(u64),
    Settle(u64),
}

/// At first payments are only submitted; then an older one is settled before each.
fn part_at(position: u64) -> Part {
    match position.checked_sub(LEAD + 1) {
        None => Part::Submit(position.saturating_sub(1)),
        Some(after) if after.is_multiple_of(2) => Part::Settle(after / 2),
        Some(after) => Part::Submit(LEAD + after / 2),
    }
}

fn pay(lane: &str, position: u64) -> Step {
    match part_at(position) {
        Part::Submit(number) => {
            let (path, body) = payment(lane, number).to_submit();
            Step { path, body, first: None }
        }
        Part::Settle(number) => settlement(&payment(lane, number)),
    }
}

fn settlement(payment: &Payment) -> Step {
    let (path, body) = payment.to_settle();
    Step { path, body, first: Some(Look { path: payment.to_look(), judge }) }
}

/// What was settled before may be settled again.
fn judge(found: &Answer) -> Due {
    match found.json().get("state").and_then(Value::as_str) {
        Some("approved" | "completed") => Due::Now,
        Some("rejected" | "timed_out" | "failed") => Due::Never,
        _ => Due::Later,
    }
}

fn payment(lane: &str, number: u64) -> Payment {
    Payment::new(0, lane.parse().unwrap_or_default(), u32::try_from(number).unwrap_or_default())
}

/// How many an actor has submitted, and how many of them it has settled, when it stands at a position.
fn counts_at(position: u64) -> (u64, u64) {
    let after = position.saturating_sub(LEAD);
    (position.min(LEAD) + after / 2, after.div_ceil(2))
}

/// Of all payments that were acknowledged.
fn uetrs(actors: &[Actor]) -> impl Iterator<Item = String> {
    actors.iter().flat_map(|actor| {
        let (submitted, _) = counts_at(actor.position);
        (0..submitted).map(|number| payment(&actor.name, number).uetr)
    })
}

/// Lets everything come to its end, and holds both sides against what was acknowledged.
async fn close_books(pair: &Pair, actors: &[Actor]) -> anyhow::Result<Ends> {
    let until = Instant::now() + SETTLED_WITHIN;
    let mut client = pair.hub.client().await?;
    for actor in actors {
        settle_rest(actor, &mut client, until).await?;
    }
    let books = loop {
        let books = Books::read(pair).await?;
        if books.are_still() {
            break books;
        }
        ensure!(Instant::now() < until, "still under way after {SETTLED_WITHIN:?}: {}", books.in_words());
        tokio::time::sleep(LOOK).await;
    };
    let ends = books.check(uetrs(actors))?;
    // One that timed out may have left the partner a timer, and a response that was refused.
    if ends.timed_out == 0 {
        ensure_nothing_waits(&pair.hub.program).await?;
        ensure_nothing_waits(&pair.bank.program).await?;
    }
    Ok(ends)
}

/// What the actor has submitted and not yet settled. It will settle these again, and be answered the same.
async fn settle_rest(actor: &Actor, client: &mut Client, until: Instant) -> anyhow::Result<()> {
    let (submitted, settled) = counts_at(actor.position);
    for number in settled..submitted {
        let payment = payment(&actor.name, number);
        let step = settlement(&payment);
        let due = loop {
            match step.look(client).await? {
                Due::Later => tokio::time::sleep(POLL).await,
                due => break due,
            }
            ensure!(Instant::now() < until, "{} is not decided after {SETTLED_WITHIN:?}", payment.uetr);
        };
        if due == Due::Now {
            let answer = client.send("POST", &step.path, &[], step.body.as_bytes()).await?;
            let text = String::from_utf8_lossy(&answer.body);
            ensure!(answer.status == 202, "{}: {} {text}", step.path, answer.status);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payment_is_submitted_in_its_turn_and_settled_in_its_turn_behind() {
        let (mut submitted, mut settled) = (0, 0);
        for position in 1..100 {
            match part_at(position) {
                Part::Submit(number) => {
                    assert_eq!(number, submitted);
                    submitted += 1;
                }
                Part::Settle(number) => {
                    assert_eq!(number, settled);
                    settled += 1;
                }
            }
            assert_eq!(counts_at(position), (submitted, settled));
            assert!((submitted - settled) <= LEAD && settled <= submitted, "at {position}");
        }
    }
}
