//! Outcomes of an effect, attempt by attempt.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::changes::outgoing::OutgoingContent;

fn effect(delays: &[u32]) -> Effect {
    let call = OutgoingCall {
        destination: "bank".to_owned(),
        method: "POST".to_owned(),
        path: "/payments".to_owned(),
        headers: Vec::new(),
        content: OutgoingContent::Empty,
        timeout_ms: 0,
        hops: 0,
    };
    Effect {
        due: Some(0),
        call,
        then: "paid".to_owned(),
        key: "p1".to_owned(),
        context: RawValue::NULL.to_owned(),
        delays: delays.to_vec(),
        give_up_at: None,
        progress: Progress::default(),
        outcome: None,
        fault_history: FaultHistory::default(),
    }
}

fn answered(status: u16) -> AttemptEnd {
    let answer = OutgoingResponse { status, headers: Vec::new(), content: OutgoingContent::Empty };
    AttemptEnd::Answered { answer, pause_ms: None }
}

fn not_sent() -> AttemptEnd {
    AttemptEnd::NotSent("refused".to_owned())
}

fn unknown() -> AttemptEnd {
    AttemptEnd::Unknown("timeout".to_owned())
}

/// Makes attempts at their due times until the effect is settled.
fn play(effect: &mut Effect, ends: impl IntoIterator<Item = AttemptEnd>) {
    for end in ends {
        let now = effect.due.unwrap();
        if effect.begin(now) == Step::Attempt {
            effect.end(end, now);
        }
    }
}

#[test]
fn any_response_settles_the_effect_unless_its_status_is_retried() {
    for (status, settles) in [(200, true), (404, true), (409, true), (503, false), (429, false), (408, false)] {
        let mut effect = effect(&[1_000]);
        play(&mut effect, [answered(status)]);
        assert_eq!(effect.outcome.is_some(), settles, "{status}");
    }
}

#[test]
fn response_of_the_last_attempt_is_the_outcome_even_if_its_status_is_retried() {
    let mut effect = effect(&[1_000]);
    play(&mut effect, [unknown(), answered(503)]);
    assert!(matches!(&effect.outcome, Some(Outcome::Answered(answer)) if answer.status == 503));
}

#[test]
fn delays_and_a_longer_retry_after_are_respected() {
    let mut effect = effect(&[1_000, 5_000]);
    play(&mut effect, [not_sent()]);
    assert_eq!(effect.due, Some(1_000));
    effect.begin(1_000);
    let AttemptEnd::Answered { answer, .. } = answered(429) else { unreachable!() };
    effect.end(AttemptEnd::Answered { answer, pause_ms: Some(60_000) }, 1_000);
    assert_eq!(effect.due, Some(61_000));
}

#[test]
fn no_attempt_begins_after_give_up_at() {
    let mut effect = effect(&[1_000]);
    effect.give_up_at = Some(500);
    play(&mut effect, [not_sent()]);
    assert_eq!(effect.outcome, Some(Outcome::NotSent("refused".to_owned())), "the next one would be too late");
    let mut late = self::effect(&[]);
    late.give_up_at = Some(500);
    assert_eq!(late.begin(501), Step::Report);
    assert!(matches!(late.outcome, Some(Outcome::NotSent(_))));
}

#[test]
fn attempt_without_a_recorded_end_may_have_happened() {
    let mut effect = effect(&[1_000]);
    effect.begin(0);
    let mut after_crash = Effect::parse(&serde_json::to_string(&effect).unwrap()).unwrap();
    play(&mut after_crash, [not_sent(), not_sent()]);
    assert_eq!(after_crash.outcome, Some(Outcome::Unknown("refused".to_owned())));
    effect.give_up_at = Some(5);
    assert_eq!(effect.begin(6), Step::Report);
    assert!(matches!(effect.outcome, Some(Outcome::Unknown(_))));
}

#[test]
fn outcome_after_a_response_is_never_not_sent() {
    let mut refused_later = effect(&[1_000]);
    play(&mut refused_later, [answered(503), not_sent()]);
    assert_eq!(refused_later.outcome, Some(Outcome::Unknown("refused".to_owned())));
    let mut out_of_time = effect(&[1_000]);
    out_of_time.give_up_at = Some(5_000);
    play(&mut out_of_time, [answered(503)]);
    assert_eq!(out_of_time.begin(5_001), Step::Report);
    assert_eq!(out_of_time.outcome, Some(Outcome::Unknown("status 503".to_owned())));
}

#[test]
fn call_with_a_too_long_response_is_not_retried() {
    let mut effect = effect(&[1_000, 1_000]);
    play(&mut effect, [AttemptEnd::TooLong]);
    assert_eq!(effect.outcome, Some(Outcome::Unknown(TOO_LONG.to_owned())));
}

#[test]
fn effect_that_may_have_been_sent_is_not_fresh() {
    let mut effect = effect(&[1_000]);
    assert!(effect.is_fresh());
    effect.progress.may_have_happened = true;
    assert!(!effect.is_fresh(), "an operator retried it");
}

proptest! {
    /// There are never more attempts than delays allow. The outcome is "not sent" only if no attempt can have reached
    /// the server.
    #[test]
    fn outcome_is_not_sent_only_if_no_attempt_can_have_been_sent(
        delays in prop::collection::vec(0_u32..10_000, 0..6),
        steps in prop::collection::vec((0_u8..4, any::<bool>()), 1..20),
        give_up_at in prop::option::of(0_u64..30_000),
    ) {
        let mut effect = effect(&delays);
        effect.give_up_at = give_up_at;
        let (mut attempts, mut risky) = (0_usize, false);
        for (kind, crash) in steps {
            let now = effect.due.unwrap();
            if effect.begin(now) == Step::Report {
                break;
            }
            prop_assert!(give_up_at.is_none_or(|at| now <= at));
            attempts += 1;
            if crash {
                risky = true;
                effect = Effect::parse(&serde_json::to_string(&effect).unwrap()).unwrap();
                continue;
            }
            risky |= matches!(kind, 1 | 2);
            effect.end(match kind { 0 => not_sent(), 1 => unknown(), 2 => answered(503), _ => answered(201) }, now);
            prop_assert!(effect.due.unwrap() >= now);
            if effect.outcome.is_some() {
                break;
            }
        }
        prop_assert!(attempts <= delays.len() + 1, "{attempts} attempts with {} delays", delays.len());
        match &effect.outcome {
            Some(Outcome::NotSent(_)) => prop_assert!(!risky),
            Some(Outcome::Unknown(_)) => prop_assert!(risky),
            _ => {}
        }
    }
}
