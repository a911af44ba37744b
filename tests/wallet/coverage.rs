//! What there is to be tested, drawn from the manifest and the rules, and which of it was seen on the wire.
//!
//! Owns the rows. A test claims rows (`covers` of a stage, with `*` for any text) and fails where one of them was not seen;
//! `every_row_is_claimed_by_a_test` reads the claims out of the sources and fails on a row that nobody claims. So a row that
//! is green was exercised over real HTTP, and a row that is added to the plugin is red until it is.
//!
//! Answers and statuses are noted by themselves, whatever a stage asks for; events when it finishes. Defaults and limits are
//! noted by the test that has checked them (`Seen::note`).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;
use wallet::{
    PLUGIN,
    rules::{
        code::Code,
        event,
        status::{EDGES, Status},
    },
};

use crate::support::{ReceivedRequest, Response, check_claims, check_folder, operation_of};

/// Whoever has a key that does not open what is asked for.
pub const STRANGERS: [&str; 3] = ["another wallet", "another account", "the other environment"];

/// spec/wallet: Resources and their fields, Rules 4, Endpoints.
const DEFAULTS: [&str; 9] = [
    "disable_auto_sweep is false",
    "the threshold of auto-sweep is 0",
    "enable_gasless_withdraw is false",
    "show_private_key is false",
    "wallet_status is ACTIVE",
    "transaction_status is pending",
    "the page is 1",
    "a page has 100 rows",
    "settings of an address go before those of its wallet",
];

/// spec/wallet: Limits, Resources, Conditions.
const LIMITS: [&str; 16] = [
    "a batch of 0",
    "a batch of 1",
    "a batch of 20",
    "a batch of 21",
    "an amount of 0",
    "an amount below 0",
    "an amount with too many decimals",
    "a message of 4096 characters",
    "a message of 4097 characters",
    "a broadcast is tried 11 times, 5 minutes apart",
    "a webhook is sent 6 times, after 5, 10, 20, 40 and 80 minutes",
    "only 200 is an answer to a webhook",
    "one wallet for each blockchain and account",
    "webhooks of live are https",
    "an address of another blockchain",
    "an address with a wrong checksum",
];

/// What one test saw.
#[derive(Clone, Default)]
pub struct Seen {
    rows: Arc<Mutex<BTreeSet<String>>>,
    /// The last status of each transaction.
    statuses: Arc<Mutex<BTreeMap<String, Status>>>,
}

impl Seen {
    /// A default, a limit, or what a stranger was told.
    pub fn note(&self, row: &str) {
        assert!(rows().contains(row), "no row is called {row:?}");
        self.rows.lock().insert(row.to_owned());
    }

    pub fn note_answer(&self, method: &str, path: &str, answer: &Response) {
        let (Some(operation), Ok(body)) =
            (operation_of(PLUGIN.route_table(), method, path), serde_json::from_slice::<Value>(&answer.body))
        else {
            return;
        };
        assert_eq!(body["statusCode"], answer.status, "{body}");
        match answer.status {
            200..300 => self.rows.lock().insert(answered(operation)),
            401 => self.rows.lock().insert(without_key(operation)),
            _ => false,
        };
        if let Some(code) = body["code"].as_str() {
            let known = Code::of_name(code).unwrap_or_else(|| panic!("an unknown code: {body}"));
            assert_eq!(body["retryable"], known.retryable(), "{body}");
            self.rows.lock().insert(refused(known));
        }
        self.note_statuses(&body["data"]);
    }

    /// A page of HTML, for instance.
    pub fn note_page(&self, method: &str, path: &str) {
        let operation =
            operation_of(PLUGIN.route_table(), method, path).unwrap_or_else(|| panic!("no operation: {method} {path}"));
        self.rows.lock().insert(answered(operation));
    }

    pub fn note_event(&self, arrived: &ReceivedRequest) {
        let body = arrived.json();
        let name = body["event"].as_str().unwrap_or_else(|| panic!("no event: {body}"));
        self.rows.lock().insert(told(name));
        if let Some(code) = body["data"]["error_code"].as_str().and_then(Code::of_name) {
            self.rows.lock().insert(refused(code));
        }
    }

    /// Whatever looks like a transaction: no two of its statuses may follow each other but along the edges.
    fn note_statuses(&self, shown: &Value) {
        match shown {
            Value::Array(all) => all.iter().for_each(|one| self.note_statuses(one)),
            Value::Object(members) => {
                if let (Some(id), Some(status)) = (shown["id"].as_str(), shown["transaction_status"].as_str()) {
                    self.note_status(id, Status::of_name(status).unwrap_or_else(|| panic!("{shown}")));
                }
                members.values().for_each(|one| self.note_statuses(one));
            }
            _ => {}
        }
    }

    fn note_status(&self, id: &str, status: Status) {
        let Some(before) = self.statuses.lock().insert(id.to_owned(), status) else { return };
        if before == status {
            return;
        }
        if before.may_become(status) {
            self.rows.lock().insert(moved(before, status));
        } else {
            let leads_on = |(from, to): &(Status, Status)| *from == before && to.may_become(status);
            assert!(EDGES.iter().any(leads_on), "{id} went from {} to {}", before.name(), status.name());
        }
    }

    /// Fails where one of the claims names no row, or a row that was not seen.
    pub fn check(&self, claims: &[&str]) {
        check_claims(&rows(), &self.rows.lock(), claims);
    }
}

fn answered(operation: &str) -> String {
    format!("{operation} answers")
}

fn without_key(operation: &str) -> String {
    format!("{operation} without a key: 401")
}

/// Their answer is the same as where nothing is, byte for byte but for the request's id.
pub fn unknown_to(operation: &str, stranger: &str) -> String {
    format!("{operation} with the key of {stranger}: as unknown")
}

fn refused(code: Code) -> String {
    format!("code {}", code.name())
}

fn told(event: &str) -> String {
    format!("event {event}")
}

fn moved(from: Status, to: Status) -> String {
    format!("edge {} to {}", from.name(), to.name())
}

/// One operation, as the manifest has it.
pub struct Operation {
    pub name: String,
    pub method: String,
    pub path: String,
    /// Opened by the ticket in the path.
    pub is_page: bool,
}

/// All of the manifest.
pub fn operations() -> Vec<Operation> {
    let manifest: Value = serde_json::from_str(&PLUGIN.describe()).expect("a manifest");
    let routes = manifest["routes"].as_array().expect("routes");
    let text = |route: &Value, name: &str| route[name].as_str().expect(name).to_owned();
    let operation = |route: &Value| Operation {
        name: text(route, "operation"),
        method: text(route, "method").to_uppercase(),
        path: text(route, "path"),
        is_page: route["key-parameter"].is_string() || route["open"] == true,
    };
    routes.iter().map(operation).collect()
}

/// Every row: each operation answered, without a key, and with a key that opens something else; each code, event and edge;
/// each default and each limit.
pub fn rows() -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for operation in operations() {
        rows.insert(answered(&operation.name));
        if operation.is_page {
            continue;
        }
        rows.insert(without_key(&operation.name));
        if operation.path.contains('{') && !operation.path.contains("{form}") {
            rows.extend(STRANGERS.map(|stranger| unknown_to(&operation.name, stranger)));
        }
    }
    rows.extend(Code::ALL.map(refused));
    rows.extend(event::NAMES.map(told));
    rows.extend(EDGES.map(|(from, to)| moved(from, to)));
    rows.extend(DEFAULTS.map(|row| format!("default: {row}")));
    rows.extend(LIMITS.map(|row| format!("limit: {row}")));
    rows
}

#[test]
fn every_row_is_claimed_by_a_test() {
    check_folder(&rows(), "tests/wallet");
}
