//! Both sides on hosts of their own, which talk through effects and questions in a seeded world that loses, delays, repeats
//! and reorders what they say. Owns what must hold when everything has come to rest; the world itself is in `world`.

mod world;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tenon_plugin::test_kit::TestHost;

use world::World;

const PAYMENTS: usize = 30;
const WORLDS: u64 = 10;

#[test]
fn both_sides_agree_however_their_messages_travel() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..WORLDS {
        let world = World::run(seed, PAYMENTS);
        for at in 0..PAYMENTS {
            let (platform, partner) = (world.shown(&world.platform, at).unwrap(), world.shown(&world.partner, at));
            let which = format!("seed {seed}, payment {at}: {platform:#} {partner:#?}");
            check_delivery(&platform, partner.as_ref(), &which);
            check_agreement(&platform, partner.as_ref(), &which);
            check_notice(world.outcomes.get(&world::uetr(at)), partner.as_ref(), &which);
            *seen.entry(format!("platform {}", text(&platform, "state"))).or_default() += 1;
            *seen.entry(format!("partner {}", partner.as_ref().map_or("none", |it| text(it, "state")))).or_default() +=
                1;
        }
        check_books(&world, seed);
        check_events(&world.platform, seed);
        check_events(&world.partner, seed);
    }
    let platform =
        ["approved", "completed", "failed", "rejected", "timed_out"].map(|state| format!("platform {state}"));
    let partner = ["approved", "completed", "failed", "rejected", "none"].map(|state| format!("partner {state}"));
    for state in platform.iter().chain(&partner) {
        assert!(seen.get(state).is_some_and(|count| *count > 1), "hardly ever {state}: {seen:?}");
    }
}

fn text<'a>(shown: &'a Value, field: &str) -> &'a str {
    shown[field].as_str().unwrap_or_default()
}

/// Nothing is forgotten: delivered, listed, or never due.
fn check_delivery(platform: &Value, partner: Option<&Value>, which: &str) {
    assert_ne!(platform["delivery"], "underway", "{which}");
    let Some(partner) = partner else { return };
    let status = text(partner, "transaction_status");
    assert_ne!(status, "PENDING", "{which}");
    let answered = ["delivered", "undelivered"].contains(&text(partner, "response"));
    assert_eq!(answered, !status.is_empty(), "{which}");
    assert_eq!(partner["needs_attention"], !partner["concerns"].as_array().unwrap().is_empty(), "{which}");
}

/// What one side takes for final, the other does not contradict.
fn check_agreement(platform: &Value, partner: Option<&Value>, which: &str) {
    let state = partner.map_or("none", |partner| text(partner, "state"));
    match (text(platform, "operation"), text(platform, "state")) {
        ("credit-transfer", ours) => {
            let decided_state = if state == "failed" { "received" } else { state };
            assert_eq!(ours, decided_state, "{which}");
            let decided = partner.map_or("", |partner| text(partner, "transaction_status"));
            assert_eq!(text(&platform["response"], "transaction_status"), decided, "{which}");
        }
        ("direct-debit", "processing") => assert_eq!(state, "failed", "{which}"),
        ("direct-debit", ours) => assert_eq!(ours, state, "{which}"),
        (_, "completed") => assert_eq!(state, "completed", "{which}"),
        (_, "approved") => assert_eq!(state, "approved", "{which}"),
        (_, "rejected") => assert!(["none", "rejected"].contains(&state), "{which}"),
        // The partner may have approved in vain, but never paid.
        (_, "timed_out" | "failed") => assert_ne!(state, "completed", "{which}"),
        (_, _) => panic!("{which}"),
    }
}

/// A bank whose own system decides is notified of the end of each payment, and of nothing else.
fn check_notice(outcome: Option<&Value>, partner: Option<&Value>, which: &str) {
    let asked = partner.filter(|partner| !partner["bank_notification"].is_null());
    let expected = asked.and_then(|partner| match (text(partner, "operation"), text(partner, "state")) {
        (_, "completed") | ("direct-debit", "approved") => Some("post"),
        (_, "approved") if partner["completion"].is_null() => None,
        _ => Some("release"),
    });
    assert_eq!(outcome.map(|outcome| text(outcome, "outcome")), expected, "{which}");
    if let Some(partner) = asked {
        let notice = if expected.is_some() { "delivered" } else { "not_due" };
        assert_eq!(text(partner, "bank_notification"), notice, "{which}");
    }
}

/// No money is made, and every account holds what the transactions say.
fn check_books(world: &World, seed: u64) {
    let (mut held, mut paid, mut unapplied) = (0, 0, 0);
    for at in 0..PAYMENTS {
        let Some(partner) = world.shown(&world.partner, at) else { continue };
        let minor = world::minor(at);
        let approved = partner["transaction_status"] == "APPROVED";
        match (text(&partner, "operation"), text(&partner, "state")) {
            ("credit-transfer", _) if approved => paid += minor,
            ("credit-transfer", _) if partner["transaction_status"].is_null() => unapplied += minor,
            ("credit-transfer", _) => {}
            ("direct-debit", "approved") => paid -= minor,
            (_, "completed") => paid += minor,
            (_, "approved") if partner["completion"].is_null() => held += minor,
            _ => {}
        }
    }
    let balances = world.partner.balances();
    let on = |prefix: &str| -> i128 {
        balances.iter().filter(|((account, _), _)| account.starts_with(prefix)).map(|(_, balance)| balance).sum()
    };
    let expected = (0, held, paid, unapplied);
    assert_eq!((on(""), on("held/"), on("customer/"), on("unapplied/")), expected, "seed {seed}");
    assert!(world.platform.balances().is_empty());
}

/// However often a message came, it had one effect.
fn check_events(host: &TestHost, seed: u64) {
    let mut told = BTreeSet::new();
    for event in host.events().into_iter().filter(|event| !event.event_type.contains("determination")) {
        assert!(told.insert((event.event_type.clone(), event.subject.clone())), "seed {seed}: told twice: {event:?}");
    }
}
