//! Effect of one tenant on another. The neighbour's small reads run alone, beside crowds of connections that request
//! the largest lists or a small order, and beside the attacks of `slow`. Its small writes run alone, beside the crowd
//! that requests a small order, and beside a crowd that uploads large files.
//!
//! Owns the plan, the setup and the report. The crowd runs in a separate process, so that its reads do not delay the
//! measured requests. `slow` opens connections that do not read, do not finish their request, or send nothing.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, ensure};
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

/// Number and size of the listed orders: a list takes 6 MB.
const LISTED: usize = 100;
const ORDER_BYTES: usize = 60_000;
/// Size of each file that the crowd uploads, and the number of uploading connections.
const FILE_BYTES: usize = 4_000_000;
const UPLOADING: usize = 12;
/// A JPEG in base64. Data may follow after its end marker.
const PICTURE: &str = "/9j/4AAEYWL/wAAICAABAAEA/9oAAgH/AP/QAv/Z";
/// Number of connections that read one small order as fast as they can.
const FLOOD_CONNECTIONS: usize = 400;
/// Number of the neighbour's own connections.
const NEIGHBOUR_CONNECTIONS: usize = 4;
/// Limit of the p99 beside a crowd: a multiple of the neighbour's p99 alone, plus a constant.
const P99_FACTOR: f64 = 5.0;
const P99_EXTRA_MS: f64 = 20.0;

pub struct FairnessPlan {
    pub folder: PathBuf,
    pub seconds: f64,
    /// Numbers of connections of the crowd, one measurement each.
    pub crowds: Vec<usize>,
    /// Also measures beside each [`slow::Attack`].
    pub attacks: bool,
    /// Further TOML lines of the plugin's section, such as a budget.
    pub limits: String,
}

#[derive(Debug, Serialize)]
pub struct Measurement {
    pub what: String,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub requests: u64,
    pub failed: u64,
    pub resident_mib: u64,
    /// Responses of the other connections, by status.
    pub others: String,
}

#[derive(Debug, Serialize)]
pub struct FairnessReport {
    pub rows: Vec<Measurement>,
    /// Limit of the p99 of reads beside a crowd.
    pub allowed_ms: f64,
    /// Limit of the p99 of writes beside a crowd.
    pub writes_allowed_ms: f64,
}

/// Host with two tenants: the crowd, whose lists are large, and the neighbour.
pub struct FairnessHost {
    pub program: Program,
    pub crowd_key: String,
    lists: PathBuf,
    uploads: PathBuf,
    small: PathBuf,
    reads: LoadPlan,
    writes: LoadPlan,
}

/// Runs all measurements. Progress goes to standard error.
pub async fn run(plan: &FairnessPlan) -> anyhow::Result<FairnessReport> {
    let host = FairnessHost::start(plan).await?;
    let alone = host.measure("alone", &host.reads, plan.seconds).await?;
    let allowed_ms = allowed_ms(&alone);
    let mut rows = vec![alone];
    for connections in &plan.crowds {
        eprintln!("beside {connections} connections …");
        let crowd = (*connections, &host.lists);
        rows.push(host.measure_beside(&format!("{connections} connections"), crowd, &host.reads, plan.seconds).await?);
    }
    let what = format!("{FLOOD_CONNECTIONS} connections that read one order");
    eprintln!("beside {what} …");
    rows.push(host.measure_beside(&what, (FLOOD_CONNECTIONS, &host.small), &host.reads, plan.seconds).await?);
    let alone = host.measure("writes alone", &host.writes, plan.seconds).await?;
    let writes_allowed_ms = self::allowed_ms(&alone);
    rows.push(alone);
    let what = format!("writes beside {FLOOD_CONNECTIONS} connections that read one order");
    eprintln!("{what} …");
    rows.push(host.measure_beside(&what, (FLOOD_CONNECTIONS, &host.small), &host.writes, plan.seconds).await?);
    let what = format!("writes beside {UPLOADING} connections that upload {} MB each", FILE_BYTES / 1_000_000);
    eprintln!("{what} …");
    rows.push(host.measure_beside(&what, (UPLOADING, &host.uploads), &host.writes, plan.seconds).await?);
    if plan.attacks {
        for attack in slow::Attack::ALL {
            eprintln!("beside {} …", attack.name());
            rows.push(host.measure_attack(attack, plan.seconds).await?);
        }
        rows.push(host.measure("afterwards", &host.reads, plan.seconds).await?);
    }
    host.program.stop().await?;
    Ok(FairnessReport { rows, allowed_ms, writes_allowed_ms })
}

impl FairnessReport {
    /// Fails if a measurement has failed requests or exceeds its limit. The error names the first one.
    pub fn check(&self) -> anyhow::Result<()> {
        for row in &self.rows {
            let allowed_ms = if row.what.starts_with("writes") { self.writes_allowed_ms } else { self.allowed_ms };
            ensure!(row.failed == 0, "{}: {} requests failed", row.what, row.failed);
            ensure!(
                row.p99_ms <= allowed_ms,
                "{}: the p99 is {:.1} ms, the limit is {allowed_ms:.1} ms",
                row.what,
                row.p99_ms
            );
        }
        Ok(())
    }
}

fn allowed_ms(alone: &Measurement) -> f64 {
    P99_FACTOR * alone.p99_ms + P99_EXTRA_MS
}

impl FairnessHost {
    async fn start(plan: &FairnessPlan) -> anyhow::Result<FairnessHost> {
        if plan.folder.exists() {
            fs::remove_dir_all(&plan.folder)?;
        }
        fs::create_dir_all(&plan.folder)?;
        let component = plan.folder.join("fleet.wasm");
        fs::write(&component, guests::component("fleet")?)?;
        let mut fleet = PluginSection::new("fleet", &component, &FLEET_GRANTS);
        fleet.extra_toml = plan.limits.clone();
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it first")?;
        let program = Program::start(ProgramPlan { binary, folder: plan.folder.clone(), plugins: vec![fleet] }).await?;
        let (crowd_key, neighbour_key) = (program.create_key("fleet", "rich")?, program.create_key("fleet", "small")?);
        let mut crowd = program.client(&crowd_key);
        for number in 0..LISTED {
            let meta = json!({ "blob": "x".repeat(ORDER_BYTES), "number": number });
            create_order(&mut crowd, meta).await?;
        }
        let id = create_order(&mut program.client(&neighbour_key), json!({})).await?;
        let [lists, uploads, small] =
            ["lists", "uploads", "small"].map(|name| plan.folder.join(format!("{name}.jsonl")));
        let read = create_order(&mut crowd, json!({})).await?;
        // The ETA depends on the time, so the answer is not cached and each read is a call.
        fs::write(&small, serde_json::to_string(&get(format!("/v1/orders/{read}?with_eta=true")))?)?;
        fs::write(&lists, serde_json::to_string(&get(format!("/v1/orders?limit={LISTED}")))?)?;
        let file = json!({ "data": format!("{PICTURE}{}", "A".repeat(FILE_BYTES / 3 * 4)), "type": "licence" });
        fs::write(&uploads, serde_json::to_string(&post("/v1/files/base64", &file))?)?;
        let neighbour = |request| {
            let plan = LoadPlan::new(program.public, &neighbour_key, &[request]);
            LoadPlan { connections: NEIGHBOUR_CONNECTIONS, ..plan }
        };
        let (reads, writes) =
            (neighbour(get(format!("/v1/orders/{id}"))), neighbour(post("/v1/orders", &order(json!({})))));
        Ok(FairnessHost { program, crowd_key, lists, uploads, small, reads, writes })
    }

    async fn measure(&self, what: &str, neighbour: &LoadPlan, seconds: f64) -> anyhow::Result<Measurement> {
        let plan = LoadPlan { duration: Duration::from_secs_f64(seconds), ..neighbour.clone() };
        let mut resident_kib = self.program.resident_kib()?;
        let load = tokio::spawn(load::run(plan));
        while !load.is_finished() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            resident_kib = resident_kib.max(self.program.resident_kib()?);
        }
        Ok(to_measurement(what, load.await?, resident_kib))
    }

    /// Measures the neighbour beside a crowd with this number of connections, which sends the requests of this file.
    async fn measure_beside(
        &self,
        what: &str,
        (connections, requests): (usize, &PathBuf),
        neighbour: &LoadPlan,
        seconds: f64,
    ) -> anyhow::Result<Measurement> {
        let generator =
            Generator { address: self.program.public, key: self.crowd_key.clone(), requests: requests.clone() };
        let crowd = tokio::spawn(async move { generator.run(connections, 0.0, seconds + 2.0).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut row = self.measure(what, neighbour, seconds).await?;
        row.others = others(&crowd.await??);
        Ok(row)
    }

    async fn measure_attack(&self, attack: slow::Attack, seconds: f64) -> anyhow::Result<Measurement> {
        let connections = slow::start(attack, self.program.public, &self.crowd_key, LISTED).await?;
        let mut row = self.measure(attack.name(), &self.reads, seconds).await?;
        row.others = format!("{} of {} connections still open", connections.open(), connections.total());
        Ok(row)
    }
}

async fn create_order(client: &mut Client, meta: Value) -> anyhow::Result<String> {
    let created = client.call("POST", "/v1/orders", &order(meta)).await?;
    Ok(created.get("id").and_then(Value::as_str).context("no id")?.to_owned())
}

fn order(meta: Value) -> Value {
    json!({ "pickup": "1 Harbour Road", "dropoff": "9 Station Street", "meta": meta })
}

fn post(path: &str, body: &Value) -> PlannedRequest {
    PlannedRequest { method: "POST".to_owned(), path: path.to_owned(), body: body.to_string() }
}

fn get(path: String) -> PlannedRequest {
    PlannedRequest { method: "GET".to_owned(), path, body: String::new() }
}

fn to_measurement(what: &str, report: LoadReport, resident_kib: u64) -> Measurement {
    Measurement {
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
        let (reads, writes) = (self.allowed_ms, self.writes_allowed_ms);
        table.push_str(&format!("\nallowed beside a crowd: p99 of {reads:.1} ms, of writes {writes:.1} ms\n"));
        table
    }
}
