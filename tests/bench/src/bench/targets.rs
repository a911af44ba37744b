//! Performance targets of Tenon and whether a run met them. Ratios compare measurements of one run, so that results of
//! different machines are comparable. The other targets are absolute.

use serde::{Deserialize, Serialize};

use super::{
    payments::{PaymentLoad, PaymentReport},
    report::BenchReport,
    servers::Kind,
    wallets::WalletReport,
    webhooks::WebhookReport,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    pub what: String,
    pub wanted: String,
    pub reached: String,
    pub met: bool,
}

/// Minimum ratio of the plugin's requests per second to those of a peer.
struct Ratio {
    scenario: &'static str,
    connections: usize,
    over: Kind,
    at_least: f64,
}

const RATIOS: &[Ratio] = &[
    Ratio { scenario: "track", connections: 64, over: Kind::Native, at_least: 7.0 },
    Ratio { scenario: "track", connections: 256, over: Kind::Native, at_least: 8.0 },
    Ratio { scenario: "track", connections: 64, over: Kind::SameHost, at_least: 0.9 },
    Ratio { scenario: "track", connections: 256, over: Kind::SameHost, at_least: 0.85 },
    Ratio { scenario: "track", connections: 64, over: Kind::WasmtimeServe, at_least: 1.0 },
    Ratio { scenario: "track", connections: 256, over: Kind::WasmtimeServe, at_least: 1.0 },
    Ratio { scenario: "one hot record", connections: 64, over: Kind::Native, at_least: 5.0 },
    Ratio { scenario: "one hot record", connections: 256, over: Kind::Native, at_least: 5.0 },
    Ratio { scenario: "read", connections: 64, over: Kind::Native, at_least: 1.2 },
];

const SWAP_P99_RATIO_MAX: f64 = 1.5;
const START_CACHED_MS_MAX: f64 = 200.0;
const DEPLOY_CACHED_MS_MAX: f64 = 100.0;
const DEPLOY_COLD_MS_MAX: f64 = 400.0;
const SAVED_TO_SERVED_MS_MAX: f64 = 4_000.0;
const COMPILE_CHANGED_MS_MAX: f64 = 400.0;
const IDLE_MIB_MAX: f64 = 70.0;
/// Maximum growth of resident memory over all swaps of a run.
const SWAP_GROWTH_MIB_MAX: f64 = 16.0;
const SMALLEST_CALL_US_MAX: f64 = 10.0;
const TRACK_CALL_US_MAX: f64 = 20.0;
const WEBHOOKS_PER_SECOND_MIN: f64 = 10_000.0;
/// Minimum rate with more than one endpoint.
const FANNED_WEBHOOKS_PER_SECOND_MIN: f64 = 7_000.0;
const WEBHOOK_IDLE_P50_MS_MAX: f64 = 5.0;
const HANGING_P99_RATIO_MAX: f64 = 1.2;
const WAITING_MIB_MAX: f64 = 120.0;
const WAITING_CORE_PERCENT_MAX: f64 = 1.0;
const PAYMENTS_PER_SECOND_MIN: f64 = 800.0;
const ACKNOWLEDGED_P99_MS_MAX: f64 = 50.0;
const WITHDRAWALS_PER_SECOND_MIN: f64 = 1_000.0;
const ADDRESSES_PER_SECOND_MIN: f64 = 500.0;

/// Returns a verdict for each measured target. `BenchReport::skipped` lists scenarios without measurements.
pub fn evaluate(report: &BenchReport) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = RATIOS.iter().filter_map(|ratio| evaluate_ratio(report, ratio)).collect();
    let tenon = report.measured.iter().filter(|load| load.server == Kind::Plugin);
    if tenon.clone().next().is_some() {
        verdicts.push(count("failed requests without swaps", tenon.map(|load| load.failed).sum()));
    }
    if let Some(swap) = &report.swap {
        let growth = swap.resident_kib_after.saturating_sub(swap.resident_kib_before) as f64 / 1024.0;
        verdicts.push(count(&format!("failed requests during {} swaps under load", swap.swaps), swap.failed));
        verdicts.push(at_most("p99 while swapping over p99 without", swap.p99_ratio(), SWAP_P99_RATIO_MAX, "×"));
        verdicts.push(at_most("growth of memory over all swaps", growth, SWAP_GROWTH_MIB_MAX, "MiB"));
    }
    if let Some(lifecycle) = &report.lifecycle {
        verdicts.push(at_most(
            "start to first answer, cached compile",
            lifecycle.start_cached_ms,
            START_CACHED_MS_MAX,
            "ms",
        ));
        verdicts.push(at_most(
            "new component to first request, cached",
            lifecycle.deploy_cached_ms,
            DEPLOY_CACHED_MS_MAX,
            "ms",
        ));
        verdicts.push(at_most(
            "new component to first request, cold",
            lifecycle.deploy_cold_ms,
            DEPLOY_COLD_MS_MAX,
            "ms",
        ));
        verdicts.push(at_most("idle memory", lifecycle.idle_kib as f64 / 1024.0, IDLE_MIB_MAX, "MiB"));
    }
    if let Some(authoring) = &report.authoring {
        let what = "saving a rule to serving it";
        verdicts.push(at_most(what, authoring.saved_to_served_ms(), SAVED_TO_SERVED_MS_MAX, "ms"));
        verdicts.push(at_most("compiling a changed rule", authoring.compile_ms(), COMPILE_CHANGED_MS_MAX, "ms"));
    }
    if let Some(calls) = &report.calls {
        verdicts.push(at_most("smallest call in a fresh instance", calls.smallest_us, SMALLEST_CALL_US_MAX, "µs"));
        verdicts.push(at_most("`track` in a fresh instance", calls.track_us, TRACK_CALL_US_MAX, "µs"));
    }
    verdicts.extend(report.webhooks.iter().flat_map(evaluate_webhooks));
    verdicts.extend(report.payments.iter().flat_map(evaluate_payments));
    verdicts.extend(report.wallets.iter().flat_map(evaluate_wallets));
    verdicts
}

fn evaluate_webhooks(report: &WebhookReport) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for load in report.measured.iter().filter(|load| load.load == "full") {
        let what = format!("webhooks delivered a second, endpoints: {}", load.endpoints);
        let minimum = if load.endpoints > 1 { FANNED_WEBHOOKS_PER_SECOND_MIN } else { WEBHOOKS_PER_SECOND_MIN };
        verdicts.push(at_least(&what, load.delivered_per_second, minimum, ""));
    }
    for load in report.measured.iter().filter(|load| load.load == "idle") {
        let what = format!("answer to arrival of its webhook when idle, p50, endpoints: {}", load.endpoints);
        verdicts.push(at_most(&what, load.p50_us as f64 / 1000.0, WEBHOOK_IDLE_P50_MS_MAX, "ms"));
    }
    let lost = report.measured.iter().map(|load| load.missing).sum::<u64>();
    verdicts.push(count("webhooks lost", lost + report.hanging.as_ref().map_or(0, |load| load.missing)));
    verdicts
        .push(count("failed requests while webhooks are sent", report.measured.iter().map(|load| load.failed).sum()));
    if let Some(load) = &report.hanging {
        let what = "p99 of 99 endpoints while one hangs over p99 without";
        verdicts.push(at_most(what, load.p99_ratio(), HANGING_P99_RATIO_MAX, "×"));
    }
    if let Some(load) = &report.waiting {
        let (what, mib) = (format!("{} waiting retries", load.retries), load.resident_kib as f64 / 1024.0);
        verdicts.push(at_most(&format!("{what}: memory"), mib, WAITING_MIB_MAX, "MiB"));
        verdicts.push(at_most(&format!("{what}: of a core"), load.core_percent, WAITING_CORE_PERCENT_MAX, "%"));
    }
    verdicts
}

fn evaluate_payments(report: &PaymentReport) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    if let Some(full) = report.find("two hosts", "full") {
        let what = "payments a second between two hosts";
        verdicts.push(at_least(what, full.per_second, PAYMENTS_PER_SECOND_MIN, ""));
    }
    for load in report.measured.iter().filter(|load| load.load == "full") {
        let (what, ms) =
            (format!("acknowledgement, p99, {}, full", load.scenario), load.acknowledged_p99_us as f64 / 1000.0);
        verdicts.push(at_most(&what, ms, ACKNOWLEDGED_P99_MS_MAX, "ms"));
    }
    let sum = |value: fn(&PaymentLoad) -> u64| report.measured.iter().map(value).sum();
    let swaps: usize = report.measured.iter().map(|load| load.swaps).sum();
    verdicts
        .push(count(&format!("acknowledgements after more than 1 s, {swaps} swaps included"), sum(|load| load.late)));
    verdicts.push(count("payments lost", sum(|load| load.lost)));
    verdicts.push(count("payments failed", sum(|load| load.failed)));
    verdicts.push(count("books of the two sides that disagree", report.wrong.len() as u64));
    verdicts
}

fn evaluate_wallets(report: &WalletReport) -> Vec<Verdict> {
    let minimums = [("withdrawals", WITHDRAWALS_PER_SECOND_MIN), ("addresses", ADDRESSES_PER_SECOND_MIN)];
    let reached = minimums.iter().filter_map(|(work, minimum)| {
        let per_second = report.find(work, "full")?.per_second;
        Some(at_least(&format!("{work} a second, durable"), per_second, *minimum, ""))
    });
    let mut verdicts: Vec<Verdict> = reached.collect();
    let swaps: usize = report.measured.iter().map(|load| load.swaps).sum();
    let failed = report.measured.iter().map(|load| load.failed).sum();
    verdicts.push(count(&format!("requests of wallets that failed, {swaps} swaps included"), failed));
    verdicts.push(count("ledger, blockchains and webhooks that disagree", report.wrong.len() as u64));
    verdicts
}

fn evaluate_ratio(report: &BenchReport, ratio: &Ratio) -> Option<Verdict> {
    let Ratio { scenario, connections, over, at_least } = *ratio;
    let tenon = report.find(scenario, connections, Kind::Plugin)?.per_second;
    let peer = report.find(scenario, connections, over)?.per_second;
    let reached = tenon / peer;
    Some(Verdict {
        what: format!("{scenario}, {connections} connections, over {}", over.name()),
        wanted: format!("≥ {at_least} ×"),
        reached: format!("{reached:.2} ×"),
        met: reached >= at_least,
    })
}

fn at_most(what: &str, reached: f64, limit: f64, unit: &str) -> Verdict {
    Verdict {
        what: what.to_owned(),
        wanted: format!("≤ {limit} {unit}"),
        reached: format!("{reached:.1} {unit}"),
        met: reached <= limit,
    }
}

fn at_least(what: &str, reached: f64, limit: f64, unit: &str) -> Verdict {
    Verdict {
        what: what.to_owned(),
        wanted: format!("≥ {limit} {unit}").trim().to_owned(),
        reached: format!("{reached:.0} {unit}").trim().to_owned(),
        met: reached >= limit,
    }
}

fn count(what: &str, reached: u64) -> Verdict {
    Verdict { what: what.to_owned(), wanted: "0".to_owned(), reached: reached.to_string(), met: reached == 0 }
}
