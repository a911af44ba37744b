//! Conversions of host types to the JSON types of the operators' listener.

use crate::{
    admin::wire,
    auth::Environment,
    db::{outbox::OutboxRow, swaps::SwapRow},
    plugin::{
        grants,
        reload::{self, PluginState, SwapReport},
    },
};

pub(in crate::boot) fn environment(environment: wire::KeyEnvironment) -> Environment {
    match environment {
        wire::KeyEnvironment::Test => Environment::Test,
        wire::KeyEnvironment::Live => Environment::Live,
    }
}

pub(in crate::boot) fn environment_status(environment: Environment) -> wire::KeyEnvironment {
    match environment {
        Environment::Test => wire::KeyEnvironment::Test,
        Environment::Live => wire::KeyEnvironment::Live,
    }
}

fn version(version: reload::Version) -> wire::VersionStatus {
    wire::VersionStatus { version: version.version, hash: version.hash.to_string() }
}

/// Converts milliseconds to the microseconds of the JSON type.
pub(in crate::boot) fn steps(steps_ms: Vec<(String, f64)>) -> Vec<wire::StepTime> {
    let microseconds = |ms: f64| (ms * 1_000.0).round().max(0.0) as u64;
    steps_ms.into_iter().map(|(step, ms)| wire::StepTime { step, microseconds: microseconds(ms) }).collect()
}

pub(super) fn plugin_status(status: reload::PluginStatus) -> wire::PluginStatus {
    wire::PluginStatus {
        name: status.name.to_string(),
        mount: status.mount,
        state: match status.state {
            PluginState::Serving => wire::PluginState::Serving,
            PluginState::Draining => wire::PluginState::Draining,
            PluginState::Preparing => wire::PluginState::Preparing,
            PluginState::Down => wire::PluginState::Down,
        },
        reasons: status.reasons,
        serving: status.serving.map(|serving| wire::ServingStatus {
            version: serving.version.version,
            hash: serving.version.hash.to_string(),
            build: serving.build,
            generation: serving.generation,
            since: wire::TimestampText(serving.since),
            in_flight: serving.in_flight,
        }),
        parked: status.parked.map(version),
        kept: status.kept.map(|hash| hash.to_string()),
    }
}

pub(super) fn swap_report(report: SwapReport) -> wire::SwapReport {
    wire::SwapReport {
        plugin: report.plugin.to_string(),
        from: report.from.map(version),
        to: version(report.to),
        generation: report.generation,
        notes: report.notes,
        steps: steps(report.steps_ms),
    }
}

/// Returns the hint for a failed deploy. A component with ungranted imports may belong to another plugin: its manifest
/// is not read, so its name is unknown.
pub(super) fn deploy_hint(reasons: &[String]) -> &'static str {
    if reasons.iter().any(|reason| grants::is_ungranted(reason)) {
        return "If the component belongs to another plugin, set --plugin. `tenon plugin check` reports the same without publishing.";
    }
    "`tenon plugin check` reports the same without publishing."
}

pub(super) fn journal_line(row: SwapRow) -> wire::JournalLine {
    wire::JournalLine {
        at: wire::TimestampText(row.at),
        operator: row.operator,
        plugin: row.plugin,
        action: row.action,
        from: row.from_hash,
        to: row.to_hash,
        outcome: row.outcome,
        reasons: row.reasons,
        steps: steps(row.steps_ms),
    }
}

pub(super) fn outbox_message(row: OutboxRow) -> wire::OutboxMessage {
    wire::OutboxMessage {
        id: row.id,
        plugin: row.plugin,
        tenant: row.tenant,
        destination: row.destination,
        method: row.method,
        path: row.path,
        media_type: row.media_type,
        body: String::from_utf8_lossy(&row.body).into_owned(),
        bytes: row.bytes,
        idempotency_key: row.key,
        at: wire::TimestampText(row.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deploy_hint_for_ungranted_imports_names_the_plugin_flag() {
        let ungranted = grants::check_import("notes", "tenon:plugin/records@0.1.0", &[]).unwrap();
        assert!(
            deploy_hint(&["is empty".to_owned(), ungranted]).starts_with("If the component belongs to another plugin")
        );
        assert!(!deploy_hint(&["is empty".to_owned()]).contains("--plugin"));
    }
}
