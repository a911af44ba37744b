//! Results as JSON for programs and as Markdown tables for people.
//!
//! Owns medians and the tables of requests and targets. The table of targets includes missed ones.

use std::fs;

use serde::{Deserialize, Serialize};

use super::{
    BenchPlan, Scenario,
    authoring::AuthoringReport,
    lifecycle::{CallReport, LifecycleReport},
    payments::PaymentReport,
    quiet::load_average,
    servers::Kind,
    swapping::SwapReport,
    targets::{self, Verdict},
    wallets::WalletReport,
    webhooks::WebhookReport,
};
use crate::load::LoadReport;

/// Result of one scenario on one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    pub scenario: String,
    pub connections: usize,
    pub server: Kind,
    /// Median of the rounds, like `p50_us` and `p99_us`.
    pub per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
    /// Sum of the rounds, like `failed`.
    pub requests: u64,
    pub failed: u64,
    pub rounds: Vec<LoadReport>,
}

impl Measurement {
    pub fn median(scenario: &Scenario, server: Kind, rounds: Vec<LoadReport>) -> Option<Measurement> {
        Some(Measurement {
            scenario: scenario.name.to_owned(),
            connections: scenario.connections,
            server,
            per_second: median_of(&rounds, |round| round.per_second)?,
            p50_us: median_of(&rounds, |round| round.p50_us as f64)? as u64,
            p99_us: median_of(&rounds, |round| round.p99_us as f64)? as u64,
            requests: rounds.iter().map(|round| round.requests).sum(),
            failed: rounds.iter().map(LoadReport::failed).sum(),
            rounds,
        })
    }
}

pub(super) fn median_of<T>(rounds: &[T], value: impl Fn(&T) -> f64) -> Option<f64> {
    let mut values: Vec<f64> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub processors: usize,
    pub kernel: String,
    /// One-minute load average before the run. It shows other load on the machine.
    pub load_average: String,
    pub rounds: usize,
    pub seconds: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchReport {
    pub machine: Machine,
    pub measured: Vec<Measurement>,
    pub swap: Option<SwapReport>,
    pub lifecycle: Option<LifecycleReport>,
    pub calls: Option<CallReport>,
    pub authoring: Option<AuthoringReport>,
    pub webhooks: Option<WebhookReport>,
    pub payments: Option<PaymentReport>,
    pub wallets: Option<WalletReport>,
    /// Scenarios that could not be measured, with the reason.
    pub skipped: Vec<String>,
    pub verdicts: Vec<Verdict>,
}

impl BenchReport {
    pub fn new(plan: &BenchPlan) -> anyhow::Result<BenchReport> {
        let machine = Machine {
            processors: std::thread::available_parallelism()?.get(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            load_average: format!("{:.2}", load_average()?),
            rounds: plan.rounds,
            seconds: plan.seconds,
        };
        let (measured, mut skipped, verdicts) = (Vec::new(), Vec::new(), Vec::new());
        if cfg!(debug_assertions) {
            skipped.push("reliable figures: this is a build without optimisation".to_owned());
        }
        Ok(BenchReport {
            machine,
            measured,
            swap: None,
            lifecycle: None,
            calls: None,
            authoring: None,
            webhooks: None,
            payments: None,
            wallets: None,
            skipped,
            verdicts,
        })
    }

    pub fn evaluate_targets(&mut self) {
        self.verdicts = targets::evaluate(self);
    }

    pub fn find(&self, scenario: &str, connections: usize, server: Kind) -> Option<&Measurement> {
        self.measured
            .iter()
            .find(|entry| entry.scenario == scenario && entry.connections == connections && entry.server == server)
    }

    /// Renders the report as Markdown. `docs/benchmarks.md` contains it between two markers.
    pub fn to_markdown(&self) -> String {
        let Machine { processors, load_average, rounds, seconds, .. } = &self.machine;
        let mut text = format!(
            "{processors} cores shared with the load generator, medians of {rounds} rounds of {seconds} s, load average \
             before: {load_average}. SQLite in WAL mode with `synchronous=FULL` everywhere.\n"
        );
        if !self.measured.is_empty() {
            text.push_str(
                "\n| scenario | connections | server | requests/s | p50 ms | p99 ms | failed |\n\
                 |---|--:|---|--:|--:|--:|--:|\n",
            );
        }
        for entry in &self.measured {
            text.push_str(&format!(
                "| {} | {} | {} | {:.0} | {:.1} | {:.1} | {} |\n",
                entry.scenario,
                entry.connections,
                entry.server.name(),
                entry.per_second,
                entry.p50_us as f64 / 1000.0,
                entry.p99_us as f64 / 1000.0,
                entry.failed
            ));
        }
        text.push_str(&self.authoring.as_ref().map(AuthoringReport::to_markdown).unwrap_or_default());
        text.push_str(&self.webhooks.as_ref().map(WebhookReport::to_markdown).unwrap_or_default());
        text.push_str(&self.payments.as_ref().map(PaymentReport::to_markdown).unwrap_or_default());
        text.push_str(&self.wallets.as_ref().map(WalletReport::to_markdown).unwrap_or_default());
        text.push_str("\n| target | wanted | reached | |\n|---|--:|--:|---|\n");
        for verdict in &self.verdicts {
            let Verdict { what, wanted, reached, met } = verdict;
            text.push_str(&format!(
                "| {what} | {wanted} | {reached} | {} |\n",
                if *met { "met" } else { "**missed**" }
            ));
        }
        if !self.skipped.is_empty() {
            text.push_str(&format!("\nNot measured: {}.\n", self.skipped.join("; ")));
        }
        text
    }
}
