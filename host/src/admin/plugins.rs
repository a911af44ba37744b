//! Plugins: status, deploys, checks, rollbacks, and stored versions.

mod status;

use std::sync::Arc;

use axum::{
    Json,
    extract::{DefaultBodyLimit, State},
    routing::{post, put},
};
use http::Uri;
use serde::Deserialize;

pub use self::status::{check_report, step_times};
use self::status::{plugin_status, swap_report, version_line};
use super::{
    AdminError, Services,
    inputs::{Component, Name, Operator, read_options},
    routes::Routes,
    wire::{CheckReport, PluginStatus, StoredVersion, SwapReport},
};
use crate::{
    limits::{ADMIN_COMPONENT_BYTES_MAX, SWAP_HISTORY_MAX},
    plugin::{
        grants,
        load::SwapError,
        reload::{
            AllowedChanges, DataMigrator, DeployOptions, check,
            journal::{self, SwapAction, SwapJournal},
        },
    },
};

type JsonResult<T> = Result<Json<T>, AdminError>;

pub fn routes() -> Routes {
    let body_limit = DefaultBodyLimit::max(ADMIN_COMPONENT_BYTES_MAX);
    Routes::default()
        .read("/v1/plugins", list)
        .read("/v1/plugins/{plugin}/versions", versions)
        .read_with_body("/v1/plugins/{plugin}/check", post(check_component).layer(body_limit))
        .action(SwapAction::Deploy.name(), "/v1/plugins/{plugin}/component", put(deploy).layer(body_limit))
        .action(SwapAction::Rollback.name(), "/v1/plugins/{plugin}/rollback", post(rollback))
}

async fn list(State(host): State<Arc<Services>>) -> JsonResult<Vec<PluginStatus>> {
    Ok(Json(host.reloader.status().await.into_iter().map(plugin_status).collect()))
}

/// Lists the components of a plugin that a rollback can publish, and the one that serves, newest first.
async fn versions(State(host): State<Arc<Services>>, Name(plugin): Name) -> JsonResult<Vec<StoredVersion>> {
    host.find_plugin(&plugin).await?;
    let published = host.stores.find_published(&plugin, SWAP_HISTORY_MAX).await.map_err(AdminError::failed)?;
    let versions = journal::versions(&published);
    let loader = host.loader.clone();
    // Reads each component, to compare its hash.
    let stored = tokio::task::spawn_blocking(move || {
        let stored = versions.into_iter().filter(|version| loader.components().has(&version.hash));
        stored.map(version_line).collect()
    });
    Ok(Json(stored.await.map_err(AdminError::failed)?))
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct DeployFlags {
    #[serde(default)]
    allow_breaking: bool,
    #[serde(default)]
    allow_slow_index: bool,
}

async fn deploy(
    State(host): State<Arc<Services>>,
    Name(plugin): Name,
    uri: Uri,
    operator: Operator,
    component: Result<Component, AdminError>,
) -> JsonResult<SwapReport> {
    let hint = "The options are allow-breaking and allow-slow-index, true or false.";
    let DeployFlags { allow_breaking, allow_slow_index } = read_options(&uri, hint)?;
    let Component(component) = component?;
    host.find_plugin(&plugin).await?;
    let allowed = AllowedChanges { breaking: allow_breaking, slow_indexes: allow_slow_index };
    let options = DeployOptions { actor: operator.name, allowed };
    let report = host.reloader.deploy(&plugin, component, options).await;
    let report = report.map_err(|error| {
        let hint = deploy_hint(&error.reasons);
        swap_conflict(&host, &plugin, "was not deployed", error, hint)
    })?;
    Ok(Json(swap_report(report)))
}

/// Runs all steps of a deploy before *publish*, against the serving version and the data of this host. Only the cache
/// of compiled code changes.
async fn check_component(
    State(host): State<Arc<Services>>,
    Name(plugin): Name,
    component: Result<Component, AdminError>,
) -> JsonResult<CheckReport> {
    let Component(component) = component?;
    host.find_plugin(&plugin).await?;
    let section = host.configured.load().get(&*plugin).cloned();
    let section =
        section.ok_or_else(|| AdminError::failed(format!("plugins.toml no longer has [plugins.{plugin}]")))?;
    let table = host.registry.current();
    let serving = table.mounted().iter().find(|mounted| *mounted.plugin == *plugin);
    let baseline = check::CheckBaseline {
        plugin: (*plugin).into(),
        config: Arc::new(section),
        serving: serving.map(|mounted| mounted.manifest.clone()),
        data: Some(&host.stores as &dyn DataMigrator),
        allowed: AllowedChanges::COMPATIBLE,
    };
    drop(table);
    Ok(Json(check_report(check::check(&host.loader, component, baseline).await)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollbackOptions {
    to: Option<String>,
}

/// Publishes the version that served before, or the stored component whose hash begins with `to`.
async fn rollback(
    State(host): State<Arc<Services>>,
    Name(plugin): Name,
    uri: Uri,
    operator: Operator,
) -> JsonResult<SwapReport> {
    let hint = "The option is to=HASH: a hash of `tenon plugin versions`, or at least its first 4 characters.";
    let RollbackOptions { to } = read_options(&uri, hint)?;
    if to.as_deref().is_some_and(|to| to.len() < 4 || !to.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(AdminError::invalid("to must be a hash of a component in hexadecimal digits.", hint));
    }
    host.find_plugin(&plugin).await?;
    let to = to.map(|to| to.to_ascii_lowercase());
    let report = host.reloader.rollback(&plugin, &operator.name, to).await;
    let report = report.map_err(|error| {
        let hint = format!("List the stored versions with `tenon plugin versions {plugin}`.");
        swap_conflict(&host, &plugin, "was not rolled back", error, &hint)
    })?;
    Ok(Json(swap_report(report)))
}

fn swap_conflict(host: &Services, plugin: &str, result: &str, error: SwapError, hint: &str) -> AdminError {
    let table = host.registry.current();
    let serving = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin);
    let state = serving.map_or("no version serves".to_owned(), |mounted| {
        format!("version {} continues to serve", mounted.manifest.version)
    });
    AdminError::conflict(format!("{plugin} {result}; {state}."), error.reasons, hint)
}

/// Returns the hint for a failed deploy. A component with ungranted imports may belong to another plugin: its manifest
/// is not read, so its name is unknown.
fn deploy_hint(reasons: &[String]) -> &'static str {
    if reasons.iter().any(|reason| grants::is_ungranted(reason)) {
        return "If the component belongs to another plugin, set --plugin. `tenon plugin check` reports the same without publishing.";
    }
    "`tenon plugin check` reports the same without publishing."
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
