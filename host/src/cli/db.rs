//! `tenon db …`: the database files. Works without a host; `check` also beside one.

mod words;

use std::{path::PathBuf, sync::Arc};

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    backup::{database_in, is_quiet, shown},
    ownership::print_advice,
    show,
};
use crate::{
    backup::Progress,
    boot::{self, Examination, Pages},
    changes::operator_action::OperatorAction,
    clock::Clock,
    config::Variables,
    db::{Accepted, Database, Old, Replacement, swaps::SwapRow},
    secrets::{MASTER_KEY_FILE, MasterKeys, SecretText, private_file},
};

/// The database: check it, start over, accept it as it is
#[derive(Args)]
#[command(after_help = "Example:\n  tenon db check --data-dir /var/lib/tenon")]
pub struct Db {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Look for damage in all files; reads all of them, changes nothing (exit code 1 if something is damaged)
    #[command(after_help = "Example:\n  tenon db check --data-dir /var/lib/tenon --json\n\n\
        It works while Tenon runs, and without. A large database takes minutes; --quick does not compare indexes with their tables.")]
    Check {
        #[command(flatten)]
        place: Place,
        /// Do not compare indexes with their tables
        #[arg(long)]
        quick: bool,
    },
    /// Start over with an empty database, where no host runs
    #[command(after_help = "Example:\n  tenon db create --data-dir data\n  tenon db create --data-dir data --replace")]
    Create {
        #[command(flatten)]
        place: Place,
        /// Move the database that is there aside
        #[arg(long)]
        replace: bool,
        /// Who you are, for the operators' journal
        #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
        who: String,
    },
    /// Accept a database that the host refuses because changes are lost, or because it is another one
    #[command(after_help = "Example:\n  tenon db accept --data-dir data\n\n\
        Only for a database whose pages are intact. What was lost stays lost: prefer `tenon restore`, or the right file.")]
    Accept {
        #[command(flatten)]
        place: Place,
        /// Who you are, for the operators' journal
        #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
        who: String,
    },
}

#[derive(Args)]
struct Place {
    /// The data folder
    #[arg(long, env = "TENON_DATA_DIR", hide_env_values = true, default_value = "data", value_name = "FOLDER")]
    data_dir: PathBuf,
    /// The database [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Place {
    fn url(&self) -> String {
        self.database.clone().unwrap_or_else(|| database_in(&self.data_dir))
    }
}

impl Db {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Check { place, quick } => check(place, if quick { Pages::Quick } else { Pages::Thorough }).await,
            Action::Create { place, replace, who } => {
                create(place, if replace { Old::MovesAside } else { Old::Stays }, &who).await
            }
            Action::Accept { place, who } => accept(place, &who).await,
        }
    }
}

async fn check(place: Place, pages: Pages) -> Result<Outcome, CliError> {
    let wanted = Examination {
        database_url: place.url(),
        master_keys: find_master_keys(&place)?,
        data_dir: place.data_dir,
        pages,
    };
    let progress = Arc::new(Progress::default());
    let examined = shown(&progress, is_quiet(place.json), boot::examine(wanted, &progress)).await;
    let report = examined.map_err(|error| CliError::failed(error.as_ref()))?;
    let text = if place.json { show::json(&report)?.text } else { words::checked(&report) };
    Ok(Outcome { text, good: report.intact })
}

/// As the host finds them, but never makes one.
fn find_master_keys(place: &Place) -> Result<Option<MasterKeys>, CliError> {
    if let Some(text) = Variables::of_process().get("TENON_MASTER_KEY") {
        return Ok(Some(MasterKeys::parse(SecretText::new(text.to_owned()).expose())?));
    }
    Ok(MasterKeys::read(&place.data_dir.join(MASTER_KEY_FILE))?)
}

async fn create(place: Place, old: Old, who: &str) -> Result<Outcome, CliError> {
    private_file::create_folder(&place.data_dir)?;
    let failed = |error| CliError::failed(&error);
    let replacement = Replacement::begin(&place.url(), old).await.map_err(failed)?;
    let line = journal_line(who, "create", "an empty database was begun");
    replacement.write_empty().map_err(failed)?;
    let (database, replaced) = replacement.commit(&line).await.map_err(failed)?;
    print_advice(&place.data_dir);
    let [database, replaced] = [Some(database), replaced].map(|path| path.map(|path| path.display().to_string()));
    if place.json {
        return show::json(&serde_json::json!({ "database": database, "replaced": replaced }));
    }
    Ok(Outcome::good(words::created(&database.unwrap_or_default(), replaced.as_deref())))
}

/// The line of the operators' journal about what was done to the host's database as a whole.
fn journal_line(who: &str, action: &'static str, what: &str) -> SwapRow {
    SwapRow::from(&OperatorAction::done(Clock::system().now(), who, ("*", action), what.to_owned()))
}

async fn accept(place: Place, who: &str) -> Result<Outcome, CliError> {
    let line = journal_line(who, "accept", "the database was accepted as it is");
    let accepted = Database::accept(&place.url(), &line).await.map_err(|error| CliError::failed(&error))?;
    print_advice(&place.data_dir);
    let Accepted { database, version } = accepted;
    let database = database.display().to_string();
    if place.json {
        return show::json(&serde_json::json!({ "database": database, "version": version }));
    }
    Ok(Outcome::good(words::accepted(&database, version)))
}
