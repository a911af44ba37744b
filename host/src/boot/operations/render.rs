//! Values of the host in the form that the operators' listener answers with.

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

/// Milliseconds inside, microseconds on the wire.
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
            since: wire::Moment(serving.since),
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

/// The manifest of a component that imports too much was not read, so its own name is not known.
pub(super) fn deploy_hint(reasons: &[String]) -> &'static str {
    if reasons.iter().any(|reason| grants::is_ungranted(reason)) {
        return "If another plugin was meant, name it with --plugin. `tenon plugin check` shows the same and publishes nothing.";
    }
    "`tenon plugin check` shows the same and publishes nothing."
}

pub(super) fn journal_line(row: SwapRow) -> wire::JournalLine {
    wire::JournalLine {
        at: wire::Moment(row.at),
        who: row.who,
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
        at: wire::Moment(row.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_of_a_deploy_without_its_grants_names_the_flag_for_another_plugin() {
        let ungranted = grants::find_objection("notes", "tenon:plugin/records@0.1.0", &[]).unwrap();
        assert!(deploy_hint(&["is empty".to_owned(), ungranted]).starts_with("If another plugin was meant"));
        assert!(!deploy_hint(&["is empty".to_owned()]).contains("--plugin"));
    }
}
