//! What happens around requests: starting, memory at rest, and the way of a new file to its first request.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{report::BenchReport, servers::Server};
use crate::{
    guests,
    program::{Program, sibling_binary},
    wire::Client,
};

const POLL: Duration = Duration::from_millis(1);
const SWAP_SECONDS_MAX: u64 = 30;
/// The page of what is served needs no key and no record.
const FIRST_PATH: &str = "/v1/orders?limit=1";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LifecycleReport {
    /// From the start of the process to the first answer of the plugin; nothing compiled before.
    pub start_cold_ms: f64,
    pub start_cached_ms: f64,
    /// Started, one request answered.
    pub idle_kib: u64,
    /// Deployed over the operators' interface: sent to first request on it.
    pub deploy_cold_ms: f64,
    pub deploy_cached_ms: f64,
    /// A file put in place: from the rename to the moment that it is served, settling included.
    pub file_with_settling_ms: f64,
}

/// Takes the server down and up again.
pub async fn measure(server: Server) -> anyhow::Result<LifecycleReport> {
    let mut report = LifecycleReport::default();
    let fleet = guests::component("fleet")?;
    let (new, other) = (guests::stamped(&fleet, "new"), guests::stamped(&fleet, "other"));
    report.deploy_cold_ms = time_deploy(&server, &new).await?;
    time_deploy(&server, &other).await?;
    report.deploy_cached_ms = time_deploy(&server, &new).await?;
    report.file_with_settling_ms = time_file(&server, &guests::stamped(&fleet, "file")).await?;
    let key = server.key().to_owned();
    let stopped = server.into_program()?.stop().await?;
    let compiled = stopped.folder.join("data/compiled");
    if compiled.exists() {
        fs::remove_dir_all(&compiled)?;
    }
    let (cold_ms, program) = time_start(Program::spawn(stopped)?, &key).await?;
    report.start_cold_ms = cold_ms;
    let stopped = program.stop().await?;
    let (cached_ms, program) = time_start(Program::spawn(stopped)?, &key).await?;
    report.start_cached_ms = cached_ms;
    report.idle_kib = program.resident_kib()?;
    program.stop().await?;
    Ok(report)
}

async fn time_deploy(server: &Server, component: &[u8]) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let answer = server.program()?.deploy("fleet", component).await?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!((200..300).contains(&answer.status), "a deploy was refused: {} {text}", answer.status);
    Client::new(server.address, server.key()).call("GET", FIRST_PATH, &serde_json::Value::Null).await?;
    Ok(milliseconds(begun))
}

/// Puts the file in place as `make plugins` does, and asks the operators' interface until its hash is the one served.
async fn time_file(server: &Server, component: &[u8]) -> anyhow::Result<f64> {
    let aside = server.component().with_extension("new");
    fs::write(&aside, component)?;
    let hash = hex::encode(Sha256::digest(component));
    let begun = Instant::now();
    fs::rename(&aside, server.component())?;
    let mut operator = server.program()?.operator()?;
    loop {
        let listed = operator.send("GET", "/v1/plugins", &[], b"").await?;
        if String::from_utf8_lossy(&listed.body).contains(&hash) {
            return Ok(milliseconds(begun));
        }
        ensure!(begun.elapsed().as_secs() < SWAP_SECONDS_MAX, "the new file is not served");
        tokio::time::sleep(POLL).await;
    }
}

async fn time_start(program: Program, key: &str) -> anyhow::Result<(f64, Program)> {
    let begun = Instant::now();
    loop {
        let answer = Client::new(program.public, key).send("GET", FIRST_PATH, &[], b"").await;
        if answer.is_ok_and(|answer| answer.status == 200) {
            return Ok((milliseconds(begun), program));
        }
        ensure!(begun.elapsed().as_secs() < SWAP_SECONDS_MAX, "no answer after the start:\n{}", program.log_tail());
        tokio::time::sleep(POLL).await;
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Microseconds of one call in a fresh instance, from a program that links the host itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// The smallest handler, JSON in and out.
    pub smallest_us: f64,
    /// `track` with its reads and writes, without the commit.
    pub track_us: f64,
}

/// The program that prints a [`CallReport`] as one line of JSON.
const CALL_BINARY: &str = "tenon-call-us";

pub fn measure_calls(report: &mut BenchReport) -> anyhow::Result<()> {
    let Some(binary) = sibling_binary(CALL_BINARY) else {
        report.skipped.push(format!("one call in a fresh instance: no program `{CALL_BINARY}` was built"));
        return Ok(());
    };
    let output = Command::new(binary).stderr(Stdio::inherit()).output()?;
    report.calls = Some(serde_json::from_slice(&output.stdout).with_context(|| format!("reading {CALL_BINARY}"))?);
    Ok(())
}
