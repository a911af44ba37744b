//! The effect of one tenant on another: the neighbour's small requests alone, beside a crowd of connections that ask for the
//! largest lists, and beside readers that do not read.
//!
//! Owns the plan, the filling and the report. The crowd runs in a process of its own, so that its reading does not delay
//! what is measured; `slow` holds connections that take nothing.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    bench::servers::{FLEET_GRANTS, Generator},
    guests,
    load::{self, LoadPlan, LoadReport, PlannedRequest},
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    wire::Client,
};

pub mod slow;

/// A list of this many orders of this many bytes is 6 MB.
const LISTED: usize = 100;
const ORDER_BYTES: usize = 60_000;
/// The neighbour's own connections.
const NEIGHBOUR_CONNECTIONS: usize = 4;
/// The goal: so many times of what the neighbour has alone, and so much besides.
const TIMES: f64 = 5.0;
const BESIDES_MS: f64 = 20.0;

pub struct FairnessPlan {
    pub folder: PathBuf,
    pub seconds: f64,
    /// Connections of the crowd, one measurement each.
    pub crowds: Vec<usize>,
    /// Readers that do not read, besides.
    pub attacks: bool,
    /// Lines in front of the plugins, such as a budget.
    pub limits: String,
}

#[derive(Debug, Serialize)]
pub struct Beside {
    pub what: String,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub requests: u64,
    pub failed: u64,
    pub resident_mib: u64,
    /// Answers that the others got, by status.
    pub others: String,
}

#[derive(Debug, Serialize)]
pub struct FairnessReport {
    pub rows: Vec<Beside>,
    pub allowed_ms: f64,
}

/// A host with a rich tenant, whose lists are large, and a neighbour.
pub struct Stage {
    pub program: Program,
    pub crowd_key: String,
    crowd_file: PathBuf,
    neighbour: LoadPlan,
}

/// Runs everything; what it does is printed to standard error.
pub async fn run(plan: &FairnessPlan) -> anyhow::Result<FairnessReport> {
    let stage = Stage::build(plan).await?;
    let mut rows = vec![stage.measure("alone", plan.seconds).await?];
    for connections in &plan.crowds {
        eprintln!("beside {connections} connections …");
        rows.push(stage.measure_beside(*connections, plan.seconds).await?);
    }
    if plan.attacks {
        for attack in slow::Attack::ALL {
            eprintln!("beside {} …", attack.name());
            rows.push(stage.measure_attack(attack, plan.seconds).await?);
        }
        rows.push(stage.measure("afterwards", plan.seconds).await?);
    }
    let allowed_ms = rows.first().map_or(0.0, |alone| TIMES * alone.p99_ms + BESIDES_MS);
    stage.program.stop().await?;
    Ok(FairnessReport { rows, allowed_ms })
}

impl Stage {
    async fn build(plan: &FairnessPlan) -> anyhow::Result<Stage> {
        if plan.folder.exists() {
            fs::remove_dir_all(&plan.folder)?;
        }
        fs::create_dir_all(&plan.folder)?;
        let component = plan.folder.join("fleet.wasm");
        fs::write(&component, guests::component("fleet")?)?;
        let mut fleet = PluginSection::new("fleet", &component, &FLEET_GRANTS);
        fleet.more = plan.limits.clone();
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it first")?;
        let program = Program::start(ProgramPlan { binary, folder: plan.folder.clone(), plugins: vec![fleet] }).await?;
        let (crowd_key, neighbour_key) = (program.create_key("fleet", "rich")?, program.create_key("fleet", "small")?);
        let mut rich = program.client(&crowd_key);
        for number in 0..LISTED {
            let meta = json!({ "blob": "x".repeat(ORDER_BYTES), "number": number });
            create_order(&mut rich, meta).await?;
        }
        let id = create_order(&mut program.client(&neighbour_key), json!({})).await?;
        let crowd_file = plan.folder.join("lists.jsonl");
        fs::write(&crowd_file, serde_json::to_string(&get(format!("/v1/orders?limit={LISTED}")))?)?;
        let mut neighbour = LoadPlan::new(program.public, &neighbour_key, &[get(format!("/v1/orders/{id}"))]);
        neighbour.connections = NEIGHBOUR_CONNECTIONS;
        Ok(Stage { program, crowd_key, crowd_file, neighbour })
    }

    async fn measure(&self, what: &str, seconds: f64) -> anyhow::Result<Beside> {
        let plan = LoadPlan { duration: Duration::from_secs_f64(seconds), ..self.neighbour.clone() };
        let mut resident_kib = self.program.resident_kib()?;
        let load = tokio::spawn(load::run(plan));
        while !load.is_finished() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            resident_kib = resident_kib.max(self.program.resident_kib()?);
        }
        Ok(beside(what, load.await?, resident_kib))
    }

    async fn measure_beside(&self, connections: usize, seconds: f64) -> anyhow::Result<Beside> {
        let generator =
            Generator { address: self.program.public, key: self.crowd_key.clone(), requests: self.crowd_file.clone() };
        let crowd = tokio::spawn(async move { generator.run(connections, 0.0, seconds + 2.0).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut row = self.measure(&format!("{connections} connections"), seconds).await?;
        row.others = others(&crowd.await??);
        Ok(row)
    }

    async fn measure_attack(&self, attack: slow::Attack, seconds: f64) -> anyhow::Result<Beside> {
        let held = slow::begin(attack, self.program.public, &self.crowd_key, LISTED).await?;
        let mut row = self.measure(attack.name(), seconds).await?;
        row.others = format!("{} of {} connections still open", held.open(), held.begun());
        Ok(row)
    }
}

async fn create_order(client: &mut Client, meta: Value) -> anyhow::Result<String> {
    let order = json!({ "pickup": "1 Harbour Road", "dropoff": "9 Station Street", "meta": meta });
    let created = client.call("POST", "/v1/orders", &order).await?;
    Ok(created.get("id").and_then(Value::as_str).context("no id")?.to_owned())
}

fn get(path: String) -> PlannedRequest {
    PlannedRequest { method: "GET".to_owned(), path, body: String::new() }
}

fn beside(what: &str, report: LoadReport, resident_kib: u64) -> Beside {
    Beside {
        what: what.to_owned(),
        p50_ms: report.p50_us as f64 / 1_000.0,
        p99_ms: report.p99_us as f64 / 1_000.0,
        requests: report.requests,
        failed: report.failed(),
        resident_mib: resident_kib >> 10,
        others: String::new(),
    }
}

fn others(report: &LoadReport) -> String {
    format!("{:?}, p99 {} ms, broken {}", report.statuses, report.p99_us / 1_000, report.broken)
}

impl FairnessReport {
    pub fn to_markdown(&self) -> String {
        let mut table = String::from(
            "| the neighbour beside | requests | p50 ms | p99 ms | failed | resident MiB | the others |\n\
             |---|--:|--:|--:|--:|--:|---|\n",
        );
        for row in &self.rows {
            table.push_str(&format!(
                "| {} | {} | {:.1} | {:.1} | {} | {} | {} |\n",
                row.what, row.requests, row.p50_ms, row.p99_ms, row.failed, row.resident_mib, row.others
            ));
        }
        table.push_str(&format!("\nallowed beside a crowd: p99 of {:.1} ms\n", self.allowed_ms));
        table
    }
}
