//! The subsystems that operator requests use, and the checks of names that several topics share.

use std::{collections::BTreeSet, sync::Arc};

use tenon_chains::simulated::Simulated;
use tokio::sync::watch;

use super::{AdminError, actions::RunningActions, backup_task::Backups};
use crate::{
    auth::{AuthAdminError, Keys, oauth::OAuth},
    budget::Budget,
    chains::Chains,
    changes::operator_action::OperatorAction,
    clock::{Clock, Timestamp},
    commit::committer::Committer,
    config::is_tenant,
    db::{Database, disk::DiskGauge},
    delivery::QueueViews,
    http::{ConnectionCounts, tls::Tls},
    keyring::Keyring,
    metrics::Metrics,
    plugin::{
        load::Loader,
        profile::Profiler,
        registry::{Configured, Registry, Table},
        reload::Reloader,
    },
    secrets::MasterKeys,
    stores::Stores,
};

/// The subsystems of a running host, for the handlers.
pub struct Services {
    pub reloader: Reloader,
    pub loader: Arc<Loader>,
    pub profiler: Profiler,
    pub configured: Configured,
    pub registry: Arc<Registry<Table>>,
    pub keys: Arc<Keys>,
    pub oauth: Arc<OAuth>,
    pub stores: Stores,
    pub database: Database,
    pub views: QueueViews,
    pub backups: Backups,
    pub actions: RunningActions,
    pub metrics: Metrics,
    pub budget: Arc<Budget>,
    pub connections: Arc<ConnectionCounts>,
    pub committer: Committer,
    pub master_keys: Arc<MasterKeys>,
    pub keyring: Arc<Keyring>,
    pub chains: Chains,
    pub simulated: Option<Arc<Simulated>>,
    pub disk: DiskGauge,
    pub tls: Option<Arc<Tls>>,
    /// Start time of the host.
    pub started_at: Timestamp,
    pub clock: Clock,
    pub stopped: watch::Receiver<bool>,
}

impl Services {
    /// Checks that plugins.toml has a plugin of this name.
    pub async fn find_plugin(&self, name: &str) -> Result<(), AdminError> {
        let known: Vec<Arc<str>> = self.reloader.status().await.into_iter().map(|plugin| plugin.name).collect();
        if known.iter().any(|plugin| **plugin == *name) {
            return Ok(());
        }
        let hint = if known.is_empty() {
            "plugins.toml has no plugins.".to_owned()
        } else {
            format!("Known plugins: {}.", known.join(", "))
        };
        Err(AdminError::not_found(format!("There is no plugin \"{name}\"."), hint))
    }

    /// Records an action that was done outside of a transaction of the database.
    pub async fn record_done(&self, action: &OperatorAction) -> Result<(), AdminError> {
        let recorded = self.stores.record_action(action).await;
        recorded.map_err(|error| {
            AdminError::failed(format!("The action was done, but not recorded in the journal: {error}"))
        })
    }

    /// Checks the filter of a list that has no entries. A filter with an unknown name is usually misspelled. Only the
    /// filters of empty lists are checked, so that entries of removed plugins can be listed.
    pub async fn check_filter(&self, plugin: Option<&str>, tenant: Option<&str>) -> Result<(), AdminError> {
        if let Some(plugin) = plugin {
            self.find_plugin(plugin).await?;
        }
        match tenant {
            Some(tenant) if !is_tenant(tenant) => Err(invalid_tenant(tenant)),
            _ => Ok(()),
        }
    }

    /// Checks that a route requires each scope. An unknown scope grants nothing, and is usually misspelled.
    /// `override_hint` states how to accept it anyway, if possible.
    pub fn check_scopes(&self, plugin: &str, scopes: &[String], override_hint: &str) -> Result<(), AdminError> {
        let table = self.registry.current();
        let served = table.mounted().iter().filter(|mounted| plugin == "*" || *mounted.plugin == *plugin);
        let routes = served.flat_map(|mounted| &mounted.manifest.routes);
        let known: BTreeSet<&str> = routes.flat_map(|route| &route.scopes).map(String::as_str).collect();
        let Some(unknown) = scopes.iter().find(|scope| !known.contains(scope.as_str())) else { return Ok(()) };
        let known = match known.is_empty() {
            true => "No served route requires a scope.".to_owned(),
            false => format!("Known scopes: {}.", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("No served route of {plugin} requires the scope \"{unknown}\".");
        Err(AdminError::invalid(message, known + override_hint))
    }
}

/// Returns the error for a tenant that is not written as organization and environment.
pub fn invalid_tenant(tenant: &str) -> AdminError {
    let hint = "Write organization and environment: acme/test or acme/live.";
    AdminError::invalid(format!("\"{tenant:.80}\" is not a valid tenant."), hint)
}

/// Returns the error for a page position that is not the `next` of a page.
pub fn invalid_position(text: &str) -> AdminError {
    let message = format!("\"{text:.40}\" is not a position in this list.");
    AdminError::invalid(message, "Send the `next` of the previous page unchanged.")
}

/// Converts an error of a request that creates a key, or that creates or changes an OAuth client.
pub fn auth_error(error: AuthAdminError, hint: &str) -> AdminError {
    match error {
        AuthAdminError::Store(_) | AuthAdminError::Secret(_) => AdminError::failed(error),
        error => AdminError::invalid(error.to_string(), hint),
    }
}
