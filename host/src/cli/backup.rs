//! `tenon backup`: asks the host that runs; writes it itself where none does.

pub(super) mod words;

use std::{io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use serde::Serialize;
use tokio::time::sleep;

use super::{CliError, Outcome, client::Access, show};
use crate::{
    admin::wire::{BackupReport, BackupState, BackupStatus, NewBackup},
    backup::{self, Progress, Seen},
    boot,
    changes::operator_action::OperatorAction,
    clock::Clock,
    db::{Database, DbOptions},
    limits::{BACKUP_LOOK_MS, SPARE_DISK_BYTES},
};

/// Write all that is kept into a new folder, while the host runs or not (exit code 1 if something in it is not sound)
#[derive(Args)]
#[command(after_help = "Example:\n  tenon backup /backups/tenon-2026-01-02\n  \
    tenon backup backup-before-upgrade --data-dir /var/lib/tenon --json\n\n\
    The master key is not in it: keep a copy of that apart. Nor are simulated blockchains (chains.db), as real ones \
    would not be. `tenon restore` is the way back.")]
pub struct Backup {
    /// The folder, which is made; on the machine of the host
    folder: PathBuf,
    /// Where no host runs: its database [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    folder: &'a str,
    #[serde(flatten)]
    report: &'a BackupReport,
}

impl Backup {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let folder = std::path::absolute(&self.folder).map_err(|error| CliError::Failed(error.to_string()))?;
        let wish = NewBackup { folder: folder.display().to_string() };
        let report = match self.access.post_json::<BackupStatus>("/v1/backup", &wish).await {
            Ok(begun) => self.follow(begun).await?,
            Err(nobody @ (CliError::NotRunning(_) | CliError::NoToken(_))) => self.write_here(folder, &nobody).await?,
            Err(error) => return Err(error),
        };
        let good = report.findings.is_empty();
        let text = match self.json {
            true => show::json(&Written { folder: &wish.folder, report: &report })?.text,
            false => words::written(&wish.folder, &report),
        };
        Ok(Outcome { text, good })
    }

    /// Until the host has written it.
    async fn follow(&self, mut status: BackupStatus) -> Result<BackupReport, CliError> {
        let quiet = is_quiet(self.json);
        while status.state == BackupState::Running {
            if !quiet {
                words::say(&status.step, status.bytes_done, status.bytes_total);
            }
            sleep(Duration::from_millis(BACKUP_LOOK_MS)).await;
            status = self.access.get("/v1/backup").await?;
        }
        if !quiet {
            words::say_no_more();
        }
        let failed = || {
            CliError::Failed(status.message.unwrap_or_else(|| "It failed; the log of the host says why.".to_owned()))
        };
        status.report.ok_or_else(failed)
    }

    /// The lock on the database keeps a host from starting meanwhile, and this from running beside one.
    async fn write_here(&self, folder: PathBuf, nobody: &CliError) -> Result<BackupReport, CliError> {
        let data_dir = self.access.data_dir();
        let url = self.database.clone().unwrap_or_else(|| database_in(data_dir));
        let nor = |error| CliError::Failed(format!("{nobody} Nor can it be written without a host: {error}."));
        let database = Database::open_unchanged(&url, &DbOptions::default()).await.map_err(nor)?;
        let now = Clock::system().now();
        let progress = Arc::new(Progress::default());
        let work = async {
            let plan = backup::prepare(&database, data_dir, &folder, SPARE_DISK_BYTES).await?;
            let manifest = backup::write(&database, plan, now, &progress).await?;
            let what = format!("a backup of {} was written to {}", manifest.made_at, folder.display());
            database.record_action(&OperatorAction::done(now, self.access.who(), ("*", "backup"), what)).await?;
            database.close().await?;
            Ok::<_, backup::BackupError>(manifest)
        };
        let manifest = shown(&progress, is_quiet(self.json), work).await;
        let manifest = manifest.map_err(|error| CliError::failed(&error))?;
        Ok(boot::backup_report(&manifest))
    }
}

/// Where a data folder has its database unless somebody says otherwise.
pub(super) fn database_in(data_dir: &std::path::Path) -> String {
    format!("sqlite:{}", data_dir.join("tenon.db").display())
}

/// Programs read standard error, too.
pub(super) fn is_quiet(json: bool) -> bool {
    json || !std::io::stderr().is_terminal()
}

/// Does the work, and says now and then how far it is.
pub(super) async fn shown<T>(progress: &Progress, quiet: bool, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => {
                if !quiet {
                    words::say_no_more();
                }
                return done;
            }
            () = sleep(Duration::from_millis(BACKUP_LOOK_MS)) => {}
        }
        if !quiet {
            let Seen { step, bytes_done, bytes_total } = progress.look();
            words::say(step, bytes_done, bytes_total);
        }
    }
}
