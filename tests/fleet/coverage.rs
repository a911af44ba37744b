//! What there is to be tested, drawn from the manifest and the rules, and which of it was seen on the wire.
//!
//! Owns the rows. A test claims rows (`covers` of a stage, with `*` for any text) and fails where one of them was not seen;
//! `every_row_is_claimed_by_a_test` reads the claims out of the sources and fails on a row that nobody claims. So a row that
//! is green was exercised over real HTTP, and a row that is added to the plugin is red until it is.
//!
//! Answers are noted by themselves, whatever a stage asks for; events when it finishes. Edges, and what strangers are told,
//! are noted by the test that has checked them (`Seen::note`).

use std::{collections::BTreeSet, sync::Arc};

use fleet::{
    PLUGIN,
    api::{drivers::linked, errors::FAILURES},
    rules::{
        flow::transport,
        progress::{Way, edges},
        refusal::table,
    },
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::{Response, check_claims, check_folder, operation_of};

/// Of the host alone, or told by what no rule refuses.
const FURTHER_CODES: [&str; 2] = ["EVENT_NOT_KEPT", "VALIDATION_FAILED"];

/// What nothing from outside brings about: faults of the plugin itself. `host::misbehaving_guests` sees to their words.
const INNER_CODES: [&str; 5] =
    ["SERVER_ERROR", "SERVICE_UNAVAILABLE", "OUTCOME_UNKNOWN", "DEADLINE_EXCEEDED", "IDEMPOTENCY_IN_PROGRESS"];

/// What one test saw.
#[derive(Clone, Default)]
pub struct Seen {
    rows: Arc<Mutex<BTreeSet<String>>>,
}

impl Seen {
    /// An edge, or what a stranger was told.
    pub fn note(&self, row: &str) {
        assert!(rows().contains(row), "no row is called {row:?}");
        self.rows.lock().insert(row.to_owned());
    }

    pub fn note_answer(&self, method: &str, path: &str, answer: &Response) {
        if answer.status >= 400 {
            let body: Value = answer.json();
            let code = body["code"].as_str().unwrap_or_else(|| panic!("an error without a code: {body}"));
            assert!(codes().contains(code), "a code that is not in the table: {body}");
            self.rows.lock().insert(refused(code));
        }
        if let Some(operation) = operation_of(PLUGIN.route_table(), method, path)
            && (200..300).contains(&answer.status)
        {
            self.rows.lock().insert(answered(operation));
        }
    }

    pub fn note_event(&self, name: &str) {
        self.rows.lock().insert(told(name));
    }

    /// Fails where one of the claims names no row, or a row that was not seen.
    pub fn check(&self, claims: &[&str]) {
        check_claims(&rows(), &self.rows.lock(), claims);
    }
}

/// What an organization's key alone does not bring about: a code from a telephone, a driver's token, a stream without end,
/// another organization that is linked.
const BESIDES: [&str; 5] =
    ["verify-driver-code", "reset-driver-password", "register-device", "stream-events", "switch-driver-organization"];

fn answered(operation: &str) -> String {
    match operation {
        _ if BESIDES.contains(&operation) => format!("answer of {operation}"),
        _ => format!("{operation} answers"),
    }
}

/// 403, or 404 as where nothing is.
pub fn closed_to_drivers(operation: &str) -> String {
    format!("{operation} with another driver's token: refused")
}

/// Of what linked organizations ask each other: 404, as where nothing is.
pub fn closed_to_keys(operation: &str) -> String {
    format!("{operation} with any key: no such path")
}

fn refused(code: &str) -> String {
    format!("code {code}")
}

fn told(event: &str) -> String {
    format!("event {event}")
}

pub fn allowed(from: Option<&str>, to: &str, way: Way) -> String {
    format!("edge {} to {to} by {}", from.unwrap_or("nothing"), way.name())
}

/// By none of the ways.
pub fn forbidden(from: &str, to: &str) -> String {
    format!("no edge {from} to {to}")
}

/// All that a consumer may call, by name.
pub fn operations() -> Vec<&'static str> {
    let all = PLUGIN.route_table().iter().map(|route| route.operation);
    all.filter(|operation| linked::ROUTES.iter().all(|inner| inner.operation != *operation)).collect()
}

/// Every code that an answer may have.
fn codes() -> BTreeSet<&'static str> {
    let rules = table::examples();
    let codes = rules.iter().map(|refusal| refusal.code());
    codes.chain(FAILURES.iter().map(|wording| wording.refusal().code)).chain(FURTHER_CODES).collect()
}

/// All statuses of the configuration that every organization has.
pub fn statuses() -> Vec<String> {
    let flow = transport();
    let named = flow.activities().iter().map(|activity| activity.code.clone());
    named.chain(["canceled", "failed"].map(str::to_owned)).collect()
}

/// Every row: each operation answered, and with a token that opens something else; each code, each event, each edge that
/// there is, and each that there is not. Every operation without a key is `every_route`'s, with that of another organization
/// or environment `isolation`'s: they go through all routes.
pub fn rows() -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for operation in operations() {
        rows.insert(answered(operation));
        rows.insert(closed_to_drivers(operation));
    }
    rows.extend(linked::ROUTES.iter().map(|route| closed_to_keys(route.operation)));
    rows.extend(codes().into_iter().filter(|code| !INNER_CODES.contains(code)).map(refused));
    let manifest: Value = serde_json::from_str(&PLUGIN.describe()).expect("a manifest");
    let events = manifest["event-types"].as_array().expect("event types").iter();
    rows.extend(events.map(|event| told(event["name"].as_str().expect("a name"))));
    let edges = edges(&transport());
    for edge in &edges {
        rows.extend(edge.by.iter().map(|way| allowed(edge.from.as_deref(), &edge.to, *way)));
    }
    for from in statuses() {
        let leads = |to: &String| edges.iter().any(|edge| edge.from.as_ref() == Some(&from) && edge.to == *to);
        let nowhere = statuses().into_iter().filter(|to| *to != from && !leads(to));
        rows.extend(nowhere.map(|to| forbidden(&from, &to)));
    }
    rows
}

#[test]
fn every_row_is_claimed_by_a_test() {
    check_folder(&rows(), "tests/fleet");
}
