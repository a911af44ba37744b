//! Responses to the platform and notifications of the bank: sent once, repeated within bounds, then listed.

use super::*;
use crate::rules::{concern::Concern, limits};

/// For a bank whose own system decides: sequences of commands, and the notifications that the system gets.
#[test]
fn the_bank_is_notified_of_the_final_outcome_once() {
    use Kind::{Authorisation, AuthorisationSync, CreditTransfer, DirectDebit};
    let table: &[(Kind, &[Happens], &[&str])] = &[
        (Authorisation, &[Approve], &[]),
        (Authorisation, &[Approve, Unclear, Overdue], &[]),
        (Authorisation, &[Approve, Settled, Settled], &["post"]),
        (Authorisation, &[Approve, Unsettled, Unsettled], &["release"]),
        (Authorisation, &[Settled, Approve], &["post"]),
        (Authorisation, &[Unsettled, Approve], &["release"]),
        (Authorisation, &[Reject, Reject, Unsettled], &["release AC04"]),
        (Authorisation, &[Due], &["release AB05"]),
        (Authorisation, &[ApproveLate], &["release AB05"]),
        (Authorisation, &[GiveUp, Unsettled], &["release"]),
        (AuthorisationSync, &[Approve, Settled], &["post"]),
        (AuthorisationSync, &[Reject], &["release AC04"]),
        (CreditTransfer, &[], &[]),
        (CreditTransfer, &[Approve, Approve], &["post"]),
        (CreditTransfer, &[Reject], &["release AC04"]),
        (CreditTransfer, &[GiveUp], &["release"]),
        (DirectDebit, &[Approve, Approve], &["post"]),
        (DirectDebit, &[Due, Due], &["release AB05"]),
    ];
    for (kind, story, expected) in table {
        for (is_bank_consulted, expected) in [(true, *expected), (false, &[])] {
            let mut record = Inbound { is_bank_consulted, ..after(*kind, &[]) };
            let mut notified = Vec::new();
            for happens in *story {
                let step = happen(record, *happens).unwrap();
                record = step.record;
                notified.extend(step.effects.into_iter().filter_map(|effect| match effect {
                    Effect::Notify { ending, .. } => Some(ending),
                    _ => None,
                }));
            }
            let notified: Vec<String> = notified
                .into_iter()
                .map(|ending| {
                    let reason = ending.reason.map(|reason| format!(" {}", reason.as_str())).unwrap_or_default();
                    format!("{}{reason}", ending.booking.name())
                })
                .collect();
            assert_eq!(notified, expected, "{kind:?} {story:?} {is_bank_consulted}");
        }
    }
}

#[test]
fn a_notification_is_repeated_within_bounds_and_then_listed() {
    use Delivery::{Delivered, Undelivered, Underway, Unreached};
    let booked = step(Inbound { is_bank_consulted: true, ..after(Kind::DirectDebit, &[]) }, command(Approve).0, NOW_MS);
    let booked = booked.unwrap().record;
    assert_eq!(booked.notice, Underway);
    let alarm = Effect::Schedule { timer: Timer::NoticeAlarm, at_ms: NOW_MS };
    let table: &[(&[Reply], Delivery)] = &[
        (&[Reply::Accepted], Delivered),
        (&[Reply::Accepted, Reply::Silent], Delivered),
        (&[Reply::Refused], Undelivered),
        (&[Reply::Silent], Unreached),
        (&[Reply::Broken, Reply::Accepted], Delivered),
        (&[Reply::Broken, Reply::Silent], Undelivered),
        (&[Reply::Silent, Reply::Refused], Undelivered),
    ];
    for (replies, expected) in table {
        let (mut record, mut effects) = (booked.clone(), Vec::new());
        for reply in *replies {
            let next = step(record, Command::NoticeReply(*reply), NOW_MS).unwrap();
            (record, effects) = (next.record, next.effects);
        }
        assert_eq!(record.notice, *expected, "{replies:?}");
        let sent = effects.iter().any(|effect| matches!(effect, Effect::Notify { .. }));
        assert_eq!((sent, effects.contains(&alarm)), (*expected == Unreached, *expected == Undelivered), "{replies:?}");
        let listed = !Concern::of_inbound(&record).is_empty();
        assert_eq!(listed, matches!(expected, Unreached | Undelivered), "{replies:?}");
        let again = super::step(record, Command::Redeliver, LATE_MS);
        let expected = if *expected == Undelivered { Some(Underway) } else { None };
        assert_eq!(again.ok().map(|step| step.record.notice), expected, "{replies:?}, sent again");
    }
    let rounds = [limits::DELIVERY_REPEATS_MS, limits::NOTICE_LATER_REPEATS_MS];
    assert!(rounds.iter().all(|delays| delays.len() <= 31), "a round has at most 32 attempts");
}

#[test]
fn synchronous_authorisation_is_answered_and_not_sent_again() {
    let record = after(Kind::AuthorisationSync, &[]);
    assert_eq!(record.outcome(), None);
    let step = happen(record, Approve).unwrap();
    assert_eq!(step.record.outcome(), Some((Outcome::Approved, None)));
    assert_eq!(step.record.response, Delivery::Delivered);
    assert!(!step.effects.iter().any(|effect| matches!(effect, Effect::Send { .. })));
}

#[test]
fn a_response_is_delivered_or_listed() {
    use Delivery::{Delivered, Undelivered, Underway, Unreached};
    let early = (NOW_MS, Kind::Authorisation);
    let barely = (NOW_MS + 59_000, Kind::Authorisation);
    let hardly = (NOW_MS + 59_001, Kind::Authorisation);
    let late = (LATE_MS, Kind::Authorisation);
    let eft = (LATE_MS, Kind::DirectDebit);
    let table = [
        (early, Reply::Accepted, Delivered, 0),
        (early, Reply::Silent, Underway, 1),
        (early, Reply::Broken, Underway, 1),
        (barely, Reply::Silent, Underway, 1),
        (hardly, Reply::Silent, Undelivered, 0),
        (early, Reply::Refused, Undelivered, 0),
        (late, Reply::Silent, Undelivered, 0),
        (late, Reply::Accepted, Delivered, 0),
        (eft, Reply::Silent, Unreached, 1),
        (eft, Reply::Refused, Undelivered, 0),
    ];
    for ((now_ms, kind), reply, expected, sent) in table {
        let decided = after(kind, &[Approve]);
        let step = step(decided, Command::ResponseReply(reply), now_ms).unwrap();
        assert_eq!((step.record.response, step.effects.len()), (expected, sent), "{kind:?} {reply:?}");
        let listed = !Concern::of_inbound(&step.record).is_empty();
        assert_eq!(listed, matches!(expected, Unreached | Undelivered), "{kind:?} {reply:?}");
        let again = super::step(step.record, Command::Redeliver, LATE_MS);
        let expected = if expected == Undelivered { Some(Underway) } else { None };
        assert_eq!(again.ok().map(|step| step.record.response), expected, "{kind:?} {reply:?}, sent again");
    }
}
