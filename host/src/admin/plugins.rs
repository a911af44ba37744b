//! Plugins: status, routes, deploys, checks, rollbacks, and stored versions.

mod status;

use std::sync::Arc;

use axum::{
    Json,
    extract::{DefaultBodyLimit, State},
    routing::{post, put},
};
use http::Uri;
use serde::Deserialize;
use tokio::sync::Semaphore;

pub use self::status::{check_report, step_times};
use self::status::{plugin_status, route_status, stored_version, swap_report};
use super::{
    AdminError, Services,
    inputs::{Component, Name, Operator, read_options},
    routes::Routes,
    wire::{CheckReport, PluginStatus, RouteStatus, StoredVersion, SwapReport},
};
use crate::{
    limits::{ADMIN_COMPONENT_BYTES_MAX, HASH_CHARS, HASH_PREFIX_CHARS_MIN, SWAP_HISTORY_MAX},
    plugin::{
        grants,
        load::SwapError,
        reload::{
            AllowedChanges, DataMigrator, DeployOptions, check,
            journal::{self, PublishedVersion, SwapAction, SwapJournal},
        },
    },
};

type JsonResult<T> = Result<Json<T>, AdminError>;

/// Held while the stored components of a plugin are read, to compare their hashes.
static HASHING: Semaphore = Semaphore::const_new(1);

pub fn routes() -> Routes {
    let body_limit = DefaultBodyLimit::max(ADMIN_COMPONENT_BYTES_MAX);
    Routes::default()
        .read("/v1/plugins", list)
        .read("/v1/plugins/{plugin}/routes", list_routes)
        .read("/v1/plugins/{plugin}/versions", versions)
        .read_by_post("/v1/plugins/{plugin}/check", check_component, ADMIN_COMPONENT_BYTES_MAX)
        .action_with_options(SwapAction::Deploy.name(), "/v1/plugins/{plugin}/component", put(deploy).layer(body_limit))
        .action_with_options(SwapAction::Rollback.name(), "/v1/plugins/{plugin}/rollback", post(rollback))
}

async fn list(State(host): State<Arc<Services>>) -> JsonResult<Vec<PluginStatus>> {
    Ok(Json(host.reloader.status().await.into_iter().map(plugin_status).collect()))
}

/// Lists the routes of the serving version of a plugin, in the order of its manifest.
async fn list_routes(State(host): State<Arc<Services>>, Name(plugin): Name) -> JsonResult<Vec<RouteStatus>> {
    host.find_plugin(&plugin).await?;
    let table = host.registry.current();
    let serving = table.find_plugin(&plugin);
    let serving = serving.ok_or_else(|| {
        let hint = "See the reasons in `tenon plugin list`.";
        AdminError::conflict(format!("{plugin} has no routes: no version of it serves."), Vec::new(), hint)
    })?;
    let routes = serving.manifest.routes.iter();
    Ok(Json(routes.map(|route| route_status(route, &serving.config)).collect()))
}

/// Lists the components of a plugin that a rollback can publish, and the component that serves, newest first.
async fn versions(State(host): State<Arc<Services>>, Name(plugin): Name) -> JsonResult<Vec<StoredVersion>> {
    host.find_plugin(&plugin).await?;
    let status = host.reloader.status().await.into_iter().find(|status| *status.name == *plugin);
    let serving = status.and_then(|status| status.serving).map(|serving| serving.version.hash);
    let versions = stored_versions(&host, &plugin).await?.into_iter();
    Ok(Json(versions.map(|version| stored_version(version, serving.as_deref())).collect()))
}

/// Returns the published components of a plugin whose bytes are stored, newest first.
async fn stored_versions(host: &Services, plugin: &str) -> Result<Vec<PublishedVersion>, AdminError> {
    let published = host.stores.find_published(plugin, SWAP_HISTORY_MAX).await.map_err(AdminError::failed)?;
    let mut versions = journal::versions(&published);
    let loader = host.loader.clone();
    let _permit = HASHING.acquire().await.map_err(AdminError::failed)?;
    let stored = tokio::task::spawn_blocking(move || {
        versions.retain(|version| loader.components().has(&version.hash));
        versions
    });
    stored.await.map_err(AdminError::failed)
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

/// Runs the steps of a deploy up to *compare*, against the serving version and the data of this host. Only the cache of
/// compiled code changes.
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
    let serving = table.find_plugin(&plugin);
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
    let hint = "The option is to, the beginning of a hash of `tenon plugin versions`.";
    let RollbackOptions { to } = read_options(&uri, hint)?;
    host.find_plugin(&plugin).await?;
    let to = match to {
        Some(to) => Some(find_stored(&stored_versions(&host, &plugin).await?, &plugin, &to)?),
        None => None,
    };
    let report = host.reloader.rollback(&plugin, &operator.name, to).await;
    let report =
        report.map_err(|error| swap_conflict(&host, &plugin, "was not rolled back", error, &versions_hint(&plugin)))?;
    Ok(Json(swap_report(report)))
}

/// Returns the hash of the only component whose hash begins with `prefix`.
fn find_stored(stored: &[PublishedVersion], plugin: &str, prefix: &str) -> Result<Arc<str>, AdminError> {
    let hint = versions_hint(plugin);
    let (min, max) = (HASH_PREFIX_CHARS_MIN, HASH_CHARS);
    if !(min..=max).contains(&prefix.len()) || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(AdminError::invalid(format!("to must be {min} to {max} hexadecimal digits."), hint));
    }
    let prefix = prefix.to_ascii_lowercase();
    let mut found = stored.iter().filter(|version| version.hash.starts_with(&prefix));
    match (found.next(), found.next()) {
        (Some(version), None) => Ok(version.hash.clone()),
        (None, _) => {
            let message = format!("No stored component of {plugin} has a hash that begins with {prefix}.");
            Err(AdminError::not_found(message, hint))
        }
        (Some(_), Some(_)) => {
            let message = format!("Several stored components of {plugin} have a hash that begins with {prefix}.");
            Err(AdminError::invalid(message, "Send more characters of the hash."))
        }
    }
}

fn versions_hint(plugin: &str) -> String {
    format!("List the stored versions with `tenon plugin versions {plugin}`.")
}

fn swap_conflict(host: &Services, plugin: &str, result: &str, error: SwapError, hint: &str) -> AdminError {
    let table = host.registry.current();
    let serving = table.find_plugin(plugin);
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

    fn stored(hash: &str) -> PublishedVersion {
        PublishedVersion { hash: hash.into(), version: None, published: None, ended: None }
    }

    #[test]
    fn beginning_of_a_hash_selects_the_only_stored_component() {
        let stored = [stored("abcd1"), stored("abcd2"), stored("ef012")];
        assert_eq!(find_stored(&stored, "notes", "EF01").as_deref(), Ok("ef012"));
        let errors = ["abcd", "0000", "abc", "xyz1", "", &"a".repeat(65)]
            .map(|prefix| find_stored(&stored, "notes", prefix).unwrap_err().to_string());
        let malformed = "to must be 4 to 64 hexadecimal digits.";
        let expected = [
            "Several stored components of notes have a hash that begins with abcd.",
            "No stored component of notes has a hash that begins with 0000.",
            malformed,
            malformed,
            malformed,
            malformed,
        ];
        assert_eq!(errors, expected);
    }
}
