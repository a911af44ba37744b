//! The output of the running program: the banner, log lines of faults, dropped lines, and the last line.

use std::{fs, time::Instant};

use futures_util::future::join_all;
use tenon_bench::{
    guests,
    program::{PluginSection, Program, ProgramPlan},
    wire::Client,
};

use super::command_line::tenon_binary;
use crate::support::{component, eventually};

const GRANTS: [&str; 4] = ["records", "events", "ids", "log"];
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn plan(folder: &tempfile::TempDir, plugins: Vec<PluginSection>) -> ProgramPlan {
    ProgramPlan { binary: tenon_binary(), folder: folder.path().join("program"), plugins }
}

fn printed(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("program/tenon.log")).unwrap_or_default()
}

/// Starts a host that serves `misbehave`, with `lines` in its section of plugins.toml. Returns the host and an API key.
async fn start_misbehave(folder: &tempfile::TempDir, lines: &str) -> (Program, String) {
    let mut section = PluginSection::new("misbehave", &component("misbehave"), &GRANTS);
    section.extra_toml = lines.to_owned();
    let program = Program::start(plan(folder, vec![section])).await.unwrap();
    let key = program.create_key("misbehave", "acme").unwrap();
    (program, key)
}

/// Stops the host and returns everything that it printed.
async fn stop_and_read(program: Program, folder: &tempfile::TempDir) -> String {
    program.stop().await.unwrap();
    printed(folder)
}

fn with_example(name: &str, component: &std::path::Path) -> PluginSection {
    let mut section = PluginSection::new(name, component, &GRANTS);
    section.extra_toml = format!("examples = [\"curl {{url}}/try/{name}\"]");
    section
}

#[tokio::test]
async fn fault_and_clean_stop_are_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let (program, key) = start_misbehave(&folder, "limits = { deadline-ms = 1000, compute-ms = 1000 }").await;
    let mut client = program.client(&key);
    let trace = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let headers = [("x-request-id", "the-fault"), ("content-type", "application/json"), trace];
    assert_eq!(client.send("POST", "/v1/trap", &headers, b"{}").await.unwrap().status, 500);
    let headers = [("x-request-id", "the-sleeper"), ("content-type", "application/json")];
    assert_eq!(client.send("POST", "/v1/sleep", &headers, b"{}").await.unwrap().status, 504);
    let log = stop_and_read(program, &folder).await;
    for (request, cause) in [("the-fault", "trapped"), ("the-sleeper", "the deadline passed")] {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(request)).collect();
        assert!(lines.len() == 1 && lines[0].contains(cause), "{lines:#?}");
    }
    let traced: Vec<&str> = log.lines().filter(|line| line.contains("4bf92f3577b34da6a3ce929d0e0e4736")).collect();
    assert!(traced.len() == 1 && traced[0].contains("the-fault"), "{traced:#?}");
    assert!(log.lines().last().unwrap().contains("stopped cleanly"), "{log}");
}

#[tokio::test]
async fn lines_over_the_limit_are_counted_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let (program, key) = start_misbehave(&folder, "").await;
    let mut client = program.client(&key);
    for _ in 0..3 {
        assert_eq!(client.send("POST", "/v1/many-lines", &JSON, b"{}").await.unwrap().status, 200);
    }
    let metrics = Client::new(program.admin, "").send("GET", "/metrics", &[], b"").await.unwrap();
    let log = stop_and_read(program, &folder).await;
    assert_eq!(log.matches("a short line").count(), 600, "200 lines of each call");
    assert_eq!(log.matches("log lines are dropped").count(), 3, "one line for each call");
    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    assert!(metrics.contains("tenon_log_lines_dropped_total{plugin=\"misbehave\"} 14400\n"), "{metrics}");
}

#[tokio::test]
async fn log_of_many_panics_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let (program, key) = start_misbehave(&folder, "").await;
    let started = Instant::now();
    let panicking = (0..8).map(|_| async {
        let mut client = program.client(&key);
        for _ in 0..250 {
            let response = client.send("POST", "/v1/panic", &JSON, b"{}").await.unwrap();
            assert_eq!(response.status, 500);
        }
    });
    join_all(panicking).await;
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let rate = 2_000.0 / started.elapsed().as_secs_f64();
    assert!(rate < 550.0 * cores, "{rate} faults per second");
    let seconds = started.elapsed().as_secs() as usize + 2;
    let log = stop_and_read(program, &folder).await;
    let bytes_max = seconds * (256 << 10) * 2 + (64 << 10);
    assert!(log.len() < bytes_max, "{} bytes of log in {seconds} s", log.len());
    assert!(log.contains("on purpose"), "the first panics are logged");
}

#[tokio::test]
async fn trap_names_functions_of_the_component() {
    let folder = tempfile::tempdir().unwrap();
    let (program, key) = start_misbehave(&folder, "").await;
    let mut client = program.client(&key);
    client.send("POST", "/v1/trap-after-write", &JSON, b"{}").await.unwrap();
    let log = stop_and_read(program, &folder).await;
    assert!(log.contains("misbehave::resources::trap_after_write"), "{log}");
}

#[tokio::test]
async fn dropped_header_is_logged_once_with_plugin_and_name() {
    let folder = tempfile::tempdir().unwrap();
    let (program, key) = start_misbehave(&folder, "").await;
    let mut client = program.client(&key);
    for _ in 0..2 {
        for route in ["header-origin", "header-cross-origin"] {
            assert_eq!(client.send("POST", &format!("/v1/{route}"), &JSON, b"{}").await.unwrap().status, 200);
        }
    }
    let log = stop_and_read(program, &folder).await;
    for name in ["set-cookie", "strict-transport-security", "access-control-allow-origin"] {
        let line = format!("dropped the header {name} of an answer of misbehave");
        assert_eq!(log.matches(&line).count(), 1, "{name}: {log}");
    }
}

#[tokio::test]
async fn banner_contains_examples_of_serving_plugins_only() {
    let folder = tempfile::tempdir().unwrap();
    let traps = folder.path().join("traps.wasm");
    fs::write(&traps, guests::chameleon("!trap").unwrap()).unwrap();
    let plugins = vec![with_example("misbehave", &component("misbehave")), with_example("chameleon", &traps)];
    let program = Program::spawn(plan(&folder, plugins)).unwrap();
    let banner = async || Some(printed(&folder)).filter(|text| text.contains("/try/"));
    let text = eventually("the examples", banner).await;
    assert!(text.contains("/try/misbehave") && !text.contains("/try/chameleon"), "{text}");
    assert!(text.contains("chameleon does not serve: refused (file of "), "{text}");
    program.stop().await.unwrap();
}

#[tokio::test]
async fn restart_does_not_count_as_a_use_of_the_demo_key() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(plan(&folder, Vec::new())).await.unwrap();
    let program = Program::start(program.stop().await.unwrap()).await.unwrap();
    let keys: serde_json::Value = serde_json::from_str(&program.command(&["key", "list", "--json"]).unwrap()).unwrap();
    assert_eq!((keys.as_array().unwrap().len(), &keys[0]["last_used_at"]), (1, &serde_json::Value::Null));
    program.stop().await.unwrap();
}
