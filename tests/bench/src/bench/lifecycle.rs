//! Lifecycle of the host: start, idle memory, and the time from a new component file to its first request.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{report::BenchReport, servers::Server};
use crate::{
    guests,
    program::{Program, sibling_binary},
    wire::Client,
};

const POLL: Duration = Duration::from_millis(1);
const SWAP_SECONDS_MAX: u64 = 30;
/// Request that works with an empty database.
const FIRST_PATH: &str = "/v1/orders?limit=1";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LifecycleReport {
    /// From the start of the process to the first response of the plugin, without a compile cache.
    pub start_cold_ms: f64,
    pub start_cached_ms: f64,
    /// Memory after the start and one request.
    pub idle_kib: u64,
    /// Deploy over the operators' interface: from sending it to the first response of the new component.
    pub deploy_cold_ms: f64,
    pub deploy_cached_ms: f64,
    /// Replaced component file: from the rename until it serves, the settle delay included.
    pub file_with_settling_ms: f64,
}

/// Measures the lifecycle. Stops and restarts the server.
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
    let started = Instant::now();
    let response = server.program()?.deploy("fleet", component).await?;
    let text = String::from_utf8_lossy(&response.body);
    ensure!((200..300).contains(&response.status), "a deploy was refused: {} {text}", response.status);
    Client::new(server.address, server.key()).call("GET", FIRST_PATH, &Value::Null).await?;
    Ok(milliseconds(started))
}

/// Replaces the component file as `make plugins` does, and polls the operators' interface until its hash serves.
async fn time_file(server: &Server, component: &[u8]) -> anyhow::Result<f64> {
    let temporary = server.component().with_extension("new");
    fs::write(&temporary, component)?;
    let hash = hex::encode(Sha256::digest(component));
    let started = Instant::now();
    fs::rename(&temporary, server.component())?;
    let mut operator = server.program()?.operator()?;
    loop {
        let listed = operator.send("GET", "/v1/plugins", &[], b"").await?.json();
        if is_serving(&listed, &hash) {
            return Ok(milliseconds(started));
        }
        ensure!(started.elapsed().as_secs() < SWAP_SECONDS_MAX, "the new file is not served");
        tokio::time::sleep(POLL).await;
    }
}

/// Returns true if the first plugin of the operators' list serves the component with this hash.
pub(super) fn is_serving(listed: &Value, hash: &str) -> bool {
    listed.pointer("/0/serving/hash").and_then(Value::as_str) == Some(hash)
}

async fn time_start(program: Program, key: &str) -> anyhow::Result<(f64, Program)> {
    let started = Instant::now();
    loop {
        let response = Client::new(program.public, key).send("GET", FIRST_PATH, &[], b"").await;
        if response.is_ok_and(|response| response.status == 200) {
            return Ok((milliseconds(started), program));
        }
        ensure!(started.elapsed().as_secs() < SWAP_SECONDS_MAX, "no response after the start:\n{}", program.log_tail());
        tokio::time::sleep(POLL).await;
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Microseconds of one call in a fresh instance, from a program that links the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// Smallest handler, JSON in and out.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parked_version_is_not_serving() {
        let listed = json!([{ "serving": { "hash": "a1" }, "parked": { "hash": "b2" }, "kept": null }]);
        assert!(is_serving(&listed, "a1"));
        assert!(!is_serving(&listed, "b2"));
    }
}
