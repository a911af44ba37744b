//! The requests of operators, connected to the rooms that serve them. Only the form of values changes here.
//!
//! `keys`: API keys. `profile`: profiles of plugins. `filters`: names in the filters of lists. `render`: values of the host in the form of the operators'
//! interface.

mod filters;
mod keys;
mod profile;
mod render;

use std::{collections::BTreeSet, sync::Arc};

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
        Operations, Refusal,
        operations::{
            AttemptsQuestion, BalanceQuestion, ChainsQuestion, DeliveriesQuestion, Deploy, EndpointsQuestion,
            JournalQuestion, LinesQuestion, OutboxQuestion, ProfileRequest, RefusedAction, TasksQuestion,
            TransactionQuestion,
        },
        wire,
    },
    auth::{AuthError, Keys, oauth::OAuth},
    budget::Budget,
    chains::Chains,
    changes::operator_action::OperatorAction,
    clock::Clock,
    commit::committer::Committer,
    db::{Database, disk::DiskGauge, swaps::SwapFilter},
    delivery::Views,
    http::ConnectionCounts,
    http::tls::Tls,
    keyring::Keyring,
    metrics::{CommitterReading, CommitterResets, DatabaseReading, HostReading, Metrics},
    plugin::{
        load::{Loader, SwapRefusal},
        profile::Profiler,
        registry::Registry,
        reload::{DeployOptions, Passing, Reloader},
    },
    secrets::{self, MasterKeys},
    tasks::Intervention,
};

/// The real rooms behind the operators' listener.
pub struct Connected {
    pub reloader: Reloader,
    pub loader: Arc<Loader>,
    pub profiler: Profiler,
    pub configured: Configured,
    pub registry: Arc<Registry<Table>>,
    pub keys: Arc<Keys>,
    pub oauth: Arc<OAuth>,
    pub stores: Stores,
    pub database: Database,
    pub views: Views,
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
    /// When the host began.
    pub started_at: Timestamp,
    pub clock: Clock,
    pub stopped: watch::Receiver<bool>,
}

impl Operations for Connected {
    async fn plugins(&self) -> Result<Vec<wire::PluginStatus>, Refusal> {
        Ok(self.reloader.status().await.into_iter().map(plugin_status).collect())
    }

    async fn deploy(&self, deploy: Deploy) -> Result<wire::SwapReport, Refusal> {
        self.find_plugin(&deploy.plugin).await?;
        let passing = Passing { breaking: deploy.allow_breaking, slow_indexes: deploy.allow_slow_index };
        let options = DeployOptions { who: deploy.who, passing };
        let report = self.reloader.deploy(&deploy.plugin, deploy.component, options).await;
        report.map(swap_report).map_err(|refusal| {
            let hint = deploy_hint(&refusal.reasons);
            self.refused(&deploy.plugin, "was not deployed", refusal, hint)
        })
    }

    async fn check(&self, plugin: String, component: Bytes) -> Result<wire::CheckReport, Refusal> {
        self.check_component(&plugin, component).await
    }

    async fn rollback(&self, plugin: String, who: String) -> Result<wire::SwapReport, Refusal> {
        self.find_plugin(&plugin).await?;
        let report = self.reloader.rollback(&plugin, &who).await;
        report.map(swap_report).map_err(|refusal| {
            self.refused(&plugin, "was not rolled back", refusal, "`tenon plugin journal` shows what was published.")
        })
    }

    async fn profile(&self, request: ProfileRequest) -> Result<wire::ProfileReport, Refusal> {
        self.profile_plugin(request).await
    }

    async fn journal(&self, question: JournalQuestion) -> Result<Vec<wire::JournalLine>, Refusal> {
        let JournalQuestion { plugin, operator, action, since, limit } = question;
        let since = since.map(|wire::Moment(at)| at);
        let filter = SwapFilter { plugin, operator, action, outcome: None, since };
        let entries = self.stores.list_swaps(&filter, limit).await.map_err(failed)?;
        if entries.is_empty() {
            filter.action.as_deref().map_or(Ok(()), filters::check_action)?;
            self.check_filter(filter.plugin.as_deref(), None).await?;
        }
        Ok(entries.into_iter().map(journal_line).collect())
    }

    async fn create_key(&self, key: wire::NewKey, who: String) -> Result<wire::CreatedKey, Refusal> {
        self.issue_key(key, who).await
    }

    async fn keys(&self) -> Result<Vec<wire::KeyStatus>, Refusal> {
        self.list_keys().await
    }

    async fn revoke_key(&self, id: String, who: String) -> Result<wire::KeyStatus, Refusal> {
        self.end_key(&id, &who).await
    }

    async fn create_client(&self, client: wire::NewClient, who: String) -> Result<wire::CreatedClient, Refusal> {
        self.make_client(client, who).await
    }

    async fn clients(&self) -> Result<Vec<wire::ClientStatus>, Refusal> {
        Ok(self.list_clients())
    }

    async fn rotate_client(&self, id: String, who: String) -> Result<wire::CreatedClient, Refusal> {
        self.give_new_secret(&id, &who).await
    }

    async fn revoke_client(&self, id: String, who: String) -> Result<wire::ClientStatus, Refusal> {
        self.end_client(&id, &who).await
    }

    async fn rotate_token_keys(&self, who: String) -> Result<wire::TokenKeysReport, Refusal> {
        self.change_token_keys(&who).await
    }

    async fn webhook_endpoints(
        &self,
        question: EndpointsQuestion,
    ) -> Result<wire::Page<wire::EndpointStatus>, Refusal> {
        self.survey_endpoints(question).await
    }

    async fn webhook_deliveries(
        &self,
        question: DeliveriesQuestion,
    ) -> Result<wire::Page<wire::DeliveryStatus>, Refusal> {
        self.survey_deliveries(question).await
    }

    async fn webhook_attempts(&self, question: AttemptsQuestion) -> Result<Vec<wire::AttemptStatus>, Refusal> {
        self.survey_attempts(question).await
    }

    async fn redeliver(&self, wish: wire::Redeliver, who: String) -> Result<wire::ResendReport, Refusal> {
        self.redeliver_webhook(wish, who).await
    }

    async fn recover(&self, wish: wire::Recover, who: String) -> Result<wire::ResendReport, Refusal> {
        self.recover_webhooks(wish, who).await
    }

    async fn tasks(&self, question: TasksQuestion) -> Result<wire::Page<wire::TaskStatus>, Refusal> {
        self.survey_tasks(question).await
    }

    async fn retry_task(&self, name: wire::TaskName, who: String) -> Result<wire::TaskReport, Refusal> {
        self.intervene_in_task(name, who, Intervention::Retry).await
    }

    async fn drop_task(&self, name: wire::TaskName, who: String) -> Result<wire::TaskReport, Refusal> {
        self.intervene_in_task(name, who, Intervention::Drop).await
    }

    async fn outbox(&self, question: OutboxQuestion) -> Result<Vec<wire::OutboxMessage>, Refusal> {
        let OutboxQuestion { plugin, tenant, limit } = question;
        let rows = self.database.list_outbox(plugin.as_deref(), tenant.as_deref(), limit).await;
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        if rows.is_empty() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        Ok(rows.into_iter().map(outbox_message).collect())
    }

    async fn audit_lines(&self, question: LinesQuestion) -> Result<wire::Page<wire::AuditLine>, Refusal> {
        let (plugin, tenant, is_first) = (question.plugin.clone(), question.tenant.clone(), question.after.is_none());
        let page = audit::list_lines(&self.database, question).await?;
        // An empty page may have a next one: each reads a limited number of lines.
        if is_first && page.entries.is_empty() && page.next.is_none() {
            self.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
        }
        Ok(page)
    }

    async fn audit_chains(&self, question: ChainsQuestion) -> Result<wire::Page<wire::ChainStatus>, Refusal> {
        audit::follow_chains(&self.database, question).await
    }

    async fn check_ledger(&self) -> Result<wire::LedgerReport, Refusal> {
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

    async fn rotate_secrets(&self, who: String) -> Result<wire::RotationReport, Refusal> {
        let rotation =
            secrets::rotate(&self.master_keys, &self.stores).await.map_err(|error| failed(error.to_string()))?;
        // Each secret was sealed again in a transaction of its own; the line is about all of them.
        let (sealed, left) = (rotation.sealed_again, rotation.left.len());
        let target = format!("{sealed} secrets sealed again under {}, {left} left", self.master_keys.current_id());
        let action = OperatorAction::done(self.clock.now(), &who, ("*", "rotate-secrets"), target);
        let noted = self.stores.note_action(&action).await;
        noted.map_err(|error| failed(format!("It was done, but could not be noted in the journal: {error}")))?;
        Ok(wire::RotationReport {
            key: self.master_keys.current_id(),
            sealed_again: rotation.sealed_again,
            current: rotation.current,
            left: rotation.left,
        })
    }

    async fn start_backup(&self, wish: wire::NewBackup, who: String) -> Result<wire::BackupStatus, Refusal> {
        self.backups.start(wish.folder.into(), who).await
    }

    async fn backup(&self) -> Result<wire::BackupStatus, Refusal> {
        self.backups.status()
    }

    async fn seeds(&self) -> Result<Vec<wire::SeedName>, Refusal> {
        self.list_seeds().await
    }

    async fn export_seed(&self, name: wire::SeedName, who: String) -> Result<wire::SeedCopy, Refusal> {
        self.give_seed(name, who).await
    }

    async fn import_seed(&self, copy: wire::SeedCopy, who: String) -> Result<wire::SeedReport, Refusal> {
        self.take_seed(copy, who).await
    }

    async fn networks(&self) -> Result<Vec<wire::NetworkStatus>, Refusal> {
        self.list_networks().await
    }

    async fn network_balance(&self, question: BalanceQuestion) -> Result<wire::BalanceReport, Refusal> {
        self.look_at_balance(question).await
    }

    async fn network_transaction(&self, question: TransactionQuestion) -> Result<wire::TransactionStatus, Refusal> {
        self.look_at_transaction(question).await
    }

    async fn control_network(&self, wish: wire::NetworkControl, who: String) -> Result<wire::ControlReport, Refusal> {
        self.control_simulated(wish, who).await
    }

    async fn note_refused(&self, refused: RefusedAction) {
        let RefusedAction { action, operator, outcome, why } = refused;
        let line = OperatorAction { outcome, ..OperatorAction::done(self.clock.now(), &operator, ("*", action), why) };
        if let Err(error) = self.stores.note_action(&line).await {
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

    fn metrics(&self) -> Result<String, Refusal> {
        let stats = self.committer.stats();
        let committer = CommitterReading {
            batches: stats.batches,
            changes: stats.changes,
            conflicts: stats.conflicts,
            turns: stats.turns,
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

/// Returns why writing requests get 503, for `/readyz` and the banner.
pub(super) fn storage_reasons(committer: &Committer, database: &Database, disk: &DiskGauge) -> Vec<String> {
    let closed = committer.closed().map(|why| format!("the database cannot be written: {why}"));
    let low = "the disk is nearly full: writing requests are answered with 503";
    let low = disk.is_low().then(|| low.to_owned());
    closed.into_iter().chain(database.health().trouble()).chain(low).collect()
}

impl Connected {
    pub(super) async fn find_plugin(&self, name: &str) -> Result<(), Refusal> {
        let known: Vec<Arc<str>> = self.reloader.status().await.into_iter().map(|plugin| plugin.name).collect();
        if known.iter().any(|plugin| **plugin == *name) {
            return Ok(());
        }
        let hint = if known.is_empty() {
            "plugins.toml names none.".to_owned()
        } else {
            format!("There are: {}.", known.join(", "))
        };
        Err(Refusal::NotFound { message: format!("There is no plugin \"{name}\"."), hint })
    }

    /// A scope that no route asks for opens nothing: mostly it is misspelt.
    /// `way_out`: how an unknown one is taken nevertheless, where it can be.
    pub(super) fn check_scopes(&self, plugin: &str, scopes: &[String], way_out: &str) -> Result<(), Refusal> {
        let table = self.registry.current();
        let served = table.mounted().iter().filter(|mounted| plugin == "*" || *mounted.plugin == *plugin);
        let routes = served.flat_map(|mounted| &mounted.manifest.routes);
        let known: BTreeSet<&str> = routes.flat_map(|route| &route.scopes).map(String::as_str).collect();
        let Some(unknown) = scopes.iter().find(|scope| !known.contains(scope.as_str())) else { return Ok(()) };
        let there_are = match known.is_empty() {
            true => "No route that is served asks for any scope.".to_owned(),
            false => format!("There are: {}.", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Err(Refusal::Invalid {
            message: format!("No route of {plugin} that is served asks for the scope \"{unknown}\"."),
            hint: there_are + way_out,
        })
    }

    fn refused(&self, plugin: &str, what: &str, refusal: SwapRefusal, hint: &str) -> Refusal {
        let table = self.registry.current();
        let serving = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin);
        let rest = serving.map_or("no version serves".to_owned(), |mounted| {
            format!("version {} goes on serving", mounted.manifest.version)
        });
        let message = format!("{plugin} {what}; {rest}.");
        Refusal::Refused { message, reasons: refusal.reasons, hint: hint.to_owned() }
    }
}

pub(super) fn failed(cause: impl Into<String>) -> Refusal {
    Refusal::Failed { message: cause.into() }
}

pub(super) fn invalid(error: AuthError, hint: &str) -> Refusal {
    match error {
        AuthError::Store(error) => failed(error.to_string()),
        AuthError::Secret(_) => failed(error.to_string()),
        error => Refusal::Invalid { message: error.to_string(), hint: hint.to_owned() },
    }
}
