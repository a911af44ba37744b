//! The task that writes a backup of a running host: one at a time, cancelled when the host stops.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use tokio::{sync::OwnedMutexGuard, task::JoinHandle};

use super::{
    AdminError,
    wire::{BackupReport, BackupState, BackupStatus, TimestampText},
};
use crate::{
    backup::{self, BackupError, Manifest, Plan, Progress},
    changes::operator_action::{ActionOutcome, OperatorAction},
    clock::{Clock, Timestamp},
    config::Config,
    db::Database,
    stores::Stores,
};

/// Name of the action in the operators' journal. The line of a started backup is written when it is done or has failed.
pub const BACKUP: &str = "backup";

/// Starts backups and reports the status of the last one. Cheap to clone.
#[derive(Clone)]
pub struct Backups(Arc<Inner>);

struct Inner {
    database: Database,
    stores: Stores,
    config: Arc<Config>,
    clock: Clock,
    /// Held while a backup is written.
    permit: Arc<tokio::sync::Mutex<()>>,
    jobs: Mutex<Jobs>,
}

#[derive(Default)]
struct Jobs {
    last: Option<Job>,
    /// True once the host stops. No backup is started then.
    is_stopped: bool,
}

struct Job {
    folder: PathBuf,
    started_at: Timestamp,
    progress: Arc<Progress>,
    outcome: Option<Result<Manifest, String>>,
    task: Option<JoinHandle<()>>,
}

impl Backups {
    pub fn new(database: Database, stores: Stores, config: Arc<Config>, clock: Clock) -> Backups {
        let (permit, jobs) = (Arc::default(), Mutex::default());
        Backups(Arc::new(Inner { database, stores, config, clock, permit, jobs }))
    }

    /// Checks the preconditions of a backup, starts it, and returns its status.
    pub async fn start(&self, folder: PathBuf, operator: String) -> Result<BackupStatus, AdminError> {
        let Ok(permit) = self.0.permit.clone().try_lock_owned() else {
            return Err(conflict("a backup is running; `GET /v1/backup` reports its progress".to_owned()));
        };
        if self.0.database.health().is_damaged() {
            return Err(conflict(self.0.database.health().storage_failure().unwrap_or_default()));
        }
        let spare = self.0.config.free_disk_bytes_min;
        let plan = backup::prepare(&self.0.database, &self.0.config.data_dir, &folder, spare).await;
        let plan = plan.map_err(backup_error)?;
        self.begin(folder, plan, operator, permit)?;
        self.status()
    }

    #[expect(clippy::disallowed_methods, reason = "the task that writes a backup; `stop` ends it")]
    fn begin(
        &self,
        folder: PathBuf,
        plan: Plan,
        operator: String,
        permit: OwnedMutexGuard<()>,
    ) -> Result<(), AdminError> {
        let mut jobs = self.0.jobs.lock();
        if jobs.is_stopped {
            return Err(conflict("the host is stopping".to_owned()));
        }
        let (backups, progress, started_at) = (self.clone(), Arc::new(Progress::default()), self.0.clock.now());
        let shared_progress = progress.clone();
        let task = tokio::spawn(async move {
            let written = backup::write(&backups.0.database, plan, started_at, &progress).await;
            let outcome = backups.record(written, operator).await;
            if let Some(job) = &mut backups.0.jobs.lock().last {
                job.outcome = Some(outcome);
            }
            drop(permit);
        });
        jobs.last = Some(Job { folder, started_at, progress: shared_progress, outcome: None, task: Some(task) });
        Ok(())
    }

    /// Records the result in the operators' journal and in the log.
    async fn record(&self, written: Result<Manifest, BackupError>, operator: String) -> Result<Manifest, String> {
        let folder = self.0.jobs.lock().last.as_ref().map(|job| job.folder.display().to_string()).unwrap_or_default();
        let (outcome, target) = match &written {
            Ok(manifest) => {
                tracing::info!(folder, bytes = manifest.bytes(), "wrote a backup");
                (ActionOutcome::Done, format!("a backup of {} was written to {folder}", manifest.made_at))
            }
            Err(error) => {
                tracing::error!(folder, "failed to write a backup: {error}");
                (ActionOutcome::Failed, format!("a backup to {folder}: {error}"))
            }
        };
        let line = OperatorAction::done(self.0.clock.now(), &operator, ("*", BACKUP), target);
        let recorded = self.0.stores.record_action(&OperatorAction { outcome, ..line }).await;
        let manifest = written.map_err(|error| error.to_string())?;
        recorded.map_err(|error| format!("The backup was written, but not recorded in the journal: {error}"))?;
        Ok(manifest)
    }

    /// Returns the status of the running backup, or of the last one.
    pub fn status(&self) -> Result<BackupStatus, AdminError> {
        let jobs = self.0.jobs.lock();
        let Some(job) = &jobs.last else {
            let message = "No backup was written since the host started.";
            return Err(AdminError::not_found(message, "Write one with `tenon backup FOLDER`."));
        };
        let (state, report, message) = match &job.outcome {
            None => (BackupState::Running, None, None),
            Some(Ok(manifest)) => (BackupState::Done, Some(report(manifest)), None),
            Some(Err(message)) => (BackupState::Failed, None, Some(message.clone())),
        };
        let progress = job.progress.snapshot();
        Ok(BackupStatus {
            folder: job.folder.display().to_string(),
            state,
            started_at: TimestampText(job.started_at),
            step: progress.step.to_owned(),
            bytes_done: progress.bytes_done,
            bytes_total: progress.bytes_total,
            report,
            message,
        })
    }

    /// Cancels the running backup, removes its files, and rejects new backups.
    pub async fn stop(&self) {
        let task = {
            let mut jobs = self.0.jobs.lock();
            jobs.is_stopped = true;
            jobs.last.as_mut().and_then(|job| {
                job.progress.cancel();
                job.task.take()
            })
        };
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// Converts a manifest to the JSON type.
pub fn report(manifest: &Manifest) -> BackupReport {
    BackupReport {
        made_at: manifest.made_at.clone(),
        tenon: manifest.tenon.clone(),
        schema: manifest.schema,
        bytes: manifest.bytes(),
        components: manifest.components.len(),
        thorough: manifest.checks.thorough,
        journal_lines: manifest.checks.journal_lines,
        ledger_sums: manifest.checks.ledger_sums,
        findings: manifest.checks.findings.clone(),
    }
}

fn conflict(reason: String) -> AdminError {
    let hint = "The host creates the folder on its own machine, as the user that runs it.";
    AdminError::conflict("The backup was not started.", vec![reason], hint)
}

fn backup_error(error: BackupError) -> AdminError {
    match error {
        BackupError::Precondition(sentence) => conflict(sentence),
        error @ BackupError::File { .. } => conflict(error.to_string()),
        error => AdminError::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;
    use crate::{
        config::{self, Flags, Variables},
        db::testing::TestFile,
    };

    fn backups_of(file: &TestFile) -> Backups {
        let settings = file.folder.path().join("plugins.toml");
        std::fs::write(&settings, "free-disk-bytes-min = 0").unwrap();
        let flags = Flags { config: Some(settings), ..Flags::default() };
        let config = Arc::new(config::load(&flags, &Variables::default()).unwrap());
        Backups::new(file.db.clone(), Stores::new(file.db.clone()), config, Clock::manual(0))
    }

    #[tokio::test]
    async fn no_backup_is_started_once_the_host_stops() {
        let file = TestFile::open().await;
        let backups = backups_of(&file);
        backups.stop().await;
        let result = backups.start(file.folder.path().join("backup"), "ada".into()).await;
        assert_eq!(result.unwrap_err().body().reasons, ["the host is stopping"]);
    }

    #[tokio::test]
    async fn damaged_copy_does_not_mark_the_database_as_damaged() {
        let file = TestFile::open().await;
        let copy = file.folder.path().join("copy.db");
        std::fs::write(&copy, "x".repeat(4_096)).unwrap();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&copy);
        let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
        let error = sqlx::query("SELECT * FROM sqlite_schema").execute(&mut connection).await.unwrap_err();
        let written = Err(BackupError::Database(error.into()));
        backups_of(&file).record(written, "ada".into()).await.unwrap_err();
        assert_eq!(file.db.health().storage_failure(), None);
    }
}
