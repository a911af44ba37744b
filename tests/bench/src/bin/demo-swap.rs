//! `make demo-swap`: shows a person what a swap under load looks like, and counts what fails.
// The bans of clippy.toml are the host's.
#![allow(clippy::disallowed_methods)]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use clap::Parser;
use tenon_bench::{
    guests,
    load::{self, LoadPlan, PlannedRequest},
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
};

/// Replaces a plugin again and again while 64 connections use it.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 10)]
    swaps: u32,
    /// The program to show; default: the one that was built beside this one.
    #[arg(long)]
    tenon: Option<PathBuf>,
}

const CONNECTIONS: usize = 64;
const SWAP_EVERY: Duration = Duration::from_millis(800);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let binary = arguments
        .tenon
        .or_else(|| sibling_binary("tenon"))
        .context("no tenon beside this program: build it")?;
    let folder = tempfile::tempdir_in(guests::workspace_root().join("target-plugins"))?;
    let component = folder.path().join("chameleon.wasm");
    std::fs::write(&component, guests::chameleon_version("1.0.0")?)?;
    let plugins = vec![PluginSection::new("chameleon", &component, &["records", "events"])];
    let program =
        Program::start(ProgramPlan { binary, folder: folder.path().to_path_buf(), plugins }).await?;
    let key = program.create_key("chameleon", "demo")?;
    println!("Tenon serves a plugin of version 1.0.0; {CONNECTIONS} connections read and write through it.");

    let mut plan = LoadPlan::new(program.public, &key, &requests());
    plan.connections = CONNECTIONS;
    plan.duration = SWAP_EVERY * (arguments.swaps + 1);
    let running = tokio::spawn(load::run(plan));
    for number in 1..=arguments.swaps {
        tokio::time::sleep(SWAP_EVERY).await;
        swap(&program, &key, &format!("1.{number}.0")).await?;
    }
    let report = running.await?;
    println!(
        "{} requests, {:.0} per second, p99 {:.1} ms, {} swaps, {} failed requests",
        report.requests,
        report.per_second,
        report.p99_us as f64 / 1000.0,
        arguments.swaps,
        report.failed()
    );
    program.stop().await?;
    ensure!(report.failed() == 0, "requests failed: {:?} {:?}", report.statuses, report.reasons);
    Ok(())
}

fn requests() -> Vec<PlannedRequest> {
    let read =
        PlannedRequest { method: "GET".to_owned(), path: "/v1/version".to_owned(), body: String::new() };
    let count = |thing: usize| PlannedRequest {
        method: "POST".to_owned(),
        path: format!("/v1/things/{thing}/count"),
        body: "{}".to_owned(),
    };
    std::iter::once(read).chain((0..10).map(count)).collect()
}

/// Deploys the version and asks, as any caller would, which one answers.
async fn swap(program: &Program, key: &str, version: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    let answer = program.deploy("chameleon", &guests::chameleon_version(version)?).await?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!((200..300).contains(&answer.status), "the deploy was refused: {} {text}", answer.status);
    let served = program.client(key).call("GET", "/v1/version", &serde_json::Value::Null).await?;
    println!(
        "  deployed {version} in {:>4} ms; the next request was answered by {served}",
        begun.elapsed().as_millis()
    );
    Ok(())
}
