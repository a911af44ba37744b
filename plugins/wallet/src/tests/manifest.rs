//! The table of the plugin against what it publishes, and every route with the key of another wallet.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenon_plugin::test_kit::TestCall;
use tenon_plugin::test_kit::schema::resolve;

use super::support::*;
use crate::rules::blockchain::Blockchain;
use crate::rules::code::Code;
use crate::rules::compliance::Currency;
use crate::rules::kind::Kind;
use crate::rules::network::Network;
use crate::rules::settings::Operator;
use crate::rules::status::Status;
use crate::rules::swap::Order;
use crate::{
    PLUGIN,
    rules::{self, limits},
};

fn manifest() -> Value {
    serde_json::from_str(&PLUGIN.describe()).unwrap()
}

#[test]
fn the_events_are_those_of_the_specification() {
    let manifest = manifest();
    let types = manifest["event-types"].as_array().unwrap();
    let names: Vec<&str> = types.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, rules::event::NAMES);
    assert!(types.iter().all(|it| it["schema"]["type"] == "object"));
    assert_eq!(manifest["envelope"], json!({"event": "{event-type}", "data": "{payload}"}));
}

/// Path, method, operation and scopes.
type Published = BTreeSet<(String, String, String, Vec<String>)>;

#[test]
fn the_openapi_document_has_every_route_with_its_scopes_and_no_other() {
    let manifest = manifest();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let texts = |list: &Value| list.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let routes = manifest["routes"].as_array().unwrap().iter().map(|route| {
        let method = text(&route["method"]).to_lowercase();
        // A ticket in the path opens what it opens.
        let scopes = if route["key-parameter"].is_null() { texts(&route["scopes"]) } else { Vec::new() };
        (text(&route["path"]), method, text(&route["operation"]), scopes)
    });
    let document = &manifest["openapi"];
    let paths = document["paths"].as_object().unwrap().iter();
    let published = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| {
            let security = operation.get("security").unwrap_or(&document["security"]);
            let scopes = texts(&security[0]["apiKey"]);
            (path.clone(), method.clone(), text(&operation["operationId"]), scopes)
        })
    });
    assert_eq!(routes.collect::<Published>(), published.collect::<Published>());
}

#[test]
fn the_openapi_document_has_the_fields_of_each_event() {
    let manifest = manifest();
    let document = &manifest["openapi"];
    let hooks = document["webhooks"].as_object().unwrap();
    assert_eq!(hooks.keys().collect::<BTreeSet<_>>(), rules::event::NAMES.map(str::to_owned).iter().collect());
    for declared in manifest["event-types"].as_array().unwrap() {
        let name = declared["name"].as_str().unwrap();
        let schema = &hooks[name]["post"]["requestBody"]["content"]["application/json"]["schema"];
        let schema = resolve(document, schema);
        assert_eq!(schema["properties"]["event"]["const"], name);
        let promised = schema["properties"]["data"]["allOf"][1]["required"].as_array().unwrap();
        let required = declared["schema"]["required"].as_array().unwrap();
        assert!(required.iter().all(|field| promised.contains(field)), "{name}: {required:?} {promised:?}");
    }
}

#[test]
fn the_refusals_of_the_openapi_document_are_true() {
    let manifest = manifest();
    let (world, unknown) = (World::new(), "00000000-0000-4000-8000-000000000000");
    let wallet = world.poor_wallet("base");
    let new = json!({"blockchain": "base", "webhook_url": "https://example.com/hook"});
    let reconciled = [format!("/v1/wallets/{wallet}/reconciliation"), format!("/v1/wallets/{unknown}")];
    let wallets_key = TestCall::post("/v1/wallets").attribute("wallet", &wallet).json(&new);
    let mut refusals = vec![
        ("Invalid", world.post("/v1/wallets", &json!({}))),
        ("Forbidden", world.host.call(wallets_key)),
        ("NotFound", world.get(&reconciled[1])),
        ("Conflict", world.post("/v1/wallets", &new)),
        ("Unprocessable", world.post(&format!("/v1/wallets/{wallet}/addresses"), &json!({}))),
    ];
    world.chain.0.borrow_mut().is_silent = true;
    refusals.push(("Unavailable", world.get(&reconciled[0])));
    let mut shown: Vec<(&str, Value)> = refusals.into_iter().map(|(name, answer)| (name, answer.json())).collect();
    let failures = [("Unauthorized", "unauthenticated"), ("Failure", "plugin-failed")];
    shown.extend(failures.map(|(name, failure)| (name, manifest["failures"][failure]["body"].clone())));
    for (name, mut body) in shown {
        let mut example =
            manifest["openapi"]["components"]["responses"][name]["content"]["application/json"]["example"].clone();
        (body["requestId"], example["requestId"]) = (Value::Null, Value::Null);
        assert_eq!(body, example, "{name}");
    }
}

#[test]
fn the_openapi_document_has_the_bounds_of_the_rules() {
    let document = manifest()["openapi"].clone();
    let found = |place: &str| document.pointer(&["/components/", place].concat()).unwrap().clone();
    for (place, bound) in [
        ("schemas/MessageToSign/properties/message/maxLength", limits::MESSAGE_CHARS_MAX),
        ("schemas/RawTransaction/properties/transaction/maxLength", limits::RAW_TRANSACTION_CHARS_MAX),
        ("schemas/Batch/properties/assets/maxItems", limits::BATCH_RECIPIENTS_MAX),
        ("schemas/Reference/maxLength", limits::REFERENCE_CHARS_MAX),
        ("schemas/Amount/maxLength", limits::AMOUNT_CHARS_MAX),
        ("schemas/NewPaymentLink/properties/name/maxLength", limits::NAME_CHARS_MAX),
        ("schemas/Recipient/properties/note/maxLength", limits::TEXT_CHARS_MAX),
        ("schemas/NewWallet/properties/webhook_url/maxLength", limits::URL_CHARS_MAX),
        ("schemas/BankAccount/properties/account_identifier/maxLength", limits::IDENTIFIER_CHARS_MAX),
        ("schemas/NewSettlementRule/properties/source/properties/assets/maxItems", limits::RULE_ASSETS_MAX),
        ("parameters/limit/schema/maximum", limits::PAGE_ROWS as usize),
        ("parameters/limit/schema/default", limits::PAGE_ROWS as usize),
        ("parameters/page/schema/default", limits::PAGE_DEFAULT as usize),
    ] {
        assert_eq!(found(place), bound, "{place}");
    }
    for (place, words) in [
        ("schemas/Error/properties/code/enum", Code::ALL.map(Code::name).to_vec()),
        ("schemas/Blockchain/enum", Blockchain::ALL.map(Blockchain::slug).to_vec()),
        ("schemas/Network/enum", Network::NAMES.to_vec()),
        ("schemas/Currency/enum", Currency::CODES.to_vec()),
        ("schemas/TransactionStatus/enum", Status::NAMES.to_vec()),
        ("schemas/SettlementOrder/enum", Order::NAMES.to_vec()),
        ("schemas/Gasless/properties/operator/enum", Operator::NAMES.to_vec()),
        ("parameters/type/schema/enum", Kind::NAMES.to_vec()),
    ] {
        assert_eq!(found(place), json!(words), "{place}");
    }
}

#[test]
fn every_failure_of_the_host_has_a_code_of_the_table_and_says_whether_to_repeat() {
    for (name, failure) in manifest()["failures"].as_object().unwrap() {
        let body = &failure["body"];
        assert!(rules::code::Code::of_name(body["code"].as_str().unwrap()).is_some(), "{name}");
        assert_eq!(body["statusCode"], failure["status"], "{name}");
        assert!(body["retryable"].is_boolean() && body["message"].is_string() && body["error"].is_string(), "{name}");
    }
}

#[test]
fn no_two_routes_have_the_same_name_or_place() {
    let table = PLUGIN.route_table();
    let names: BTreeSet<&str> = table.iter().map(|route| route.operation).collect();
    let places: BTreeSet<(&str, &str)> = table.iter().map(|route| (route.method, route.path)).collect();
    assert_eq!((names.len(), places.len()), (table.len(), table.len()));
}

#[test]
fn no_parameter_of_a_query_is_taken_twice() {
    let world = World::new();
    let wallet = world.rich_wallet();
    let (address, _) = world.address(&wallet, &json!({}));
    let link = TestCall::post(&format!("/v1/wallets/{wallet}/payment-links"))
        .context("base-url", "https://pay.example.com")
        .json(&json!({"name": "L", "asset_id": world.asset(&wallet, "USDC")}));
    let link = world.host.call(link).json()["data"]["id"].as_str().unwrap().to_owned();
    let manifest = manifest();
    let document = &manifest["openapi"];
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace("{walletId}", &wallet).replace("{addressId}", &address).replace("{linkId}", &link);
        let parameters = item["get"]["parameters"].as_array().into_iter().flatten().map(|it| resolve(document, it));
        for parameter in parameters.filter(|it| it["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            let answer = world.get(&format!("{path}?{name}=1&{name}=1"));
            assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", name), "{path} {name}");
            assert_eq!(answer.json()["errors"][0]["rule"], "once", "{path} {name}");
            names.insert(name);
        }
    }
    assert!(names.contains("page") && names.contains("show_private_key"), "{names:?}");
    for query in ["transaction_status=success&status=failed", "hash=0x1&transaction_hash=0x1"] {
        let answer = world.get(&format!("/v1/wallets/{wallet}/transactions?{query}"));
        assert_eq!((answer.status, &answer.json()["errors"][0]["rule"]), (400, &json!("exclusive")), "{query}");
    }
}

/// The names of a parameter: its own, and those that its description gives as "Also `name`".
fn names_of(parameter: &Value) -> Vec<&str> {
    let also = parameter["description"].as_str().and_then(|text| text.split_once("Also `")?.1.split_once('`'));
    also.map(|(name, _)| name).into_iter().chain(parameter["name"].as_str()).collect()
}

#[test]
fn every_route_takes_the_parameters_that_its_document_has_and_no_other() {
    let manifest = manifest();
    let document = &manifest["openapi"];
    for route in PLUGIN.route_table() {
        let Some(declared) = route.query else {
            assert!(["show-payment-page", "read-payment-status", "take-callback"].contains(&route.operation));
            continue;
        };
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|it| resolve(document, it));
        let published: BTreeSet<&str> = parameters.filter(|it| it["in"] == "query").flat_map(names_of).collect();
        assert_eq!(declared.iter().copied().collect::<BTreeSet<&str>>(), published, "{}", route.operation);
    }
}

#[test]
fn a_parameter_that_an_operation_does_not_have_is_refused_by_its_name() {
    let world = World::new();
    for route in PLUGIN.route_table() {
        let Some(declared) = route.query else { continue };
        let answer = world.host.call(TestCall::new(route.method, &format!("{}?colour=red", route.path)));
        assert_eq!(refusal(&answer), expected(400, "SERVICE_VALIDATION_ERROR", "colour"), "{}", route.operation);
        let takes = if declared.is_empty() { " none".to_owned() } else { format!(": {}", declared.join(", ")) };
        let message = format!("colour is not a parameter of this operation, which takes{takes}");
        let fault = &answer.json()["errors"][0];
        assert_eq!((&fault["rule"], &fault["message"]), (&json!("unknown"), &json!(message)), "{}", route.operation);
    }
}

#[test]
fn no_route_of_a_wallet_opens_for_the_key_of_another() {
    let world = World::new();
    let (own, other) = (world.rich_wallet(), world.wallet("polygon"));
    let (address, _) = world.address(&own, &json!({}));
    let unknown = "00000000-0000-4000-8000-000000000000";
    for route in PLUGIN.route_table().iter().filter(|route| route.path.contains("{walletId}")) {
        let call = |wallet: &str, address: &str| {
            let path = route.path.replace("{walletId}", wallet).replace("{addressId}", address);
            let path = path.replace("{transactionId}", unknown).replace("{assetId}", unknown);
            let call = TestCall::new(route.method, &path).attribute("wallet", &other);
            world.host.call(if route.method == "GET" { call } else { call.json(&json!({})) })
        };
        let (foreign, nobodys) = (call(&own, &address), call(unknown, unknown));
        // What only the account's key may do is told first.
        let statuses = if route.operation == "rotate-wallet-key" { (403, 403) } else { (404, 404) };
        assert_eq!((foreign.status, nobodys.status), statuses, "{} {}", route.method, route.path);
    }
}
