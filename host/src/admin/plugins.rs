//! Handlers of plugins: status, deploys, checks, rollbacks, profiles, and the operators' journal.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    error::HttpError,
    inputs::{Component, Name, read_options},
    operations::{Deploy, JournalQuery, Operations, ProfileRequest},
    wire::{CheckReport, JournalLine, PluginStatus, ProfileReport, SwapReport, TimestampText},
};
use crate::limits;

/// Header with the operator's name, set by the operator's program.
pub const OPERATOR_HEADER: &str = "x-tenon-operator";

type JsonResult<T> = Result<Json<T>, HttpError>;

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> JsonResult<Vec<PluginStatus>> {
    Ok(Json(operations.plugins().await?))
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeployOptions {
    #[serde(default)]
    allow_breaking: bool,
    #[serde(default)]
    allow_slow_index: bool,
}

pub async fn deploy<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(plugin): Name,
    uri: Uri,
    headers: HeaderMap,
    component: Result<Component, HttpError>,
) -> JsonResult<SwapReport> {
    let hint = "The options are allow-breaking and allow-slow-index, true or false.";
    let options: DeployOptions = read_options(&uri, hint)?;
    let Component(component) = component?;
    let DeployOptions { allow_breaking, allow_slow_index } = options;
    let deploy = Deploy { plugin, component, allow_breaking, allow_slow_index, operator: operator(&headers) };
    Ok(Json(operations.deploy(deploy).await?))
}

pub async fn check<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(plugin): Name,
    component: Result<Component, HttpError>,
) -> JsonResult<CheckReport> {
    let Component(component) = component?;
    Ok(Json(operations.check(plugin, component).await?))
}

pub async fn rollback<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(plugin): Name,
    headers: HeaderMap,
) -> JsonResult<SwapReport> {
    Ok(Json(operations.rollback(plugin, operator(&headers)).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileOptions {
    seconds: Option<u64>,
}

/// Responds when the profile has ended. If the client disconnects, the profile ends.
pub async fn profile<O: Operations>(
    State(operations): State<Arc<O>>,
    Name(plugin): Name,
    uri: Uri,
    headers: HeaderMap,
) -> JsonResult<ProfileReport> {
    let max = limits::PROFILE_SECONDS_MAX;
    let hint = format!("The option is seconds=1..{max}.");
    let options: ProfileOptions = read_options(&uri, &hint)?;
    let seconds = options.seconds.unwrap_or(limits::PROFILE_SECONDS_DEFAULT);
    if !(1..=max).contains(&seconds) {
        return Err(HttpError::invalid(format!("seconds must be from 1 to {max}, not {seconds}."), hint));
    }
    Ok(Json(operations.profile(ProfileRequest { plugin, seconds, operator: operator(&headers) }).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalOptions {
    plugin: Option<String>,
    operator: Option<String>,
    action: Option<String>,
    since: Option<TimestampText>,
    limit: Option<usize>,
}

pub async fn journal<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Vec<JournalLine>> {
    let max = limits::ADMIN_JOURNAL_LINES_MAX;
    let hint = format!(
        "The options are plugin=NAME, operator=NAME, action=NAME, since (2026-01-02T03:04:05Z) and limit=1..{max}."
    );
    let options: JournalOptions = read_options(&uri, &hint)?;
    let limit = options.limit.unwrap_or(limits::ADMIN_JOURNAL_LINES_DEFAULT);
    if !(1..=max).contains(&limit) {
        return Err(HttpError::invalid(format!("limit must be from 1 to {max}, not {limit}."), hint));
    }
    let JournalOptions { plugin, operator, action, since, .. } = options;
    Ok(Json(operations.journal(JournalQuery { plugin, operator, action, since, limit }).await?))
}

/// Returns the operator's name from the header, reduced to characters that are safe in logs and on terminals.
pub(super) fn operator(headers: &HeaderMap) -> String {
    let value = headers.get(OPERATOR_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let safe = value.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.@+".contains(*c));
    let name: String = safe.take(limits::OPERATOR_NAME_CHARS_MAX).collect();
    if name.is_empty() { "operator".to_owned() } else { name }
}
