//! What there is to be tested, drawn from the manifest and the rules, and which of it was seen on the wire.
//!
//! Owns the rows. A test claims rows (`covers` of a stage, with `*` for any text) and fails where one of them was not seen;
//! `every_row_is_claimed_by_a_test` reads the claims out of the sources and fails on a row that nobody claims. So a row that
//! is green was exercised over real HTTP, and a row that is added to the plugin is red until it is. Whatever a test asks for,
//! the answer is of the schema that the OpenAPI document has for it.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use clearing::{
    PLUGIN, events,
    rules::{
        scheme::{Operation, Scheme},
        state::{EDGES, State},
    },
};
use parking_lot::Mutex;
use serde_json::Value;
use tenon_plugin::test_kit::schema::{self, resolve};

use crate::support::{Response, check_claims, check_folder, operation_of};

/// Codes of the specification, with their statuses (spec/clearing: Errors).
const CODES: [(&str, u16); 9] = [
    ("INBOUND_BAD_REQUEST", 400),
    ("INBOUND_UNAUTHORIZED", 401),
    ("INBOUND_FORBIDDEN", 403),
    ("INBOUND_NOT_FOUND", 404),
    ("INBOUND_UNPROCESSABLE", 422),
    ("INBOUND_RATE_LIMITED", 429),
    ("INBOUND_SERVER_ERROR", 500),
    ("INBOUND_SERVICE_UNAVAILABLE", 500),
    ("INBOUND_TIMEOUT", 429),
];

/// How an event reaches somebody.
const WAYS: [&str; 3] = ["feed", "stream", "webhook"];

/// The two sides, by what a test calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Bank,
    Hub,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Bank => "the partner",
            Side::Hub => "the platform",
        }
    }
}

/// What one test saw.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<BTreeSet<String>>>);

impl Seen {
    fn note(&self, row: String) {
        self.0.lock().insert(row);
    }

    pub fn note_answer(&self, method: &str, path: &str, body: &[u8], answer: &Response) {
        let Some(operation) = operation_of(PLUGIN.route_table(), method, path) else { return };
        check_answer(operation, answer);
        self.note(answered(operation, answer.status));
        let code = serde_json::from_slice::<Value>(&answer.body).ok();
        if let Some(code) = code.as_ref().and_then(|body| body["code"].as_str()) {
            self.note(refused(code, answer.status));
        }
        let scheme = serde_json::from_slice::<Value>(body).ok();
        if let Some(scheme) = scheme.as_ref().and_then(|body| body["payment_scheme"].as_str()) {
            self.note(with_scheme(operation, scheme, answer.status));
        }
    }

    pub fn note_event(&self, name: &str, way: &str, side: Side) {
        assert!(WAYS.contains(&way));
        self.note(format!("event {name}, {way} of {}", side.name()));
    }

    pub fn note_edge(&self, from: &str, to: &str, side: Side) {
        self.note(format!("edge {from} to {to}, {}", side.name()));
    }

    /// Fails where one of the claims names no row, or a row that was not seen.
    pub fn check(&self, claims: &[&str]) {
        check_claims(&rows(), &self.0.lock(), claims);
    }
}

/// As it is published.
fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let manifest: Value = serde_json::from_str(&PLUGIN.describe()).expect("a manifest");
        manifest["openapi"].clone()
    })
}

/// All operations of the document.
fn published() -> impl Iterator<Item = &'static Value> {
    let paths = document()["paths"].as_object().expect("paths");
    paths.values().flat_map(|item| item.as_object().expect("a path item").values())
}

/// Fails where an answer is not of its schema; a status that is not listed is the `default`.
fn check_answer(operation: &str, answer: &Response) {
    let found =
        published().find(|it| it["operationId"] == operation).unwrap_or_else(|| panic!("{operation} is not published"));
    let responses = &found["responses"];
    let declared = responses.get(answer.status.to_string()).unwrap_or(&responses["default"]);
    if let Some(media) = resolve(document(), declared)["content"].get("application/json") {
        schema::check(document(), &media["schema"], &answer.json(), &format!("{operation} {}", answer.status));
    }
}

fn answered(operation: &str, status: u16) -> String {
    format!("{operation}: {status}")
}

fn refused(code: &str, status: u16) -> String {
    format!("{code}, {status}")
}

fn with_scheme(operation: &str, scheme: &str, status: u16) -> String {
    format!("{operation} of {scheme}: {status}")
}

/// Every row: each answer that the OpenAPI document names for an operation, each scheme with each operation that takes one,
/// each code, each event by each way on each side that has it, each edge of the states on each side.
pub fn rows() -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for operation in published() {
        let (Some(name), Some(responses)) = (operation["operationId"].as_str(), operation["responses"].as_object())
        else {
            continue;
        };
        rows.extend(responses.keys().filter_map(|status| Some(answered(name, status.parse().ok()?))));
    }
    for operation in Operation::ALL {
        let served =
            |scheme: Scheme| if operation.schemes().contains(&scheme.name()) { accepted(operation) } else { 422 };
        rows.extend(Scheme::ALL.map(|scheme| with_scheme(operation.name(), scheme.name(), served(scheme))));
    }
    rows.extend(CODES.map(|(code, status)| refused(code, status)));
    for (name, side) in events::NAMES.into_iter().flat_map(|name| [(name, Side::Bank), (name, Side::Hub)]) {
        rows.extend(WAYS.map(|way| format!("event {name}, {way} of {}", side.name())));
    }
    for ((from, to), side) in EDGES.into_iter().flat_map(|edge| [(edge, Side::Bank), (edge, Side::Hub)]) {
        // A partner never un-receives what it stored: only a platform gives up waiting.
        if to != State::TimedOut || side == Side::Hub {
            rows.insert(format!("edge {} to {}, {}", from.name(), to.name(), side.name()));
        }
    }
    rows
}

fn accepted(operation: Operation) -> u16 {
    match operation {
        Operation::IdentifierDetermination | Operation::CreditTransferAuthorisationSync => 200,
        _ => 202,
    }
}

#[test]
fn every_row_is_claimed_by_a_test() {
    check_folder(&rows(), "tests/clearing");
}
