//! `tenon backup`: requests a backup from the running host, or writes it in this process if no host runs.

pub(super) mod render;

use std::{io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use serde::Serialize;
use tokio::time::sleep;

use super::{CliError, Outcome, client::Access, output};
use crate::{
    admin::{
        backup_task,
        wire::{BackupReport, BackupState, BackupStatus, NewBackup},
    },
    backup::{self, Progress, ProgressSnapshot},
    changes::operator_action::OperatorAction,
    clock::Clock,
    db::{Database, DbOptions},
    limits::{BACKUP_POLL_MS, SPARE_DISK_BYTES},
};

/// Back up all data to a new folder, with or without a running host (exit code 1 if the data is inconsistent)
#[derive(Args)]
#[command(after_help = "Example:\n  tenon backup /backups/tenon-2026-01-02\n  \
    tenon backup backup-before-upgrade --data-dir /var/lib/tenon --json\n\n\
    The backup contains neither the master key, of which you must keep a separate copy, nor simulated blockchains (chains.db). \
    Restore it with `tenon restore`.")]
pub struct Backup {
    /// New folder to create, on the machine of the host
    folder: PathBuf,
    /// Database URL if no host runs [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct BackupOutput<'a> {
    folder: &'a str,
    #[serde(flatten)]
    report: &'a BackupReport,
}

impl Backup {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let folder = std::path::absolute(&self.folder).map_err(|error| CliError::Failed(error.to_string()))?;
        let request = NewBackup { folder: folder.display().to_string() };
        let report = match self.access.post_json::<BackupStatus>("/v1/backup", &request).await {
            Ok(status) => self.follow(status).await?,
            Err(no_host @ (CliError::NotRunning(_) | CliError::NoToken(_))) => {
                self.write_here(folder, &no_host).await?
            }
            Err(error) => return Err(error),
        };
        let success = report.findings.is_empty();
        let text = match self.json {
            true => output::json(&BackupOutput { folder: &request.folder, report: &report })?.text,
            false => render::backup_report(&request.folder, &report),
        };
        Ok(Outcome { text, success })
    }

    /// Polls the host until the backup is done.
    async fn follow(&self, mut status: BackupStatus) -> Result<BackupReport, CliError> {
        let quiet = is_quiet(self.json);
        while status.state == BackupState::Running {
            if !quiet {
                render::show_progress(&status.step, status.bytes_done, status.bytes_total);
            }
            sleep(Duration::from_millis(BACKUP_POLL_MS)).await;
            status = self.access.get("/v1/backup").await?;
        }
        if !quiet {
            render::clear_progress();
        }
        let failed = || {
            let message = "The backup failed. See the log of the host.";
            CliError::Failed(status.message.unwrap_or_else(|| message.to_owned()))
        };
        status.report.ok_or_else(failed)
    }

    /// Writes the backup in this process. The lock on the database excludes a running host.
    async fn write_here(&self, folder: PathBuf, no_host: &CliError) -> Result<BackupReport, CliError> {
        let data_dir = self.access.data_dir();
        let url = self.database.clone().unwrap_or_else(|| database_in(data_dir));
        let both_failed =
            |error| CliError::Failed(format!("{no_host} The backup cannot be written without a host either: {error}."));
        let database = Database::open_unchanged(&url, &DbOptions::default()).await.map_err(both_failed)?;
        let now = Clock::system().now();
        let progress = Arc::new(Progress::default());
        let work = async {
            let plan = backup::prepare(&database, data_dir, &folder, SPARE_DISK_BYTES).await?;
            let manifest = backup::write(&database, plan, now, &progress).await?;
            let what = format!("a backup of {} was written to {}", manifest.made_at, folder.display());
            let action = OperatorAction::done(now, self.access.operator_name(), ("*", backup_task::BACKUP), what);
            database.record_action(&action).await?;
            database.close().await?;
            Ok::<_, backup::BackupError>(manifest)
        };
        let manifest = with_progress(&progress, is_quiet(self.json), work).await;
        let manifest = manifest.map_err(|error| CliError::failed(&error))?;
        Ok(backup_task::report(&manifest))
    }
}

/// Returns the URL of the default database of a data folder.
pub(super) fn database_in(data_dir: &std::path::Path) -> String {
    format!("sqlite:{}", data_dir.join("tenon.db").display())
}

/// Returns true if no progress may be printed, because programs read the output.
pub(super) fn is_quiet(json: bool) -> bool {
    json || !std::io::stderr().is_terminal()
}

/// Runs `work` and prints its progress.
pub(super) async fn with_progress<T>(progress: &Progress, quiet: bool, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => {
                if !quiet {
                    render::clear_progress();
                }
                return done;
            }
            () = sleep(Duration::from_millis(BACKUP_POLL_MS)) => {}
        }
        if !quiet {
            let ProgressSnapshot { step, bytes_done, bytes_total } = progress.snapshot();
            render::show_progress(step, bytes_done, bytes_total);
        }
    }
}
