//! Implements the operator requests with the subsystems of the host. Only types are converted here.
//!
//! `keys`: API keys. `profile`: profiles of plugins. `filters`: names in list filters. `render`: conversions to JSON
//! types.

mod filters;
mod keys;
mod profile;
mod render;

use std::{collections::BTreeSet, sync::Arc};

pub(super) use crate::admin::operations::failed;
use bytes::Bytes;
pub(super) use filters::invalid_tenant;
use render::{deploy_hint, journal_line, outbox_message, plugin_status, swap_report};
pub(super) use render::{environment, environment_status, steps};
use tenon_chains::simulated::Simulated;
use tokio::sync::watch;

use super::{Table, audit, backups::Backups, progress, serving::Configured, stores::Stores};
use crate::clock::Timestamp;
use crate::{
    admin::{
        AdminError, Operations,
        operations::{
            AttemptsQuery, AuditChainsQuery, AuditLinesQuery, BalanceQuery, DeliveriesQuery, Deploy, EndpointsQuery,
            FailedAction, JournalQuery, OutboxQuery, ProfileRequest, TasksQuery, TransactionQuery,
        },
        wire,
    },
    auth::{AuthAdminError, Keys, oauth::OAuth},
    budget::Budget,
    chains::Chains,
    changes::operator_action::OperatorAction,
    clock::Clock,
    commit::committer::Committer,
    db::{Database, disk::DiskGauge, swaps::SwapFilter},
    delivery::QueueViews,
    http::ConnectionCounts,
    http::tls::Tls,
    keyring::Keyring,
    metrics::{CommitterReading, CommitterResets, DatabaseReading, HostReading, Metrics},
    plugin::{
        load::{Loader, SwapError},
        profile::Profiler,
        registry::Registry,
        reload::{AllowedChanges, DeployOptions, Reloader},
    },
    secrets::{self, MasterKeys},
    tasks::Intervention,
};

/// The subsystems that handle operator requests.
pub struct HostOperations {
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

impl Operations for HostOperations {
    async fn plugins(&self) -> Result<Vec<wire::PluginStatus>, AdminError> {
        Ok(self.reloader.status().await.into_iter().map(plugin_status).collect())
    }

    async fn deploy(&self, deploy: Deploy) -> Result<wire::SwapReport, AdminError> {
        self.find_plugin(&deploy.plugin).await?;
        let allowed = AllowedChanges { breaking: deploy.allow_breaking, slow_indexes: deploy.allow_slow_index };
        let options = DeployOptions { actor: deploy.operator, allowed };
        let report = self.reloader.deploy(&deploy.plugin, deploy.component, options).await;
        report.map(swap_report).map_err(|error| {
            let hint = deploy_hint(&error.reasons);
            self.swap_conflict(&deploy.plugin, "was not deployed", error, hint)
        })
    }

    async fn check(&self, plugin: String, component: Bytes) -> Result<wire::CheckReport, AdminError> {
        self.check_component(&plugin, component).await
    }

    async fn rollback(&self, plugin: String, operator: String) -> Result<wire::SwapReport, AdminError> {
        self.find_plugin(&plugin).await?;
        let report = self.reloader.rollback(&plugin, &operator).await;
        report.map(swap_report).map_err(|error| {
            let hint = "List the published versions with `tenon plugin journal`.";
            self.swap_conflict(&plugin, "was not rolled back", error, hint)
        })
    }

    async fn profile(&self, request: ProfileRequest) -> Result<wire::ProfileReport, AdminError> {
        self.profile_plugin(request).await
    }

    async fn journal(&self, query: JournalQuery) -> Result<Vec<wire::JournalLine>, AdminError> {
        let JournalQuery { plugin, operator, action, since, limit } = query;
        let since = since.map(|wire::TimestampText(at)| at);
        let filter = SwapFilter { plugin, operator, action, outcome: None, since };
        let entries = self.stores.list_swaps(&filter, limit).await.map_err(failed)?;
        if entries.is_empty() {
            filter.action.as_deref().map_or(Ok(()), filters::check_action)?;
            self.check_filter(filter.plugin.as_deref(), None).await?;
        }
        Ok(entries.into_iter().map(journal_line).collect())
    }

    async fn create_key(&self, key: wire::NewKey, operator: String) -> Result<wire::CreatedKey, AdminError> {
        self.create_api_key(key, operator).await
    }

    async fn keys(&self) -> Result<Vec<wire::KeyStatus>, AdminError> {
        self.list_keys().await
    }

    async fn revoke_key(&self, id: String, operator: String) -> Result<wire::KeyStatus, AdminError> {
        self.revoke_api_key(&id, &operator).await
    }

    async fn create_client(
        &self,
        client: wire::NewClient,
        operator: String,
    ) -> Result<wire::CreatedClient, AdminError> {
        self.create_oauth_client(client, operator).await
    }

    async fn clients(&self) -> Result<Vec<wire::ClientStatus>, AdminError> {
        Ok(self.list_clients())
    }

    async fn rotate_client(&self, id: String, operator: String) -> Result<wire::CreatedClient, AdminError> {
        self.rotate_client_secret(&id, &operator).await
    }

    async fn revoke_client(&self, id: String, operator: String) -> Result<wire::ClientStatus, AdminError> {
        self.revoke_oauth_client(&id, &operator).await
    }

    async fn rotate_token_keys(&self, operator: String) -> Result<wire::TokenKeysReport, AdminError> {
        self.rotate_keys(&operator).await
    }

    async fn webhook_endpoints(&self, query: EndpointsQuery) -> Result<wire::Page<wire::EndpointStatus>, AdminError> {
        self.search_endpoints(query).await
    }

    async fn webhook_deliveries(&self, query: DeliveriesQuery) -> Result<wire::Page<wire::DeliveryStatus>, AdminError> {
        self.search_deliveries(query).await
    }

    async fn webhook_attempts(&self, query: AttemptsQuery) -> Result<Vec<wire::AttemptStatus>, AdminError> {
        self.list_attempts(query).await
    }

    async fn redeliver(
        &self,
        request: wire::RedeliverRequest,
        operator: String,
    ) -> Result<wire::ResendReport, AdminError> {
        self.redeliver_webhook(request, operator).await
    }

    async fn recover(&self, request: wire::RecoverRequest, operator: String) -> Result<wire::ResendReport, AdminError> {
        self.recover_webhooks(request, operator).await
    }

    async fn tasks(&self, query: TasksQuery) -> Result<wire::Page<wire::TaskStatus>, AdminError> {
        self.list_tasks(query).await
    }

    async fn retry_task(&self, task: wire::TaskSelector, operator: String) -> Result<wire::TaskReport, AdminError> {
        self.intervene_in_task(task, operator, Intervention::Retry).await
    }

    async fn drop_task(&self, task: wire::TaskSelector, operator: String) -> Result<wire::TaskReport, AdminError> {
        self.intervene_in_task(task, operator, Intervention::Drop).await
    }

    async fn outbox(&self, query: OutboxQuery) -> Result<Vec<wire::OutboxMessage>, AdminError> {
        let OutboxQuery { plugin, tenant, limit } = query;
        let rows = self.database.list_outbox(plugin.as_deref(), tenant.as_deref(), limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        Ok(rows.into_iter().map(outbox_message).collect())
    }

    async fn audit_lines(&self, query: AuditLinesQuery) -> Result<wire::Page<wire::AuditLine>, AdminError> {
        let (plugin, tenant, is_first) = (query.plugin.clone(), query.tenant.clone(), query.after.is_none());
        let page = audit::list_lines(&self.database, query).await?;
        // An empty page is not necessarily the last one: each page reads a limited number of lines.
        if is_first && page.entries.is_empty() && page.next.is_none() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        Ok(page)
    }

    async fn audit_chains(&self, query: AuditChainsQuery) -> Result<wire::Page<wire::ChainStatus>, AdminError> {
        audit::verify_chains(&self.database, query).await
    }

    async fn check_ledger(&self) -> Result<wire::LedgerReport, AdminError> {
        let sums = self.stores.ledger_sums().await.map_err(failed)?;
        let sums: Vec<wire::LedgerSum> = sums
            .into_iter()
            .map(|sum| wire::LedgerSum {
                plugin: sum.plugin,
                tenant: sum.tenant,
                asset: sum.asset,
                sum: sum.sum.to_string(),
            })
            .collect();
        Ok(wire::LedgerReport { balanced: sums.iter().all(|sum| sum.sum == "0"), sums })
    }

    async fn rotate_secrets(&self, operator: String) -> Result<wire::RotationReport, AdminError> {
        let rotation =
            secrets::rotate(&self.master_keys, &self.stores).await.map_err(|error| failed(error.to_string()))?;
        // Each secret was resealed in its own transaction. The journal line covers all of them.
        let (resealed, left) = (rotation.sealed_again, rotation.left.len());
        let target = format!("{resealed} secrets sealed again under {}, {left} left", self.master_keys.current_id());
        let action = OperatorAction::done(self.clock.now(), &operator, ("*", "rotate-secrets"), target);
        let recorded = self.stores.record_action(&action).await;
        recorded.map_err(|error| failed(format!("The action was done, but not recorded in the journal: {error}")))?;
        Ok(wire::RotationReport {
            key: self.master_keys.current_id(),
            sealed_again: rotation.sealed_again,
            current: rotation.current,
            left: rotation.left,
        })
    }

    async fn start_backup(&self, request: wire::NewBackup, operator: String) -> Result<wire::BackupStatus, AdminError> {
        self.backups.start(request.folder.into(), operator).await
    }

    async fn backup(&self) -> Result<wire::BackupStatus, AdminError> {
        self.backups.status()
    }

    async fn seeds(&self) -> Result<Vec<wire::SeedOwner>, AdminError> {
        self.list_seeds().await
    }

    async fn export_seed(&self, owner: wire::SeedOwner, operator: String) -> Result<wire::SeedCopy, AdminError> {
        self.export_tenant_seed(owner, operator).await
    }

    async fn import_seed(&self, copy: wire::SeedCopy, operator: String) -> Result<wire::SeedReport, AdminError> {
        self.import_tenant_seed(copy, operator).await
    }

    async fn networks(&self) -> Result<Vec<wire::NetworkStatus>, AdminError> {
        self.list_networks().await
    }

    async fn network_balance(&self, query: BalanceQuery) -> Result<wire::BalanceReport, AdminError> {
        self.find_balances(query).await
    }

    async fn network_transaction(&self, query: TransactionQuery) -> Result<wire::TransactionStatus, AdminError> {
        self.find_network_transaction(query).await
    }

    async fn control_network(
        &self,
        request: wire::NetworkControl,
        operator: String,
    ) -> Result<wire::ControlReport, AdminError> {
        self.control_simulated(request, operator).await
    }

    async fn record_failed_action(&self, failed: FailedAction) {
        let FailedAction { action, operator, outcome, reason } = failed;
        let line =
            OperatorAction { outcome, ..OperatorAction::done(self.clock.now(), &operator, ("*", action), reason) };
        if let Err(error) = self.stores.record_action(&line).await {
            tracing::warn!(action, operator, "failed to write a line of the operators' journal: {error}");
        }
    }

    async fn readiness(&self) -> wire::Readiness {
        let mut reasons = Vec::new();
        if *self.stopped.borrow() {
            reasons.push("the host is stopping".to_owned());
        }
        reasons.extend(storage_reasons(&self.committer, &self.database, &self.disk));
        if self.reloader.has_ended() {
            reasons.push("the task that swaps plugins has ended".to_owned());
        }
        reasons.extend(progress::reasons(&self.reloader.status().await, &self.loader.progress().current()));
        wire::Readiness { ready: reasons.is_empty(), reasons }
    }

    fn metrics(&self) -> Result<String, AdminError> {
        let stats = self.committer.stats();
        let committer = CommitterReading {
            batches: stats.batches,
            changes: stats.changes,
            conflicts: stats.conflicts,
            reservations: stats.reservations,
            resets: CommitterResets {
                foreign_writes: stats.resets.foreign_writes,
                storage_failures: stats.resets.storage_failures,
                swaps: stats.resets.swaps,
            },
            queue: stats.queued,
            overlay_bytes: stats.overlay_bytes,
            overlay_pinned_bytes: stats.overlay_pinned_bytes,
        };
        self.metrics.memory().set(&self.budget.readings(), self.connections.reading());
        let (file_bytes, log_bytes) = self.database.file_bytes();
        let free_disk_bytes = self.database.free_disk_bytes().unwrap_or_default();
        let database = DatabaseReading { file_bytes, log_bytes, free_disk_bytes };
        let certificate_expires_at = self.tls.as_ref().and_then(|tls| tls.expires_at());
        let reading = HostReading { committer, database, started_at: self.started_at, certificate_expires_at };
        self.metrics.render(reading).map_err(|error| failed(error.to_string()))
    }
}

/// Returns the reasons why writing requests get 503, for `/readyz` and the banner.
pub(super) fn storage_reasons(committer: &Committer, database: &Database, disk: &DiskGauge) -> Vec<String> {
    let closed = committer.closed().map(|reason| format!("the database cannot be written: {reason}"));
    let low = "the disk is nearly full: writing requests get 503";
    let low = disk.is_low().then(|| low.to_owned());
    closed.into_iter().chain(database.health().storage_failure()).chain(low).collect()
}

impl HostOperations {
    pub(super) async fn find_plugin(&self, name: &str) -> Result<(), AdminError> {
        let known: Vec<Arc<str>> = self.reloader.status().await.into_iter().map(|plugin| plugin.name).collect();
        if known.iter().any(|plugin| **plugin == *name) {
            return Ok(());
        }
        let hint = if known.is_empty() {
            "plugins.toml has no plugins.".to_owned()
        } else {
            format!("Known plugins: {}.", known.join(", "))
        };
        Err(AdminError::NotFound { message: format!("There is no plugin \"{name}\"."), hint })
    }

    /// Checks that a route requires each scope. An unknown scope grants nothing, and is usually misspelled.
    /// `override_hint` says how to accept it anyway, if possible.
    pub(super) fn check_scopes(&self, plugin: &str, scopes: &[String], override_hint: &str) -> Result<(), AdminError> {
        let table = self.registry.current();
        let served = table.mounted().iter().filter(|mounted| plugin == "*" || *mounted.plugin == *plugin);
        let routes = served.flat_map(|mounted| &mounted.manifest.routes);
        let known: BTreeSet<&str> = routes.flat_map(|route| &route.scopes).map(String::as_str).collect();
        let Some(unknown) = scopes.iter().find(|scope| !known.contains(scope.as_str())) else { return Ok(()) };
        let known = match known.is_empty() {
            true => "No served route requires a scope.".to_owned(),
            false => format!("Known scopes: {}.", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Err(AdminError::Invalid {
            message: format!("No served route of {plugin} requires the scope \"{unknown}\"."),
            hint: known + override_hint,
        })
    }

    fn swap_conflict(&self, plugin: &str, result: &str, error: SwapError, hint: &str) -> AdminError {
        let table = self.registry.current();
        let serving = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin);
        let state = serving.map_or("no version serves".to_owned(), |mounted| {
            format!("version {} continues to serve", mounted.manifest.version)
        });
        let message = format!("{plugin} {result}; {state}.");
        AdminError::Conflict { message, reasons: error.reasons, hint: hint.to_owned() }
    }
}

pub(super) fn invalid(error: AuthAdminError, hint: &str) -> AdminError {
    match error {
        AuthAdminError::Store(error) => failed(error.to_string()),
        AuthAdminError::Secret(_) => failed(error.to_string()),
        error => AdminError::Invalid { message: error.to_string(), hint: hint.to_owned() },
    }
}
