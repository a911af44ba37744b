//! `tenon restore`: restores a backup into a data folder in which no host runs.

use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{
    CliError, Outcome,
    backup::{database_in, is_quiet, render, with_progress},
    output,
    ownership::print_advice,
};
use crate::{
    admin::{backup_task, wire::RestoreReport},
    backup::{self, Progress},
    clock::Clock,
    db::ExistingDatabase,
    secrets::MASTER_KEY_FILE,
};

/// Restore a backup into a data folder in which no host runs
#[derive(Args)]
#[command(after_help = "Example:\n  tenon restore /backups/tenon-2026-01-02 --data-dir /var/lib/tenon\n  \
    tenon restore backup-before-upgrade --data-dir data --replace\n\n\
    The backup is verified before anything changes. Changes from after the backup are lost.")]
pub struct Restore {
    /// Folder that `tenon backup` wrote
    backup: PathBuf,
    /// Data folder; created if it does not exist
    #[arg(long, env = "TENON_DATA_DIR", hide_env_values = true, default_value = "data", value_name = "FOLDER")]
    data_dir: PathBuf,
    /// Database URL [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Rename an existing database and restore in its place
    #[arg(long)]
    replace: bool,
    /// Your name for the operators' journal
    #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
    operator: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let request = backup::RestoreRequest {
            database_url: self.database.unwrap_or_else(|| database_in(&self.data_dir)),
            backup: self.backup,
            data_dir: self.data_dir.clone(),
            old: if self.replace { ExistingDatabase::MoveAside } else { ExistingDatabase::Keep },
            operator: self.operator,
        };
        let progress = Arc::new(Progress::default());
        let work = backup::restore(request, Clock::system().now(), &progress);
        let restored =
            with_progress(&progress, is_quiet(self.json), work).await.map_err(|error| CliError::failed(&error))?;
        print_advice(&self.data_dir);
        let report = RestoreReport {
            database: restored.database.display().to_string(),
            replaced: restored.replaced.map(|path| path.display().to_string()),
            backup: backup_task::report(&restored.manifest),
        };
        if self.json {
            return output::json(&report);
        }
        let has_master_key = self.data_dir.join(MASTER_KEY_FILE).exists();
        Ok(Outcome::success(render::restore_report(&report, has_master_key)))
    }
}
