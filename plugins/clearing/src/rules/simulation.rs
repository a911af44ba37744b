//! Both sides in a seeded world that loses, delays, repeats and reorders messages, breaks down, and sets clocks back and
//! forth. Owns what must hold when everything has come to rest; the world itself is in `world`.

pub(crate) mod random;
mod world;

use std::collections::BTreeMap;

use super::inbound::{Decision, Inbound};
use super::kind::Kind;
use super::outbound::Outbound;
use super::state::State;
use super::status::Outcome;
use super::step::Delivery;
use world::World;

const PAYMENTS: usize = 400;
const WORLDS: u64 = 40;

#[test]
fn both_sides_agree_when_a_hostile_world_comes_to_rest() {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for seed in 0..WORLDS {
        let world = World::run(seed, PAYMENTS);
        let pairs = world.platform.iter().zip(&world.partner);
        for (at, (outbound, inbound)) in pairs.enumerate() {
            check_delivery(outbound, inbound.as_ref(), &format!("seed {seed}, payment {at}"));
            check_agreement(outbound, inbound.as_ref(), &format!("seed {seed}, payment {at}"));
            *seen.entry(("platform", outbound.state.name())).or_default() += 1;
            *seen.entry(("partner", inbound.as_ref().map_or("none", |record| record.state.name()))).or_default() += 1;
        }
        check_books(&world, seed);
    }
    let wanted = ["approved", "completed", "failed", "rejected", "timed_out"].map(|state| ("platform", state));
    let wanted = wanted
        .into_iter()
        .chain(["approved", "completed", "failed", "rejected", "none"].map(|state| ("partner", state)));
    for state in wanted {
        assert!(seen.get(&state).is_some_and(|count| *count > 10), "hardly ever {state:?}: {seen:?}");
    }
}

/// Nothing is forgotten: delivered, listed, or never due.
fn check_delivery(outbound: &Outbound, inbound: Option<&Inbound>, which: &str) {
    assert!(!outbound.delivery.is_tried(), "{which}: {outbound:?}");
    if let Some(inbound) = inbound {
        let decided = matches!(inbound.decision, Decision::Approved(_) | Decision::Rejected(_));
        assert!(decided || inbound.decision == Decision::GivenUp, "{which} is still undecided: {inbound:?}");
        let answered = matches!(inbound.response, Delivery::Delivered | Delivery::Undelivered);
        assert_eq!(answered, decided, "{which}: {inbound:?}");
    }
}

/// What one side takes for final, the other does not contradict.
fn check_agreement(outbound: &Outbound, inbound: Option<&Inbound>, which: &str) {
    let both = format!("{which}: {outbound:?} {inbound:?}");
    let partner = inbound.map(|record| record.state);
    match (outbound.payment.kind, outbound.state) {
        (Kind::CreditTransfer, state) => {
            // A decision that was given up gets no response.
            let given_up = inbound.is_some_and(|record| record.decision == Decision::GivenUp);
            let expected = if given_up { State::Failed } else { state };
            assert_eq!((state == State::Received, partner), (given_up, Some(expected)), "{both}");
            let answered = outbound.response.as_ref().map(|answer| answer.outcome);
            let decided = inbound.and_then(Inbound::outcome).map(|(outcome, _)| outcome);
            assert_eq!(answered, decided, "{both}");
        }
        (Kind::DirectDebit, State::Processing) => assert_eq!(partner, Some(State::Failed), "{both}"),
        (Kind::DirectDebit, state) => assert_eq!(partner, Some(state), "{both}"),
        (_, State::Completed) => assert_eq!(partner, Some(State::Completed), "{both}"),
        (_, State::Approved) => {
            let unsettled = outbound.settlement.is_some_and(|settlement| settlement.outcome == Outcome::Rejected);
            let told = inbound.is_some_and(|record| record.completion.is_some());
            assert_eq!((partner, unsettled), (Some(State::Approved), told), "{both}");
        }
        (_, State::Rejected) => assert!(matches!(partner, None | Some(State::Rejected)), "{both}"),
        // The partner may have approved in vain, but never paid, and holds nothing once it was told.
        (_, State::TimedOut | State::Failed) => {
            assert_ne!(partner, Some(State::Completed), "{both}");
            let held = inbound.is_some_and(|record| record.state == State::Approved && record.completion.is_none());
            assert!(!held || outbound.delivery != Delivery::Delivered, "{both}");
        }
        (_, State::Received | State::Processing) => panic!("{both}"),
    }
}

fn check_books(world: &World, seed: u64) {
    let owed = world.partner.iter().flatten().map(owed);
    let (held, paid) = owed.fold((0, 0), |(held, paid), (more_held, more_paid)| (held + more_held, paid + more_paid));
    let on = |account: &str| {
        world.books.iter().filter(|(name, _)| name.starts_with(account)).map(|(_, balance)| *balance).sum::<i128>()
    };
    assert_eq!((on(""), on("held/"), on("customer/")), (0, held, paid), "seed {seed}");
}

/// What is promised to the customer, and what was paid to him, by the state of a payment.
fn owed(record: &Inbound) -> (i128, i128) {
    let minor = i128::from(record.payment.amount.minor());
    match (record.payment.kind, record.state) {
        (Kind::DirectDebit, State::Approved) => (0, -minor),
        (_, State::Completed) => (0, minor),
        (_, State::Approved) if record.completion.is_none() => (minor, 0),
        _ => (0, 0),
    }
}
