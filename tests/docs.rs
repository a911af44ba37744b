//! Tests of the documents: their examples are parsed and executed, and compared with the code that they describe.

mod clearing;
mod fleet;
mod fleet_rule;
pub mod markdown;
mod openapi;
mod operators;
mod page;
mod service;
mod shell;
mod wallet;
mod worlds;

use std::{fs, path::PathBuf};

use serde_json::json;
use tenon_bench::guests::{self, workspace_root};

use crate::support::{TestHost, component, eventually};
use markdown::{Block, blocks};
use shell::{curl_lines, paste};

const DOCUMENTS: [&str; 38] = [
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/benchmarks.md",
    "docs/chains.md",
    "docs/clearing.md",
    "docs/contract.md",
    "docs/decisions.md",
    "docs/errors.md",
    "docs/fleet/a-rule.md",
    "docs/fleet/errors.md",
    "docs/fleet/event-types.md",
    "docs/fleet/events.md",
    "docs/fleet/geocoder.md",
    "docs/fleet/lists.md",
    "docs/fleet/messages.md",
    "docs/fleet/organizations.md",
    "docs/fleet/quick-start.md",
    "docs/fleet/scope.md",
    "docs/fleet/states.md",
    "docs/operators.md",
    "docs/operators/backup-and-restore.md",
    "docs/operators/blockchains.md",
    "docs/operators/capacity.md",
    "docs/operators/destinations-and-tasks.md",
    "docs/operators/install.md",
    "docs/operators/journal-and-audit.md",
    "docs/operators/keys-and-secrets.md",
    "docs/operators/reference.md",
    "docs/operators/swap-plugins.md",
    "docs/operators/webhooks.md",
    "docs/plugin-authors.md",
    "docs/troubleshooting.md",
    "docs/wallet/operators.md",
    "docs/wallet/payment-page.md",
    "docs/wallet/providers.md",
    "docs/wallet/quick-start.md",
];

fn read(path: &str) -> String {
    fs::read_to_string(workspace_root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn blocks_in(language: &str) -> Vec<(&'static str, Block)> {
    let all = DOCUMENTS.iter().flat_map(|path| blocks(&read(path)).into_iter().map(move |block| (*path, block)));
    all.filter(|(_, block)| block.language == language).collect()
}

#[test]
fn every_document_is_listed() {
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace_root().join(&folder)).expect("a folder of documents").flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.to_string_lossy();
                assert!(DOCUMENTS.contains(&name.as_ref()), "{name} is not in DOCUMENTS");
            }
        }
    }
}

#[test]
fn toml_and_json_examples_parse() {
    for (path, block) in blocks_in("toml") {
        let parsed = toml::from_str::<toml::Table>(&block.text);
        assert!(parsed.is_ok(), "{path}, line {}: {}", block.line, parsed.expect_err("an error"));
    }
    for (path, block) in blocks_in("json") {
        let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
        assert!(parsed.is_ok(), "{path}, line {}: {}", block.line, parsed.expect_err("an error"));
    }
}

/// Each line of `say_hello` in the documents must occur in the example, which is compiled and tested.
#[test]
fn say_hello_in_documents_equals_the_example() {
    let example = read("examples/hello-plugin/src/lib.rs");
    for document in ["README.md", "docs/plugin-authors.md"] {
        let block = blocks(&read(document)).into_iter().find(|block| block.text.contains("fn say_hello"));
        let text = block.expect("a block with say_hello").text;
        let (_, handler) = text.split_once("fn say_hello").expect("say_hello");
        let routes = [r#"get("/hello/{name}", "say-hello", say_hello)"#, "tenon_plugin::export!(PLUGIN);"];
        for line in handler.lines().skip(1).chain(routes) {
            assert!(example.contains(line.trim()), "{document}: not in examples/hello-plugin: {line}");
        }
    }
}

/// The imports in the document must be those of the example, which is compiled.
#[test]
fn quick_start_test_imports_equal_the_example() {
    let example = read("examples/hello-plugin/src/lib.rs");
    let block = blocks(&read("docs/plugin-authors.md")).into_iter().find(|block| block.text.contains("mod tests"));
    let text = block.expect("a block with tests").text;
    let imports: Vec<&str> = text.lines().filter(|line| line.trim().starts_with("use ")).collect();
    assert_eq!(imports.len(), 2, "{text}");
    for line in imports {
        assert!(example.contains(line.trim()), "not in examples/hello-plugin: {line}");
    }
}

#[test]
fn links_between_documents_resolve() {
    for path in DOCUMENTS {
        let folder = workspace_root().join(path).parent().map(PathBuf::from).unwrap_or_default();
        for target in markdown::links(&read(path)).iter().filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap_or_default();
            assert!(file.is_empty() || folder.join(file).exists(), "{path} links to {target}, which does not exist");
        }
    }
}

/// Adds the section of the quick start to the plugins.toml of a running host and runs the curl line.
#[tokio::test]
async fn quick_start_ends_with_a_greeting() {
    let (host, section) = (TestHost::fleet().await, quick_start_section());
    let built = host.dir.path().join("target-plugins/wasm32-wasip2/plugin/hello_plugin.wasm");
    fs::create_dir_all(built.parent().expect("its folder")).expect("make the folder");
    fs::copy(component("hello-plugin"), &built).expect("copy the component");
    let toml = fs::read_to_string(host.config_file()).expect("plugins.toml");
    fs::write(host.config_file(), format!("{toml}\n{section}")).expect("write plugins.toml");
    eventually("hello is served", async || (host.anonymous().get("/demo/hello/Ada").await.status == 401).then_some(()))
        .await;
    let key = host.key("hello", "acme").await;
    let lines = blocks_in("sh").into_iter().filter(|(path, _)| *path == "docs/plugin-authors.md");
    let lines: Vec<String> = lines.flat_map(|(_, block)| curl_lines(&block.text)).collect();
    assert!(!lines.is_empty());
    for line in lines {
        assert_eq!(paste(&host, &key, &line).await, r#"{"text":"Hello, Ada!"}"#);
    }
    host.stop().await;
}

fn quick_start_section() -> String {
    let section = blocks(&read("docs/plugin-authors.md")).into_iter().find(|block| block.text.starts_with("[plugins."));
    section.expect("a section of plugins.toml").text
}

/// "A running host swaps it in": after a rebuild, the next request runs on the new component.
#[tokio::test]
async fn rebuilt_example_plugin_is_swapped_in_while_it_serves() {
    let grants = r#"grants = ["records"]"#;
    let host = TestHost::builder().plugin("hello", component("hello-plugin"), grants).start().await;
    let acme = host.client("hello", "acme").await;
    let greet = async || acme.post("/hello/Ada/greetings", json!({})).await.expect(200).json()["greetings"].clone();
    assert_eq!(greet().await, 1);
    let rebuilt = host.dir.path().join("rebuilt.wasm");
    let bytes = fs::read(component("hello-plugin")).expect("the component");
    fs::write(&rebuilt, guests::stamped(&bytes, "built again")).expect("write the component");
    host.replace_component("hello", &rebuilt);
    let parked = async || {
        let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
        plugins.pointer("/0/parked").is_some_and(|parked| !parked.is_null()).then_some(())
    };
    eventually("the old component is parked", parked).await;
    assert_eq!(greet().await, 2);
    host.stop().await;
}

#[tokio::test]
async fn curl_lines_of_the_documents_succeed() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    // Other tests run these documents as a whole.
    let run_as_a_whole =
        ["docs/fleet/a-rule.md", "docs/operators.md", "docs/plugin-authors.md", "docs/wallet/quick-start.md"];
    let texts = DOCUMENTS.iter().filter(|path| !run_as_a_whole.contains(path)).map(|path| read(path));
    for line in texts.flat_map(|text| curl_lines(&text)) {
        paste(&host, &key, &line).await;
    }
    host.stop().await;
}

/// The lines that `make run` prints create an order and a driver and report the driver's position.
#[tokio::test]
async fn examples_of_plugins_toml_succeed() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let config: toml::Table = toml::from_str(&read("plugins.toml")).expect("plugins.toml");
    let examples = config["plugins"]["fleet"]["examples"].as_array().expect("examples");
    let script: Vec<&str> = examples.iter().filter_map(toml::Value::as_str).collect();
    paste(&host, &key, &script.join("\n")).await;
    let types: Vec<String> = host.events().await.into_iter().map(|event| event.event_type).collect();
    assert_eq!(types, ["order.created", "driver.created", "driver.location_changed"]);
    host.stop().await;
}
