//! Edit loop of a plugin author: a rule is saved, built with the development profile, and swapped in by a running
//! host.
//!
//! Works in a copy of the repository. Build output is kept between runs, as in a developer's checkout.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{BenchPlan, lifecycle::is_serving, report::median_of, servers::FLEET_GRANTS};
use crate::{
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    scratch,
};

/// The rule that is changed: the largest valid speed of a location update.
const RULE_FILE: &str = "plugins/fleet/src/rules/location.rs";
const RULE: &str = "const SPEED_MAX: f64 = 2_000.0;";
/// Output path of `make plugins`.
const BUILT: &str = "target-plugins/wasm32-wasip2/plugin/fleet.wasm";
const ROUNDS: usize = 3;
const SERVED_SECONDS_MAX: u64 = 60;
const POLL: Duration = Duration::from_millis(5);

/// Measurement of one changed rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    pub build_ms: f64,
    /// The step `compile` of the swap.
    #[serde(default)]
    pub compile_ms: f64,
    /// From the end of the build until the new version serves.
    pub swap_ms: f64,
}

impl Change {
    fn total_ms(&self) -> f64 {
        self.build_ms + self.swap_ms
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AuthoringReport {
    pub changes: Vec<Change>,
}

impl AuthoringReport {
    /// Returns the median time from saving a rule to serving it.
    pub fn saved_to_served_ms(&self) -> f64 {
        median_of(&self.changes, Change::total_ms).unwrap_or_default()
    }

    /// Returns the median time of the step `compile` of the swaps.
    pub fn compile_ms(&self) -> f64 {
        median_of(&self.changes, |change| change.compile_ms).unwrap_or_default()
    }

    pub fn to_markdown(&self) -> String {
        let median = |value: fn(&Change) -> f64| median_of(&self.changes, value).unwrap_or_default() / 1000.0;
        format!(
            "\n| a changed rule of fleet, profile `plugin` | build s | compile s | built to served s | saved to served s |\n\
             |---|--:|--:|--:|--:|\n| median of {} | {:.1} | {:.2} | {:.1} | {:.1} |\n",
            self.changes.len(),
            median(|change| change.build_ms),
            median(|change| change.compile_ms),
            median(|change| change.swap_ms),
            median(Change::total_ms),
        )
    }
}

pub async fn measure(plan: &BenchPlan) -> anyhow::Result<AuthoringReport> {
    let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
    let cache = guests::workspace_root().join("target/authoring");
    // The path is always the same, because Cargo treats a package at another path as another package.
    let copy = cache.join("copy");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    fs::create_dir_all(&copy)?;
    scratch::copy_repository(&copy, &cache)?;
    build(&copy).await?;
    let component = copy.join(BUILT);
    let data = tempfile::tempdir_in(&plan.folder)?;
    let folder = data.path().to_path_buf();
    let plugins = vec![PluginSection::new("fleet", &component, &FLEET_GRANTS)];
    let program = Program::start(ProgramPlan { binary, folder, plugins }).await?;
    let mut report = AuthoringReport::default();
    let rules = fs::read_to_string(copy.join(RULE_FILE))?;
    ensure!(rules.contains(RULE), "{RULE_FILE} has no line `{RULE}`");
    for round in 0..ROUNDS {
        let changed = rules.replace(RULE, &format!("const SPEED_MAX: f64 = {}.0;", 3_000 + round));
        let saved = Instant::now();
        fs::write(copy.join(RULE_FILE), changed)?;
        build(&copy).await?;
        let build_ms = milliseconds(saved);
        let built = Instant::now();
        wait_until_served(&program, &component).await?;
        let swap_ms = milliseconds(built);
        report.changes.push(Change { build_ms, compile_ms: compile_ms(&program).await?, swap_ms });
    }
    program.stop().await?;
    Ok(report)
}

/// Runs the build of `make plugins` for fleet alone.
async fn build(copy: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--profile", "plugin", "--target", "wasm32-wasip2", "--target-dir", "target-plugins"])
        .args(["-p", "fleet"])
        .current_dir(copy)
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || cargo.output()).await??;
    ensure!(output.status.success(), "the build failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

async fn wait_until_served(program: &Program, component: &Path) -> anyhow::Result<()> {
    let hash = hex::encode(Sha256::digest(fs::read(component)?));
    let started = Instant::now();
    let mut operator = program.operator()?;
    loop {
        let listed = operator.send("GET", "/v1/plugins", &[], b"").await?.json();
        if is_serving(&listed, &hash) {
            return Ok(());
        }
        ensure!(
            started.elapsed().as_secs() < SERVED_SECONDS_MAX,
            "the new rule is not served:\n{}",
            program.log_tail()
        );
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the time of the step `compile` of the newest swap in the journal.
async fn compile_ms(program: &Program) -> anyhow::Result<f64> {
    let journal = program.operator()?.send("GET", "/v1/plugins/journal?limit=1", &[], b"").await?.json();
    let steps = journal.pointer("/0/steps").and_then(|steps| steps.as_array());
    let compile = steps.into_iter().flatten().find(|step| step["step"] == "compile");
    let microseconds = compile.and_then(|step| step["microseconds"].as_f64());
    Ok(microseconds.with_context(|| format!("the journal has no step `compile`: {journal}"))? / 1000.0)
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
