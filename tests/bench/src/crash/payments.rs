//! Payments under load while the platform and the partner are killed in turn: each acknowledged payment ends exactly
//! once, with the same result on both sides, and the balances match.
//!
//! An actor submits payments and settles approved ones some positions later, so payments of all stages are in progress
//! when a process dies. After a kill of the platform, actors repeat the request whose result is unknown. After a kill
//! of the partner, the platform retries until the partner is back. `clearing::reconciliation` defines the final state
//! of both sides.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    Actor, ActorRequest, CrashPlan, Load, POLL, Precondition, Readiness, SETTLE_TIMEOUT, ensure_no_pending_tasks,
    kill_after, repeat_unanswered,
};
use crate::{
    clearing::{
        Pair, Side,
        message::Payment,
        reconciliation::{Reconciliation, ResultCounts},
    },
    wire::{Client, Response},
};

/// An actor settles its payment this many numbers earlier, which limits the number of payments in progress.
const LEAD: u64 = 8;
/// Rounds between two reconciliations, which require that no payment is in progress.
const RECONCILED_EVERY_ROUNDS: usize = 20;
const RECONCILE_POLL: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default)]
pub struct PaymentReport {
    pub rounds: usize,
    /// Payments whose submission was acknowledged.
    pub acknowledged: u64,
    /// Requests that were sent without a response and repeated after the restart.
    pub repeated: u64,
    pub results: ResultCounts,
}

/// Runs all rounds with `plan.program`, whose plugins are ignored. The first violated invariant is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<PaymentReport> {
    let mut pair = Pair::start(&plan.program.binary, &plan.program.folder).await?;
    let mut actors: Vec<Actor> = (0..plan.actors).map(|worker| Actor::new(worker.to_string(), request_at)).collect();
    let mut report = PaymentReport::default();
    for round in 0..plan.rounds {
        let after = kill_after(plan.kill_after_ms, plan.first_round + round);
        pair = kill_side(pair, side_of(round), &mut actors, after).await.with_context(|| format!("round {round}"))?;
        let token = pair.hub.token().await?;
        let repeated = repeat_unanswered(&pair.hub.program, &token, &mut actors).await;
        report.repeated += repeated.with_context(|| format!("after round {round}"))?;
        report.rounds += 1;
        if report.rounds.is_multiple_of(RECONCILED_EVERY_ROUNDS) || report.rounds == plan.rounds {
            report.results = reconcile(&pair, &actors).await.with_context(|| format!("after round {round}"))?;
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

/// Action of an actor at a position, with the number of the payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Submit(u64),
    Settle(u64),
}

/// Returns the action at a position: the first payments are only submitted, then an older payment is settled before
/// each submission.
fn action_at(position: u64) -> Action {
    match position.checked_sub(LEAD + 1) {
        None => Action::Submit(position.saturating_sub(1)),
        Some(after) if after.is_multiple_of(2) => Action::Settle(after / 2),
        Some(after) => Action::Submit(LEAD + after / 2),
    }
}

fn request_at(worker: &str, position: u64) -> ActorRequest {
    match action_at(position) {
        Action::Submit(number) => {
            let (path, body) = payment(worker, number).to_submit();
            ActorRequest { path, body, precondition: None }
        }
        Action::Settle(number) => settlement(&payment(worker, number)),
    }
}

fn settlement(payment: &Payment) -> ActorRequest {
    let (path, body) = payment.to_settle();
    let precondition = Precondition { path: payment.status_path(), evaluate: settlement_readiness };
    ActorRequest { path, body, precondition: Some(precondition) }
}

/// Returns the readiness of a settlement by the status of its payment. A completed payment may be settled again.
fn settlement_readiness(status: &Response) -> Readiness {
    match status.json().get("state").and_then(Value::as_str) {
        Some("approved" | "completed") => Readiness::Ready,
        Some("rejected" | "timed_out" | "failed") => Readiness::Skip,
        _ => Readiness::Pending,
    }
}

fn payment(worker: &str, number: u64) -> Payment {
    Payment::new(0, worker.parse().unwrap_or_default(), u32::try_from(number).unwrap_or_default())
}

/// Returns the numbers of submitted and of settled payments of an actor at a position.
fn counts_at(position: u64) -> (u64, u64) {
    let after = position.saturating_sub(LEAD);
    (position.min(LEAD) + after / 2, after.div_ceil(2))
}

/// Returns the uetrs of all acknowledged payments.
fn uetrs(actors: &[Actor]) -> impl Iterator<Item = String> {
    actors.iter().flat_map(|actor| {
        let (submitted, _) = counts_at(actor.position);
        (0..submitted).map(|number| payment(&actor.name, number).uetr)
    })
}

/// Settles the remaining payments, waits until all payments have ended, and compares both sides with the acknowledged
/// payments.
async fn reconcile(pair: &Pair, actors: &[Actor]) -> anyhow::Result<ResultCounts> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    let mut client = pair.hub.client().await?;
    for actor in actors {
        settle_remaining(actor, &mut client, until).await?;
    }
    let reconciliation = loop {
        let reconciliation = Reconciliation::read(pair).await?;
        if reconciliation.is_idle() {
            break reconciliation;
        }
        ensure!(Instant::now() < until, "still in progress after {SETTLE_TIMEOUT:?}: {}", reconciliation.progress());
        tokio::time::sleep(RECONCILE_POLL).await;
    };
    let results = reconciliation.check(uetrs(actors))?;
    // A payment that timed out may have left a timer and a refused response at the partner.
    if results.timed_out == 0 {
        ensure_no_pending_tasks(&pair.hub.program).await?;
        ensure_no_pending_tasks(&pair.bank.program).await?;
    }
    Ok(results)
}

/// Settles the payments that the actor has submitted and not yet settled. The actor settles them again later, and gets
/// the same response.
async fn settle_remaining(actor: &Actor, client: &mut Client, until: Instant) -> anyhow::Result<()> {
    let (submitted, settled) = counts_at(actor.position);
    for number in settled..submitted {
        let payment = payment(&actor.name, number);
        let request = settlement(&payment);
        let readiness = loop {
            match request.readiness(client).await? {
                Readiness::Pending => tokio::time::sleep(POLL).await,
                readiness => break readiness,
            }
            ensure!(Instant::now() < until, "{} is not decided after {SETTLE_TIMEOUT:?}", payment.uetr);
        };
        if readiness == Readiness::Ready {
            let response = client.send("POST", &request.path, &[], request.body.as_bytes()).await?;
            let text = String::from_utf8_lossy(&response.body);
            ensure!(response.status == 202, "{}: {} {text}", request.path, response.status);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payments_are_submitted_and_settled_in_order() {
        let (mut submitted, mut settled) = (0, 0);
        for position in 1..100 {
            match action_at(position) {
                Action::Submit(number) => {
                    assert_eq!(number, submitted);
                    submitted += 1;
                }
                Action::Settle(number) => {
                    assert_eq!(number, settled);
                    settled += 1;
                }
            }
            assert_eq!(counts_at(position), (submitted, settled));
            assert!((submitted - settled) <= LEAD && settled <= submitted, "at {position}");
        }
    }
}
