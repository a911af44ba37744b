//! `tenon restore`: a backup becomes the data of a folder in which no host runs.

use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{
    CliError, Outcome,
    backup::{database_in, is_quiet, shown, words},
    ownership::print_advice,
    show,
};
use crate::{
    admin::wire::RestoreReport,
    backup::{self, Progress},
    boot,
    clock::Clock,
    db::Old,
    secrets::MASTER_KEY_FILE,
};

/// Put a backup in place, in a data folder in which no host runs
#[derive(Args)]
#[command(after_help = "Example:\n  tenon restore /backups/tenon-2026-01-02 --data-dir /var/lib/tenon\n  \
    tenon restore backup-before-upgrade --data-dir data --replace\n\n\
    Everything is checked before anything changes. What happened after the backup was made is gone.")]
pub struct Restore {
    /// The folder that `tenon backup` wrote
    backup: PathBuf,
    /// The data folder; made where it is missing
    #[arg(long, env = "TENON_DATA_DIR", hide_env_values = true, default_value = "data", value_name = "FOLDER")]
    data_dir: PathBuf,
    /// Where the database goes [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Move the database that is there aside
    #[arg(long)]
    replace: bool,
    /// Who you are, for the operators' journal
    #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
    who: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let wish = backup::Restore {
            database_url: self.database.unwrap_or_else(|| database_in(&self.data_dir)),
            backup: self.backup,
            data_dir: self.data_dir.clone(),
            old: if self.replace { Old::MovesAside } else { Old::Stays },
            who: self.who,
        };
        let progress = Arc::new(Progress::default());
        let work = backup::restore(wish, Clock::system().now(), &progress);
        let restored = shown(&progress, is_quiet(self.json), work).await.map_err(|error| CliError::failed(&error))?;
        print_advice(&self.data_dir);
        let report = RestoreReport {
            database: restored.database.display().to_string(),
            replaced: restored.replaced.map(|path| path.display().to_string()),
            backup: boot::backup_report(&restored.manifest),
        };
        if self.json {
            return show::json(&report);
        }
        let has_master_key = self.data_dir.join(MASTER_KEY_FILE).exists();
        Ok(Outcome::good(words::restored(&report, has_master_key)))
    }
}
