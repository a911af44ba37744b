//! The operators' journal.

use std::sync::Arc;

use axum::{Extension, Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    AdminError, Services,
    inputs::read_options,
    plugins::step_times,
    routes::{ActionNames, Routes},
    wire::{JournalLine, TimestampText},
};
use crate::{
    changes::operator_action::OFFLINE_ACTIONS,
    db::swaps::{SwapFilter, SwapRow},
    limits,
    plugin::reload::journal::SwapAction,
};

pub fn routes() -> Routes {
    Routes::default().read_with_options("/v1/journal", list).read_with_options("/v1/plugins/journal", list)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    plugin: Option<String>,
    operator: Option<String>,
    action: Option<String>,
    since: Option<TimestampText>,
    limit: Option<usize>,
}

/// Lists lines, newest first.
async fn list(
    State(host): State<Arc<Services>>,
    Extension(ActionNames(actions)): Extension<ActionNames>,
    uri: Uri,
) -> Result<Json<Vec<JournalLine>>, AdminError> {
    let max = limits::ADMIN_JOURNAL_LINES_MAX;
    let hint = format!(
        "The options are plugin=NAME, operator=NAME, action=NAME, since (2026-01-02T03:04:05Z) and limit=1..{max}."
    );
    let Options { plugin, operator, action, since, limit } = read_options(&uri, &hint)?;
    let limit = limit.unwrap_or(limits::ADMIN_JOURNAL_LINES_DEFAULT);
    if !(1..=max).contains(&limit) {
        return Err(AdminError::invalid(format!("limit must be from 1 to {max}, not {limit}."), hint));
    }
    let since = since.map(|TimestampText(at)| at);
    let filter = SwapFilter { plugin, operator, action, outcome: None, since };
    let entries = host.stores.list_swaps(&filter, limit).await.map_err(AdminError::failed)?;
    if entries.is_empty() {
        filter.action.as_deref().map_or(Ok(()), |action| check_action(action, &actions))?;
        host.check_filter(filter.plugin.as_deref(), None).await?;
    }
    Ok(Json(entries.into_iter().map(journal_line).collect()))
}

/// Checks the name of an action. Only the filter of an empty list is checked, because lines of an older version may
/// have other names. `routes` are the actions of all routes.
fn check_action(action: &str, routes: &[&'static str]) -> Result<(), AdminError> {
    let mut known: Vec<&str> = SwapAction::ALL.into_iter().map(SwapAction::name).collect();
    let others = routes.iter().copied().chain(OFFLINE_ACTIONS);
    known.extend(others.filter(|name| SwapAction::ALL.into_iter().all(|swap| swap.name() != *name)));
    if known.contains(&action) {
        return Ok(());
    }
    let message = format!("The operators' journal has no action \"{action:.80}\".");
    Err(AdminError::invalid(message, format!("Known actions: {}.", known.join(", "))))
}

fn journal_line(row: SwapRow) -> JournalLine {
    JournalLine {
        at: TimestampText(row.at),
        operator: row.operator,
        plugin: row.plugin,
        action: row.action,
        from: row.from_hash,
        to: row.to_hash,
        outcome: row.outcome,
        reasons: row.reasons,
        steps: step_times(row.steps_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_action_is_rejected_with_the_known_actions() {
        let routes = ["deploy", "create-key"];
        for known in ["deploy", "file", "create-key", "restore"] {
            assert_eq!(check_action(known, &routes), Ok(()));
        }
        let error = check_action("deplo", &routes).unwrap_err();
        assert_eq!(error.to_string(), "The operators' journal has no action \"deplo\".");
        let hint = &error.body().hint;
        assert!(
            hint.starts_with("Known actions: start, file, config, deploy, ") && hint.contains(", create-key, "),
            "{hint}"
        );
    }
}
