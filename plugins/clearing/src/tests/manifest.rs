//! The table of the plugin against what it publishes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::subscriptions::Attempt;
use tenon_plugin::test_kit::schema::resolve;
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use super::support::*;
use crate::PLUGIN;
use crate::rules::deadline::Budgets;
use crate::rules::event::Event;
use crate::rules::message::{Determination, Raw};
use crate::rules::scheme::Operation;
use crate::rules::step::Timer;
use crate::{events, rules::invalid::Field};

fn manifest() -> Value {
    serde_json::from_str(&PLUGIN.describe()).unwrap()
}

/// Path, method, operation and scopes.
type Published = BTreeSet<(String, String, String, Vec<String>)>;

#[test]
fn the_openapi_document_has_every_route_with_its_scopes_and_no_other() {
    let manifest = manifest();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let texts = |list: &Value| list.as_array().unwrap().iter().map(text).collect::<Vec<_>>();
    let row = |route: &Value| {
        let method = text(&route["method"]).to_lowercase();
        (text(&route["path"]), method, text(&route["operation"]), texts(&route["scopes"]))
    };
    let routes: Published = manifest["routes"].as_array().unwrap().iter().map(row).collect();
    let paths = manifest["openapi"]["paths"].as_object().unwrap();
    let published = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| {
            let scopes = texts(&operation["security"][0]["oauth2"]);
            (path.clone(), method.clone(), text(&operation["operationId"]), scopes)
        })
    });
    assert_eq!(routes, published.collect::<Published>());
    assert!(routes.iter().all(|(_, _, _, scopes)| scopes.len() == 1));
}

#[test]
fn the_nine_operations_have_the_paths_of_the_specification_and_a_scope_each() {
    let manifest = manifest();
    let routes = manifest["routes"].as_array().unwrap();
    let of_operation = |operation: Operation| {
        let path = format!("/v1{}", operation.path());
        let route = routes.iter().find(|route| route["path"] == path.as_str()).unwrap();
        assert_eq!((&route["method"], &route["operation"]), (&json!("POST"), &json!(operation.name())));
        route["scopes"][0].as_str().unwrap().to_owned()
    };
    let scopes: BTreeSet<String> = Operation::ALL.into_iter().map(of_operation).collect();
    assert_eq!(scopes.len(), 9);
}

#[test]
fn no_parameter_of_a_query_is_taken_twice() {
    let host = platform(json!({}));
    let endpoint = json!({"url": "https://bank.example.com/hooks"});
    let endpoint = send(&host, "/v1/clearing/webhook-endpoints", &endpoint).json()["id"].as_str().unwrap().to_owned();
    let manifest = manifest();
    let document = &manifest["openapi"];
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", &endpoint);
        let parameters = item["get"]["parameters"].as_array().into_iter().flatten().map(|it| resolve(document, it));
        for parameter in parameters.filter(|it| it["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            let (status, _, detail) = refusal(&host.call(TestCall::get(&format!("{path}?{name}=1&{name}=1"))));
            assert_eq!((status, detail), (422, format!("{name} must be given only once.")), "{path}");
            names.insert(name);
        }
    }
    assert!(["limit", "after", "state", "partner", "status", "uetrs"].iter().all(|name| names.contains(name)));
}

#[test]
fn every_route_takes_the_parameters_that_its_document_has_and_no_other() {
    let manifest = manifest();
    let document = &manifest["openapi"];
    for route in PLUGIN.route_table() {
        let Some(declared) = route.query else {
            assert!(route.path.contains("/inbound/"), "{}", route.operation);
            continue;
        };
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|it| resolve(document, it));
        let names = parameters.filter(|it| it["in"] == "query").map(|it| it["name"].as_str().unwrap());
        let published: BTreeSet<&str> = names.collect();
        assert_eq!(declared.iter().copied().collect::<BTreeSet<&str>>(), published, "{}", route.operation);
    }
}

#[test]
fn a_parameter_that_an_operation_does_not_have_is_refused_by_its_name() {
    let host = platform(json!({}));
    for route in PLUGIN.route_table() {
        let Some(declared) = route.query else { continue };
        let path = route.path.replace("{id}", "x").replace("{uetr}", UETR).replace("{event}", "x");
        let answer = host.call(TestCall::new(route.method, &format!("{path}?colour=red")));
        let takes = if declared.is_empty() { " none".to_owned() } else { format!(": {}", declared.join(", ")) };
        let detail = format!("colour is not a parameter of this operation, which takes{takes}.");
        assert_eq!(refusal(&answer), (422, "INBOUND_UNPROCESSABLE".to_owned(), detail), "{}", route.operation);
    }
}

#[test]
fn a_message_of_the_other_side_may_come_with_any_query() {
    let host = partner(json!({}));
    let answer = send(&host, &format!("{AUTHORISE}?api-version=1&api-version=2"), &minimal(AUTHORISE));
    assert_eq!(answer.status, 202, "{}", answer.body);
}

#[test]
fn host_failures_carry_the_codes_of_the_specification() {
    let failures = &manifest()["failures"];
    let table = [
        ("unauthenticated", 401, "INBOUND_UNAUTHORIZED"),
        ("forbidden", 403, "INBOUND_FORBIDDEN"),
        ("not-found", 404, "INBOUND_NOT_FOUND"),
        ("unsupported-version", 404, "INBOUND_NOT_FOUND"),
        ("method-not-allowed", 405, "INBOUND_BAD_REQUEST"),
        ("unsupported-media-type", 415, "INBOUND_BAD_REQUEST"),
        ("malformed-request", 400, "INBOUND_BAD_REQUEST"),
        ("body-too-large", 413, "INBOUND_BAD_REQUEST"),
        ("rate-limited", 429, "INBOUND_RATE_LIMITED"),
        ("deadline-exceeded", 429, "INBOUND_TIMEOUT"),
        ("outcome-unknown", 500, "INBOUND_SERVER_ERROR"),
        ("idempotency-mismatch", 422, "INBOUND_UNPROCESSABLE"),
        ("idempotency-in-progress", 429, "INBOUND_TIMEOUT"),
        ("plugin-failed", 500, "INBOUND_SERVER_ERROR"),
        ("unavailable", 500, "INBOUND_SERVICE_UNAVAILABLE"),
    ];
    for (failure, status, code) in table {
        let wording = &failures[failure];
        assert_eq!((&wording["status"], &wording["body"]["code"]), (&json!(status), &json!(code)), "{failure}");
        assert!(wording["body"]["message"].is_string(), "{failure}");
    }
    assert_eq!(failures.as_object().unwrap().len(), table.len());
    assert!(failures["unauthenticated"]["headers"]["www-authenticate"].as_str().unwrap().contains("invalid_token"));
    assert!(failures["forbidden"]["headers"]["www-authenticate"].as_str().unwrap().contains("insufficient_scope"));
}

#[test]
fn the_events_are_those_of_the_specification() {
    let manifest = manifest();
    let declared: Vec<&str> =
        manifest["event-types"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(declared, [events::NAMES.as_slice(), &[events::TEST_EVENT]].concat());
    assert!(manifest["event-types"].as_array().unwrap().iter().all(|it| it["schema"]["type"] == "object"));
    let raw = Raw::default().with(Field::CreditorAccountProxy, "ada@bank").with(Field::PaymentScheme, "ZA_RPP");
    let event = Event::determination_received(&Determination::read(&raw).unwrap().creditor_account_proxy);
    assert_eq!(events::payload(&event).unwrap(), r#"{"creditor_account_proxy":"ada@bank","payment_scheme":"ZA_RPP"}"#);
}

#[test]
fn the_openapi_document_has_the_payload_of_each_event() {
    let manifest = manifest();
    let document = &manifest["openapi"];
    let types = manifest["event-types"].as_array().unwrap().iter().filter(|it| it["name"] != events::TEST_EVENT);
    for declared in types {
        let name = declared["name"].as_str().unwrap();
        let schema =
            &document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let schema = document.pointer(schema.as_str().unwrap().trim_start_matches('#')).unwrap();
        assert_eq!(
            (&schema["properties"]["event"]["const"], &schema["properties"]["data"]),
            (&json!(name), &declared["schema"])
        );
    }
    assert_eq!(document["webhooks"].as_object().unwrap().len(), events::NAMES.len());
}

#[test]
fn the_manifest_asks_for_nothing_that_a_host_refuses_unless_it_is_told_otherwise() {
    let manifest = manifest();
    let is_plain =
        |name: &str| (1..=64).contains(&name.len()) && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'));
    for route in manifest["routes"].as_array().unwrap() {
        assert!(is_plain(route["operation"].as_str().unwrap()), "{route}");
        assert!(route["deadline-ms"].as_u64().is_none_or(|ms| ms <= 10_000), "{route}");
        assert!(route["body-bytes-max"].as_u64().is_none_or(|bytes| bytes <= 1 << 20), "{route}");
    }
    for collection in manifest["collections"].as_array().unwrap() {
        assert!(is_plain(collection["name"].as_str().unwrap()), "{collection}");
        assert!(collection["indexes"].as_array().unwrap().iter().all(|it| is_plain(it["name"].as_str().unwrap())));
    }
    assert!(manifest["tasks"].as_array().unwrap().iter().all(|task| is_plain(task["name"].as_str().unwrap())));
}

#[test]
fn every_timer_is_a_task() {
    let manifest = manifest();
    let tasks: Vec<&str> =
        manifest["tasks"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let timers = [Timer::Decide, Timer::DecisionBudget, Timer::Completion, Timer::Determination, Timer::Response];
    assert!(timers.iter().all(|timer| tasks.contains(&timer.name())), "{tasks:?}");
}

#[test]
fn a_decision_that_breaks_is_given_up_within_the_shortest_budget() {
    let manifest = manifest();
    let decide =
        manifest["tasks"].as_array().unwrap().iter().find(|task| task["name"] == Timer::Decide.name()).unwrap();
    let waited: u64 = decide["delays-ms"].as_array().unwrap().iter().map(|delay| delay.as_u64().unwrap()).sum();
    let Budgets { rtc_ms, rpp_ms, eft_ms } = Budgets::default();
    let shortest = rtc_ms.min(rpp_ms).min(eft_ms);
    assert!(waited + 1_000 <= shortest, "{waited} ms of waiting, and a while to run, within {shortest}");
}

/// What has to happen before a request of the day is sent, besides the requests before it.
#[derive(Clone, Copy)]
enum First {
    Nothing,
    /// What is due is done.
    Run,
    /// The message that is on its way is answered so.
    Reply(u16),
}

use First::{Nothing, Reply, Run};

const PARTNERS_DAY: &[(First, &str, &str)] = &[
    (Nothing, "create-account", ""),
    (Nothing, "list-accounts", ""),
    (Nothing, "read-account", ""),
    (Nothing, "update-account", ""),
    (Nothing, "import-accounts", ""),
    (Nothing, "identifier-determination", ""),
    (Nothing, "credit-transfer-authorisation", ""),
    (Run, "read-transaction", UETR),
    (Reply(202), "credit-transfer-completion", ""),
    (Nothing, "list-transactions", ""),
    (Nothing, "credit-transfer-authorisation-sync", ""),
    (Nothing, "credit-transfer", ""),
    (Run, "report-reconciliation", ""),
    (Reply(202), "direct-debit", ""),
    (Run, "report-concerns", ""),
    (Reply(422), "redeliver-message", "97ed4827-7b6f-4491-a06f-b548d5a75122"),
    (Nothing, "put-destination", ""),
    (Nothing, "read-destination", ""),
    (Nothing, "create-webhook", ""),
    (Nothing, "list-webhooks", ""),
    (Nothing, "read-webhook", ""),
    (Nothing, "update-webhook", ""),
    (Nothing, "disable-webhook", ""),
    (Nothing, "enable-webhook", ""),
    (Nothing, "rotate-webhook", ""),
    (Nothing, "test-webhook", ""),
    (Nothing, "list-deliveries", ""),
    (Nothing, "list-attempts", ""),
    (Nothing, "redeliver-event", ""),
    (Nothing, "recover-webhook", ""),
    (Nothing, "delete-webhook", ""),
];

const PLATFORMS_DAY: &[(First, &str, &str)] = &[
    (Nothing, "create-partner", ""),
    (Nothing, "list-partners", ""),
    (Nothing, "read-partner", ""),
    (Nothing, "update-partner", ""),
    (Nothing, "submit-payment", ""),
    (Reply(202), "credit-transfer-authorisation-response", ""),
    (Nothing, "settle-payment", UETR),
    (Nothing, "credit-transfer-response", ""),
    (Nothing, "direct-debit-response", ""),
];

/// Sends the request example of an operation.
fn send_example(host: &TestHost, document: &Value, operation: &str, names: &mut [(&str, String); 3]) -> TestAnswer {
    let route = PLUGIN.route_table().iter().find(|route| route.operation == operation).unwrap();
    let published = &document["paths"][route.path][route.method.to_lowercase()];
    let path = names.iter().fold(route.path.to_owned(), |path, (name, value)| path.replace(name, value));
    let mut call = TestCall::new(route.method, &path);
    if let Some(body) = published.pointer("/requestBody/content/application~1json/example") {
        call = call.json(body);
    }
    let answer = host.call(call);
    let expected = &published["responses"][answer.status.to_string()]["content"]["application/json"]["example"];
    assert!(answer.status < 300, "{operation}: {}", answer.body);
    assert_eq!(&answer.json(), expected, "{operation}");
    answer
}

fn live(host: &TestHost, day: &[(First, &str, &str)]) -> BTreeSet<String> {
    let document = manifest()["openapi"].clone();
    let mut names = [("{id}", String::new()), ("{event}", String::new()), ("{uetr}", String::new())];
    for (first, operation, uetr) in day {
        match first {
            Nothing => {}
            Run => drop(host.run_due()),
            Reply(status) => reply(host, *status, &json!({})),
        }
        (*uetr).clone_into(&mut names[2].1);
        if operation.ends_with("-destination") {
            "platform".clone_into(&mut names[0].1);
        }
        let answer = send_example(host, &document, operation, &mut names);
        if operation.starts_with("create") {
            answer.json()["id"].as_str().unwrap().clone_into(&mut names[0].1);
        }
        if *operation == "test-webhook" {
            answer.json()["id"].as_str().unwrap().clone_into(&mut names[1].1);
            let (outcome, answer) = ("status".to_owned(), "busy".to_owned());
            let attempt = Attempt { number: 0, at: host.now(), duration: 5, outcome, status: Some(503), answer };
            host.record_attempt(&names[0].1, &names[1].1, attempt, "failed");
        }
    }
    day.iter().map(|(_, operation, _)| (*operation).to_owned()).collect()
}

/// In the order of a first day of each side; every operation has its turn.
#[test]
fn the_examples_of_the_openapi_document_are_true() {
    let setting = |side: &str| json!({"side": side, "default-account": "62001"}).to_string();
    let host = |side: &str| TestHost::new(&PLUGIN).setting("acme", &setting(side));
    let (bank, hub) = (host("partner"), host("platform"));
    let mut seen = live(&bank, PARTNERS_DAY);
    let eft = json!({"partner": "bank-a", "uetr": "97ed4827-7b6f-4491-a06f-b548d5a75121", "payment_scheme": "ZA_EFT"});
    let (first, rest) = PLATFORMS_DAY.split_at(7);
    seen.extend(live(&hub, first));
    submit(&hub, TRANSFER, eft);
    submit(&hub, DEBIT, json!({"uetr": "97ed4827-7b6f-4491-a06f-b548d5a75122"}));
    seen.extend(live(&hub, rest));
    let known: BTreeSet<String> = PLUGIN.route_table().iter().map(|route| route.operation.to_owned()).collect();
    let untried: Vec<&String> = known.difference(&seen).collect();
    // Deletions say the same everywhere; what a feed shows has the host's envelope around it.
    assert_eq!(untried, ["delete-account", "delete-destination", "delete-partner", "list-events", "stream-events"]);
}
