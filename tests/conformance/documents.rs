//! Every OpenAPI document, tested by schemathesis with valid and invalid requests and sequences that it generates from
//! the document. No response is a server error, and every response is described by the document.
//!
//! Every run sends the same requests: schemathesis.toml has the seed and the bounds. The test adds values that only
//! a running host has (ids of existing resources). A trial also fails if too few operations succeed at least once.

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

/// Generous limits, because a busy machine is not an error of the server.
const GENEROUS_LIMITS: &str = "deadline-ms = 60000\ncompute-ms = 30000\n";

const ORDERS: usize = 8;

struct Trial<'a> {
    host: &'a TestHost,
    plugin: &'static str,
    /// The header with the credential.
    header: String,
    valid_values: Vec<ValidValues>,
    /// The percentage of operations that must succeed at least once.
    succeeded_percent_min: usize,
}

/// Valid values of a parameter, used in four of five requests.
struct ValidValues {
    /// Prefix of the paths of the operations, as a regular expression.
    paths: &'static str,
    /// The parameter, for example "path.walletId" or "body.amount".
    parameter: &'static str,
    values: Vec<String>,
}

fn valid(paths: &'static str, parameter: &'static str, values: &[&str]) -> ValidValues {
    ValidValues { paths, parameter, values: values.iter().map(|value| (*value).to_owned()).collect() }
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
        let (all, succeeded) = (operations(&document), succeeded(&folder.path().join("report.jsonl")));
        let missed: Vec<&String> = all.difference(&succeeded).collect();
        let percent = (all.len() - missed.len()) * 100 / all.len();
        assert!(percent >= self.succeeded_percent_min, "only {percent} % succeed: {missed:#?}");
    }

    fn settings(&self) -> String {
        let path = workspace_root().join("tests/conformance/schemathesis/schemathesis.toml");
        let mut text = fs::read_to_string(path).expect("schemathesis.toml");
        let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (number, ValidValues { paths, parameter, values }) in self.valid_values.iter().enumerate() {
            text.push_str(&format!("\n[dictionaries.known-{number}]\nvalues = {values:?}\n"));
            let dictionary = format!("\"{parameter}\" = {{ dictionary = \"known-{number}\", probability = 0.8 }}");
            tables.entry(paths).or_default().push(dictionary);
        }
        // There is one table per path, because schemathesis uses only one of two tables that match an operation.
        for (paths, parameters) in tables {
            let parameters = parameters.join(", ");
            text.push_str(&format!(
                "\n[[operations]]\ninclude-path-regex = \"^{paths}\"\nparameters = {{ {parameters} }}\n"
            ));
        }
        text
    }
}

/// Returns the operations of a document, for example "GET /v1/orders".
fn operations(document: &Value) -> BTreeSet<String> {
    let items = document["paths"].as_object().expect("paths").iter();
    let methods = ["get", "put", "post", "patch", "delete"];
    let names = items.flat_map(|(path, item)| {
        let present = methods.into_iter().filter(|method| item.get(method).is_some());
        present.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    names.collect()
}

/// Returns the operations of the report that had a 2xx response.
fn succeeded(report: &Path) -> BTreeSet<String> {
    let mut succeeded = BTreeSet::new();
    for line in fs::read_to_string(report).expect("the report").lines() {
        let entry: BTreeMap<String, Value> = serde_json::from_str(line).expect("a line of the report");
        let Some(recorder) = entry.get("ScenarioFinished").map(|scenario| &scenario["recorder"]) else { continue };
        let Some(interactions) = recorder["interactions"].as_object() else { continue };
        for (case, interaction) in interactions {
            let request = &recorder["cases"][case]["value"];
            let (method, path) = (request["method"].as_str(), request["path"].as_str());
            let status = interaction["response"]["status_code"].as_u64().unwrap_or_default();
            if let (Some(method), Some(path), 200..=299) = (method, path, status) {
                succeeded.insert(format!("{method} {path}"));
            }
        }
    }
    succeeded
}

/// Creates a driver who can log in and orders of that driver. Returns their ids and credentials. A trial completes or
/// cancels orders, so there are several.
async fn fleet_values(host: &TestHost) -> Vec<ValidValues> {
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
    vec![
        valid("/v1/drivers/login$", "body.identity", &[email]),
        valid("/v1/drivers/login$", "body.password", &[password]),
        valid("/v1/drivers/login-with-sms$", "body.phone", &[phone]),
        ValidValues { paths: "/v1/orders/", parameter: "path.id", values: orders.clone() },
        ValidValues { paths: "/v1/orders/", parameter: "path.place", values: places.clone() },
        ValidValues { paths: "/v1/orders/", parameter: "path.subject", values: places },
        ValidValues { paths: "/v1/tracking-numbers$", parameter: "body.owner", values: orders },
        ValidValues { paths: "/v1/tracking-numbers/from-qr$", parameter: "body.code", values: numbers },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn fleet_interface_conforms_to_its_document() {
    let section = format!("{}\n[plugins.fleet.limits]\n{GENEROUS_LIMITS}", shipped_section("fleet"));
    let host = TestHost::builder().plugin("fleet", component("fleet"), &section).start().await;
    let header = format!("Authorization: Bearer {}", host.key("fleet", "acme").await);
    let valid_values = fleet_values(&host).await;
    Trial { host: &host, plugin: "fleet", header, valid_values, succeeded_percent_min: 75 }.run().await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_platform_conforms_to_its_document() {
    let stage = ClearingStage::both_now(&format!("[plugins.clearing.limits]\n{GENEROUS_LIMITS}")).await;
    let header = format!("Authorization: Bearer {}", stage.hub.token().await);
    // Operations of partners are 404 for a platform.
    Trial { host: &stage.host, plugin: "clearing", header, valid_values: Vec::new(), succeeded_percent_min: 50 }
        .run()
        .await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_partner_conforms_to_its_document() {
    let stage = ClearingStage::both_now(&format!("[plugins.clearing.limits]\n{GENEROUS_LIMITS}")).await;
    let header = format!("Authorization: Bearer {}", stage.bank.token().await);
    // Operations of platforms are 404 for a partner.
    Trial { host: &stage.host, plugin: "clearing", header, valid_values: Vec::new(), succeeded_percent_min: 50 }
        .run()
        .await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wallet_interface_conforms_to_its_document() {
    let with_limits = |section: &str| format!("{section}\n[plugins.wallet.limits]\n{GENEROUS_LIMITS}");
    let stage = WalletStage::open_section(&with_limits).await;
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let [usdc, dai] = [stage.asset(&wallet, "USDC").await, stage.asset(&wallet, "DAI").await];
    let values = [
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
    let mut valid_values: Vec<ValidValues> = values.map(|(parameter, value)| valid("/", parameter, &[value])).into();
    valid_values.push(valid("/", "body.amount", &["1", "0.5", "40"]));
    let header = format!("x-api-key: {}", stage.account);
    Trial { host: &stage.host, plugin: "wallet", header, valid_values, succeeded_percent_min: 55 }.run().await;
    stage.finish().await;
}
