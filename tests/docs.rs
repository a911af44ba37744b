//! The documents are true: what can be run in them is run, what is shown is what is there.

mod clearing;
mod fleet;
mod fleet_rule;
pub mod markdown;
mod openapi;
mod page;
mod service;
mod shell;
mod wallet;

use std::{fs, path::PathBuf};

use serde_json::json;
use tenon_bench::guests::{self, workspace_root};

use crate::support::{TestHost, component, eventually};
use markdown::{Block, blocks};
use shell::{curl_lines, paste};

const DOCUMENTS: [&str; 25] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/benchmarks.md",
    "docs/chains.md",
    "docs/clearing.md",
    "docs/contract.md",
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
    "docs/plugin-authors.md",
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
fn every_document_is_looked_at() {
    let in_docs = fs::read_dir(workspace_root().join("docs")).expect("docs").flatten();
    for file in in_docs.map(|file| file.file_name().to_string_lossy().into_owned()).filter(|name| name.ends_with(".md"))
    {
        assert!(DOCUMENTS.contains(&format!("docs/{file}").as_str()), "docs/{file} is in no test");
    }
}

#[test]
fn examples_of_toml_and_json_can_be_read() {
    for (path, block) in blocks_in("toml") {
        let read = toml::from_str::<toml::Table>(&block.text);
        assert!(read.is_ok(), "{path}, line {}: {}", block.line, read.expect_err("an error"));
    }
    for (path, block) in blocks_in("json") {
        let read = serde_json::from_str::<serde_json::Value>(&block.text);
        assert!(read.is_ok(), "{path}, line {}: {}", block.line, read.expect_err("an error"));
    }
}

/// The plugin of the quick start is the example, line by line: what is compiled and tested there is what is read here.
#[test]
fn the_handler_of_the_quick_start_is_the_one_of_the_example() {
    let example = read("examples/hello-plugin/src/lib.rs");
    let shown = blocks(&read("docs/plugin-authors.md")).into_iter().find(|block| block.text.contains("fn say_hello"));
    let shown = shown.expect("a block with say_hello").text;
    let (_, handler) = shown.split_once("fn say_hello").expect("say_hello");
    for line in handler
        .lines()
        .skip(1)
        .chain([r#"get("/hello/{name}", "say-hello", say_hello)"#, "tenon_plugin::export!(PLUGIN);"])
    {
        assert!(example.contains(line.trim()), "not in examples/hello-plugin: {line}");
    }
}

/// Its imports are those of the example, which is compiled.
#[test]
fn the_test_of_the_quick_start_imports_what_it_uses() {
    let example = read("examples/hello-plugin/src/lib.rs");
    let shown = blocks(&read("docs/plugin-authors.md")).into_iter().find(|block| block.text.contains("mod tests"));
    let shown = shown.expect("a block with tests").text;
    let imports: Vec<&str> = shown.lines().filter(|line| line.trim().starts_with("use ")).collect();
    assert_eq!(imports.len(), 2, "{shown}");
    for line in imports {
        assert!(example.contains(line.trim()), "not in examples/hello-plugin: {line}");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for path in DOCUMENTS {
        let folder = workspace_root().join(path).parent().map(PathBuf::from).unwrap_or_default();
        for target in markdown::links(&read(path)).iter().filter(|target| !target.contains("://")) {
            let file = target.split('#').next().unwrap_or_default();
            assert!(file.is_empty() || folder.join(file).exists(), "{path} links to {target}, which is not there");
        }
    }
}

/// The section of the quick start is added to the plugins.toml of a running host, and the curl line is pasted.
#[tokio::test]
async fn the_quick_start_ends_with_a_greeting() {
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

/// "A running host swaps it in": the example serves, is built anew, and the next request runs on the new one.
#[tokio::test]
async fn the_example_plugin_is_swapped_in_while_it_runs() {
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
    eventually("the old one is parked", parked).await;
    assert_eq!(greet().await, 2);
    host.stop().await;
}

/// Whatever else the documents and plugins.toml tell people to paste.
#[tokio::test]
async fn curl_lines_of_the_documents_are_answered() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    // Those that are pasted as a whole, by tests of their own.
    let whole = ["docs/fleet/a-rule.md", "docs/plugin-authors.md", "docs/wallet/quick-start.md"];
    let texts = DOCUMENTS.iter().filter(|path| !whole.contains(path)).map(|path| read(path));
    for line in texts.flat_map(|text| curl_lines(&text)) {
        paste(&host, &key, &line).await;
    }
    host.stop().await;
}

/// The lines that `make run` prints: an order, a driver, and where the driver is.
#[tokio::test]
async fn examples_of_plugins_toml_work_as_they_are_pasted() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let config: toml::Table = toml::from_str(&read("plugins.toml")).expect("plugins.toml");
    let examples = config["plugins"]["fleet"]["examples"].as_array().expect("examples");
    let script: Vec<&str> = examples.iter().filter_map(toml::Value::as_str).collect();
    paste(&host, &key, &script.join("\n")).await;
    let told: Vec<String> = host.events().await.into_iter().map(|event| event.event_type).collect();
    assert_eq!(told, ["order.created", "driver.created", "driver.location_changed"]);
    host.stop().await;
}
