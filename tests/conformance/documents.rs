//! Every OpenAPI document, tried by a program of others (schemathesis) with requests that are made from it: right ones, wrong
//! ones, and sequences of them. No answer is a failure of the server, and none is one that the document does not describe.
//!
//! The same requests in every run: schemathesis.toml has the seed and the bounds. What only a host can know (ids of things
//! that are there) is added to it. A trial in which few operations ever succeed has tried little, and fails too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::{Value, json};
use tenon_bench::guests::workspace_root;

use super::fetched;
use crate::{
    clearing::stage::Stage as ClearingStage,
    support::{TestHost, component, shipped_section},
    wallet::stage::{OUTSIDE, Stage as WalletStage},
};

/// A machine that does other things meanwhile is no failure of the server.
const PATIENT: &str = "deadline-ms = 60000\ncompute-ms = 30000\n";

const ORDERS: usize = 8;

struct Trial<'a> {
    host: &'a TestHost,
    plugin: &'static str,
    /// Who asks: a header.
    header: String,
    known: Vec<Known>,
    /// Of the operations, in hundredths, that must succeed once.
    reached_min: usize,
}

/// Right values, which are taken in four of five requests.
struct Known {
    /// Of operations whose path begins so.
    paths: &'static str,
    /// As "path.walletId" or "body.amount".
    parameter: &'static str,
    values: Vec<String>,
}

fn right(paths: &'static str, parameter: &'static str, values: &[&str]) -> Known {
    Known { paths, parameter, values: values.iter().map(|value| (*value).to_owned()).collect() }
}

impl Trial<'_> {
    async fn run(self) {
        let Some(program) = fetched("schemathesis").map(|folder| folder.join("bin/schemathesis")) else { return };
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("schemathesis.toml"), self.settings()).expect("write schemathesis.toml");
        let document = format!("{}/openapi/{}.json", self.host.base(), self.plugin);
        let mut run = Command::new(program);
        run.args(["--config-file", "schemathesis.toml", "run", &document, "--header", &self.header]);
        run.args(["--report-ndjson-path", "report.jsonl"]).current_dir(folder.path());
        let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("schemathesis");
        let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{printed}{errors}");
        let document = self.host.anonymous().get(&format!("/openapi/{}.json", self.plugin)).await.expect(200).json();
        let (all, reached) = (operations(&document), reached(&folder.path().join("report.jsonl")));
        let missed: Vec<&String> = all.difference(&reached).collect();
        let hundredths = (all.len() - missed.len()) * 100 / all.len();
        assert!(hundredths >= self.reached_min, "only {hundredths} % succeed: {missed:#?}");
    }

    fn settings(&self) -> String {
        let path = workspace_root().join("tests/conformance/schemathesis/schemathesis.toml");
        let mut text = fs::read_to_string(path).expect("schemathesis.toml");
        let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (number, Known { paths, parameter, values }) in self.known.iter().enumerate() {
            text.push_str(&format!("\n[dictionaries.known-{number}]\nvalues = {values:?}\n"));
            let dictionary = format!("\"{parameter}\" = {{ dictionary = \"known-{number}\", probability = 0.8 }}");
            tables.entry(paths).or_default().push(dictionary);
        }
        // One table for each: of two that match an operation, one would count.
        for (paths, parameters) in tables {
            let parameters = parameters.join(", ");
            text.push_str(&format!(
                "\n[[operations]]\ninclude-path-regex = \"^{paths}\"\nparameters = {{ {parameters} }}\n"
            ));
        }
        text
    }
}

/// "GET /v1/orders".
fn operations(document: &Value) -> BTreeSet<String> {
    let items = document["paths"].as_object().expect("paths").iter();
    let methods = ["get", "put", "post", "patch", "delete"];
    let named = items.flat_map(|(path, item)| {
        let there = methods.into_iter().filter(|method| item.get(method).is_some());
        there.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    named.collect()
}

/// The operations that were answered with 2xx, in the report's words.
fn reached(report: &Path) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    for line in fs::read_to_string(report).expect("the report").lines() {
        let told: BTreeMap<String, Value> = serde_json::from_str(line).expect("a line of the report");
        let Some(recorder) = told.get("ScenarioFinished").map(|scenario| &scenario["recorder"]) else { continue };
        let Some(interactions) = recorder["interactions"].as_object() else { continue };
        for (case, interaction) in interactions {
            let request = &recorder["cases"][case]["value"];
            let (method, path) = (request["method"].as_str(), request["path"].as_str());
            let status = interaction["response"]["status_code"].as_u64().unwrap_or_default();
            if let (Some(method), Some(path), 200..=299) = (method, path, status) {
                reached.insert(format!("{method} {path}"));
            }
        }
    }
    reached
}

/// Of a driver who can log in, and of orders of his: each ends some way during a trial.
async fn known_of_fleet(host: &TestHost) -> Vec<Known> {
    let acme = host.client("fleet", "acme").await;
    let (email, phone, password) = ("ada@example.com", "+6591234567", "correct horse battery");
    let ada = json!({"name": "Ada", "email": email, "phone": phone, "password": password});
    let driver = acme.post("/v1/drivers", ada).await.expect(201).text_at("/id");
    let (mut orders, mut places, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ORDERS {
        let order = json!({"pickup": "1 Dock Street", "dropoff": "22 Mill Road", "driver": driver});
        let order = acme.post("/v1/orders", order).await.expect(201);
        orders.push(order.text_at("/id"));
        places.push(order.text_at("/payload/pickup/id"));
        numbers.push(order.text_at("/tracking_number/tracking_number"));
    }
    let all = |texts: &[String]| texts.to_vec();
    vec![
        right("/v1/drivers/login$", "body.identity", &[email]),
        right("/v1/drivers/login$", "body.password", &[password]),
        right("/v1/drivers/login-with-sms$", "body.phone", &[phone]),
        Known { paths: "/v1/orders/", parameter: "path.id", values: all(&orders) },
        Known { paths: "/v1/orders/", parameter: "path.place", values: all(&places) },
        Known { paths: "/v1/orders/", parameter: "path.subject", values: all(&places) },
        Known { paths: "/v1/tracking-numbers$", parameter: "body.owner", values: orders },
        Known { paths: "/v1/tracking-numbers/from-qr$", parameter: "body.code", values: numbers },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_interface_answers_as_its_document_says() {
    let section = format!("{}\n[plugins.fleet.limits]\n{PATIENT}", shipped_section("fleet"));
    let host = TestHost::builder().plugin("fleet", component("fleet"), &section).start().await;
    let header = format!("Authorization: Bearer {}", host.key("fleet", "acme").await);
    let known = known_of_fleet(&host).await;
    Trial { host: &host, plugin: "fleet", header, known, reached_min: 75 }.run().await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_of_the_clearing_interface_answers_as_its_document_says() {
    let stage = ClearingStage::both_now(&format!("[plugins.clearing.limits]\n{PATIENT}")).await;
    let header = format!("Authorization: Bearer {}", stage.hub.token().await);
    // What partners do is 404 there.
    Trial { host: &stage.host, plugin: "clearing", header, known: Vec::new(), reached_min: 50 }.run().await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_of_the_clearing_interface_answers_as_its_document_says() {
    let stage = ClearingStage::both_now(&format!("[plugins.clearing.limits]\n{PATIENT}")).await;
    let header = format!("Authorization: Bearer {}", stage.bank.token().await);
    // What platforms do is 404 there.
    Trial { host: &stage.host, plugin: "clearing", header, known: Vec::new(), reached_min: 50 }.run().await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wallet_interface_answers_as_its_document_says() {
    let patient = |section: &str| format!("{section}\n[plugins.wallet.limits]\n{PATIENT}");
    let stage = WalletStage::open_section(&patient).await;
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let [usdc, dai] = [stage.asset(&wallet, "USDC").await, stage.asset(&wallet, "DAI").await];
    let known = [
        ("path.walletId", &wallet.id[..]),
        ("path.addressId", &address.id),
        ("path.assetId", &usdc),
        ("body.asset_id", &usdc),
        ("body.from_asset_id", &usdc),
        ("body.to_asset_id", &dai),
        ("body.destination_address", OUTSIDE),
        ("body.recipient_address", OUTSIDE),
        ("body.slippage_tolerance", "1"),
    ];
    let mut known: Vec<Known> = known.map(|(parameter, value)| right("/", parameter, &[value])).into();
    known.push(right("/", "body.amount", &["1", "0.5", "40"]));
    let header = format!("x-api-key: {}", stage.account);
    Trial { host: &stage.host, plugin: "wallet", header, known, reached_min: 55 }.run().await;
    stage.finish().await;
}
