//! Conversions of plugin status, routes, swaps and checks to JSON types.

use crate::{
    admin::wire,
    config::PluginConfig,
    manifest,
    plugin::{
        error_bodies::HEADERS_RULE,
        reload::{
            self, PluginState, SwapReport, check,
            journal::{Publication, PublishedVersion},
        },
    },
};

fn version(version: reload::Version) -> wire::VersionStatus {
    wire::VersionStatus { version: version.version, hash: version.hash.to_string() }
}

/// Converts milliseconds to the microseconds of the JSON type.
pub fn step_times(steps_ms: Vec<(String, f64)>) -> Vec<wire::StepTime> {
    let microseconds = |ms: f64| (ms * 1_000.0).round().max(0.0) as u64;
    steps_ms.into_iter().map(|(step, ms)| wire::StepTime { step, microseconds: microseconds(ms) }).collect()
}

pub fn plugin_status(status: reload::PluginStatus) -> wire::PluginStatus {
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

pub fn route_status(route: &manifest::Route, config: &PluginConfig) -> wire::RouteStatus {
    wire::RouteStatus {
        operation: route.operation.clone(),
        method: route.method.clone(),
        path: format!("{}{}", config.mount.trim_end_matches('/'), route.path),
        open: route.open,
        key_parameter: route.key_parameter.clone(),
        scopes: route.scopes.clone(),
        deadline_ms: route.deadline_ms.unwrap_or(config.limits.deadline_ms),
    }
}

pub fn swap_report(report: SwapReport) -> wire::SwapReport {
    wire::SwapReport {
        plugin: report.plugin.to_string(),
        from: report.from.map(version),
        to: version(report.to),
        generation: report.generation,
        notes: report.notes,
        steps: step_times(report.steps_ms),
    }
}

/// Converts a stored version. `serving` is the hash of the component that serves.
pub fn stored_version(version: PublishedVersion, serving: Option<&str>) -> wire::StoredVersion {
    wire::StoredVersion {
        serving: serving == Some(&*version.hash),
        hash: version.hash.to_string(),
        version: version.version,
        published: version.published.map(publication),
        ended: version.ended.map(publication),
    }
}

fn publication(publication: Publication) -> wire::Publication {
    let Publication { at, actor, action } = publication;
    wire::Publication { at: wire::TimestampText(at), operator: actor, action: action.name().to_owned() }
}

pub fn check_report(mut report: check::CheckReport) -> wire::CheckReport {
    // The rule does not apply to a file whose manifest was not read: it has no responses.
    if report.version.is_some() {
        report.notes.push(HEADERS_RULE.to_owned());
    }
    wire::CheckReport {
        plugin: report.plugin.to_string(),
        passed: report.passed(),
        hash: report.hash.to_string(),
        version: report.version,
        reasons: report.reasons,
        notes: report.notes,
        steps: step_times(report.steps_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_of_headers_is_noted_for_components_whose_manifest_was_read() {
        let notes = |version: Option<&str>| {
            let report = check::CheckReport {
                plugin: "notes".into(),
                hash: "ab".into(),
                version: version.map(str::to_owned),
                reasons: Vec::new(),
                notes: Vec::new(),
                steps_ms: Vec::new(),
            };
            check_report(report).notes
        };
        assert_eq!(notes(None), Vec::<String>::new());
        assert_eq!(notes(Some("0.1.0")), [HEADERS_RULE]);
    }
}
