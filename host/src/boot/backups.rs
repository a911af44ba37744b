//! The backup that is being written while the host serves: one at a time, beside everything else, ended with the host.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use tokio::{sync::OwnedMutexGuard, task::JoinHandle};

use super::{operations::failed, stores::Stores};
use crate::{
    admin::{Refusal, wire},
    backup::{self, BackupError, Manifest, Plan, Progress},
    changes::operator_action::OperatorAction,
    clock::Clock,
    config::Config,
    db::Database,
};

/// Starts backups and knows of the last one. Cheap to clone.
#[derive(Clone)]
pub struct Backups(Arc<Inner>);

struct Inner {
    database: Database,
    stores: Stores,
    config: Arc<Config>,
    clock: Clock,
    /// Held by the one that is being written.
    turn: Arc<tokio::sync::Mutex<()>>,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    job: Option<Job>,
    /// The host stops: none is begun any more.
    ended: bool,
}

struct Job {
    folder: PathBuf,
    started_at: u64,
    progress: Arc<Progress>,
    outcome: Option<Result<Manifest, String>>,
    task: Option<JoinHandle<()>>,
}

impl Backups {
    pub fn new(database: Database, stores: Stores, config: Arc<Config>, clock: Clock) -> Backups {
        let (turn, last) = (Arc::default(), Mutex::default());
        Backups(Arc::new(Inner { database, stores, config, clock, turn, last }))
    }

    /// Returns when it is clear that it can be begun.
    pub async fn start(&self, folder: PathBuf, who: String) -> Result<wire::BackupStatus, Refusal> {
        let Ok(turn) = self.0.turn.clone().try_lock_owned() else {
            return Err(refused("a backup is being written; `GET /v1/backup` says how far it is".to_owned()));
        };
        if self.0.database.health().is_damaged() {
            return Err(refused(self.0.database.health().trouble().unwrap_or_default()));
        }
        let spare = self.0.config.free_disk_bytes_min;
        let plan = backup::prepare(&self.0.database, &self.0.config.data_dir, &folder, spare).await;
        let plan = plan.map_err(refusal)?;
        self.begin(folder, plan, who, turn)?;
        self.status()
    }

    #[expect(clippy::disallowed_methods, reason = "the worker that writes a backup; `stop` ends it")]
    fn begin(&self, folder: PathBuf, plan: Plan, who: String, turn: OwnedMutexGuard<()>) -> Result<(), Refusal> {
        let mut last = self.0.last.lock();
        if last.ended {
            return Err(refused("the host is stopping".to_owned()));
        }
        let (backups, progress, started_at) = (self.clone(), Arc::new(Progress::default()), self.0.clock.now());
        let seen = progress.clone();
        let task = tokio::spawn(async move {
            let written = backup::write(&backups.0.database, plan, started_at, &progress).await;
            let outcome = backups.note(written, who).await;
            if let Some(job) = &mut backups.0.last.lock().job {
                job.outcome = Some(outcome);
            }
            drop(turn);
        });
        last.job = Some(Job { folder, started_at, progress: seen, outcome: None, task: Some(task) });
        Ok(())
    }

    /// In the journal of operators, and in the log.
    async fn note(&self, written: Result<Manifest, BackupError>, who: String) -> Result<Manifest, String> {
        let folder = self.0.last.lock().job.as_ref().map(|job| job.folder.display().to_string()).unwrap_or_default();
        let manifest = written.map_err(|error| {
            tracing::error!(folder, "no backup was written: {error}");
            error.to_string()
        })?;
        tracing::info!(folder, bytes = manifest.bytes(), "a backup was written");
        let what = format!("a backup of {} was written to {folder}", manifest.made_at);
        let action = OperatorAction::done(self.0.clock.now(), &who, ("*", "backup"), what);
        let noted = self.0.stores.note_action(&action).await;
        noted.map_err(|error| format!("It was written, but could not be noted in the journal: {error}"))?;
        Ok(manifest)
    }

    /// Of the one that is being written, or was written last.
    pub fn status(&self) -> Result<wire::BackupStatus, Refusal> {
        let last = self.0.last.lock();
        let Some(job) = &last.job else {
            return Err(Refusal::NotFound {
                message: "No backup was written since the host started.".to_owned(),
                hint: "`tenon backup FOLDER` writes one.".to_owned(),
            });
        };
        let (state, report, message) = match &job.outcome {
            None => (wire::BackupState::Running, None, None),
            Some(Ok(manifest)) => (wire::BackupState::Done, Some(report(manifest)), None),
            Some(Err(message)) => (wire::BackupState::Failed, None, Some(message.clone())),
        };
        let seen = job.progress.look();
        Ok(wire::BackupStatus {
            folder: job.folder.display().to_string(),
            state,
            started_at: wire::Moment(job.started_at),
            step: seen.step.to_owned(),
            bytes_done: seen.bytes_done,
            bytes_total: seen.bytes_total,
            report,
            message,
        })
    }

    /// What is not done by now is broken off and removed, and no other is begun.
    pub async fn stop(&self) {
        let task = {
            let mut last = self.0.last.lock();
            last.ended = true;
            last.job.as_mut().and_then(|job| {
                job.progress.break_off();
                job.task.take()
            })
        };
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// What a backup holds, as operators read it.
pub fn report(manifest: &Manifest) -> wire::BackupReport {
    wire::BackupReport {
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

fn refused(reason: String) -> Refusal {
    Refusal::Refused {
        message: "No backup was begun.".to_owned(),
        reasons: vec![reason],
        hint: "The folder is made by the host, on its machine, by the user that runs it.".to_owned(),
    }
}

fn refusal(error: BackupError) -> Refusal {
    match error {
        BackupError::Refused(sentence) => refused(sentence),
        error @ BackupError::File { .. } => refused(error.to_string()),
        error => failed(error.to_string()),
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
    async fn no_backup_is_begun_once_the_host_stops() {
        let file = TestFile::open().await;
        let backups = backups_of(&file);
        backups.stop().await;
        let begun = backups.start(file.folder.path().join("backup"), "ada".into()).await;
        let Err(Refusal::Refused { reasons, .. }) = begun else { panic!("it was begun") };
        assert_eq!(reasons, ["the host is stopping"]);
    }

    #[tokio::test]
    async fn fault_of_the_copy_says_nothing_about_the_database() {
        let file = TestFile::open().await;
        let copy = file.folder.path().join("copy.db");
        std::fs::write(&copy, "x".repeat(4_096)).unwrap();
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&copy);
        let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
        let error = sqlx::query("SELECT * FROM sqlite_schema").execute(&mut connection).await.unwrap_err();
        let written = Err(BackupError::Database(error.into()));
        backups_of(&file).note(written, "ada".into()).await.unwrap_err();
        assert_eq!(file.db.health().trouble(), None);
    }
}
