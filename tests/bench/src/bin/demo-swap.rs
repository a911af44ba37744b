//! `make demo-swap`: shows swaps under load and counts the failed requests.
// The bans of clippy.toml are for the host.
#![allow(clippy::disallowed_methods)]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use clap::Parser;
use serde_json::Value;
use tenon_bench::{
    guests,
    load::{self, LoadPlan, PlannedRequest},
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
};

/// Replaces a plugin repeatedly while 64 connections use it.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 10)]
    swaps: u32,
    /// Program to run. Default: the one built beside this program.
    #[arg(long)]
    tenon: Option<PathBuf>,
}

const CONNECTIONS: usize = 64;
const SWAP_EVERY: Duration = Duration::from_millis(800);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let binary =
        arguments.tenon.or_else(|| sibling_binary("tenon")).context("no tenon beside this program: build it")?;
    let folder = tempfile::tempdir_in(guests::workspace_root().join("target-plugins"))?;
    let component = folder.path().join("chameleon.wasm");
    std::fs::write(&component, guests::chameleon_version("1.0.0")?)?;
    let plugins = vec![PluginSection::new("chameleon", &component, &["records", "events"])];
    let program = Program::start(ProgramPlan { binary, folder: folder.path().to_path_buf(), plugins }).await?;
    let key = program.create_key("chameleon", "demo")?;
    println!(
        "Tenon serves a plugin, version 1.0.0. {CONNECTIONS} connections read and write through it without a pause."
    );
    println!("Meanwhile, every {} ms, its operator replaces it:\n", SWAP_EVERY.as_millis());

    let steps = arguments.swaps + 2;
    let mut plan = LoadPlan::new(program.public, &key, &requests());
    plan.connections = CONNECTIONS;
    plan.duration = SWAP_EVERY * (steps + 1);
    let running = tokio::spawn(load::run(plan));
    let demo = Demo { program, key };
    for number in 1..=arguments.swaps {
        tokio::time::sleep(SWAP_EVERY).await;
        demo.run_deploy(&format!("1.{number}.0")).await?;
    }
    tokio::time::sleep(SWAP_EVERY).await;
    demo.run_refusal().await?;
    tokio::time::sleep(SWAP_EVERY).await;
    demo.run_rollback().await?;
    let report = running.await?;
    println!(
        "\n{} requests in {:.1} s ({:.0} a second, 99 of 100 within {:.1} ms), {} swaps.\nFailed requests: {}",
        report.requests,
        report.seconds,
        report.per_second,
        report.p99_us as f64 / 1000.0,
        arguments.swaps + 1,
        report.failed()
    );
    demo.program.stop().await?;
    ensure!(report.failed() == 0, "requests failed: {:?} {:?}", report.statuses, report.reasons);
    Ok(())
}

fn requests() -> Vec<PlannedRequest> {
    let read = PlannedRequest { method: "GET".to_owned(), path: "/v1/version".to_owned(), body: String::new() };
    let count = |thing: usize| PlannedRequest {
        method: "POST".to_owned(),
        path: format!("/v1/things/{thing}/count"),
        body: "{}".to_owned(),
    };
    std::iter::once(read).chain((0..10).map(count)).collect()
}

struct Demo {
    program: Program,
    key: String,
}

impl Demo {
    async fn run_deploy(&self, version: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        let response = self.program.deploy("chameleon", &guests::chameleon_version(version)?).await?;
        let text = String::from_utf8_lossy(&response.body);
        ensure!(response.status == 200, "the deploy was refused: {} {text}", response.status);
        self.print_step(&format!("version {version} deployed"), started, &longest_step(&response.json())).await
    }

    /// Deploys a component that traps when it is checked.
    async fn run_refusal(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        let response = self.program.deploy("chameleon", &guests::chameleon("!trap")?).await?;
        ensure!(response.status == 409, "a component that traps was not refused: {}", response.status);
        let reason = response.json().pointer("/reasons/0").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.print_step("a broken version refused", started, &reason).await
    }

    async fn run_rollback(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        self.program.operator()?.call("POST", "/v1/plugins/chameleon/rollback", &Value::Null).await?;
        self.print_step("rolled back", started, "the previous version was kept compiled").await
    }

    /// Prints a step, its duration, and the version that serves the next request.
    async fn print_step(&self, step: &str, started: Instant, note: &str) -> anyhow::Result<()> {
        let elapsed = started.elapsed().as_millis();
        let served = self.program.client(&self.key).call("GET", "/v1/version", &Value::Null).await?;
        let version = served.get("version").and_then(Value::as_str).unwrap_or("nothing");
        println!("  {step:<24} {elapsed:>5} ms   next response: {version:<8} {note}");
        Ok(())
    }
}

/// Describes the longest step of a deploy: "mostly compile, 250 ms".
fn longest_step(report: &Value) -> String {
    let microseconds = |step: &Value| step.get("microseconds").and_then(Value::as_u64).unwrap_or(0);
    let steps = report.get("steps").and_then(Value::as_array);
    let longest = steps.and_then(|steps| steps.iter().max_by_key(|step| microseconds(step)));
    longest.map_or(String::new(), |step| {
        let name = step.get("step").and_then(Value::as_str).unwrap_or_default();
        format!("mostly {name}, {} ms", microseconds(step) / 1_000)
    })
}
