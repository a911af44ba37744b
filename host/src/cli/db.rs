//! `tenon db …`: maintenance of the database files without a host. `check` also works while a host runs.

mod render;

use std::{path::PathBuf, sync::Arc};

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    backup::{database_in, is_quiet, with_progress},
    output,
    ownership::print_advice,
};
use crate::{
    backup::Progress,
    boot::{self, Examination, Pages},
    changes::operator_action::{ACCEPT_DATABASE, CREATE_DATABASE, OperatorAction},
    clock::Clock,
    config::Variables,
    db::{AcceptedDatabase, Database, ExistingDatabase, Replacement, swaps::SwapRow},
    secrets::{MASTER_KEY_FILE, MasterKeys, SecretText, private_file},
};

/// Check, create or accept the database
#[derive(Args)]
#[command(after_help = "Example:\n  tenon db check --data-dir /var/lib/tenon")]
pub struct Db {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check all files for damage without changing them (exit code 1 if something is damaged)
    #[command(after_help = "Example:\n  tenon db check --data-dir /var/lib/tenon --json\n\n\
        Works whether Tenon runs or not. A large database takes minutes; --quick does not compare indexes with their tables.")]
    Check {
        #[command(flatten)]
        args: DatabaseArgs,
        /// Do not compare indexes with their tables
        #[arg(long)]
        quick: bool,
    },
    /// Create an empty database; no host may be running
    #[command(after_help = "Example:\n  tenon db create --data-dir data\n  tenon db create --data-dir data --replace")]
    Create {
        #[command(flatten)]
        args: DatabaseArgs,
        /// Rename an existing database
        #[arg(long)]
        replace: bool,
        /// Your name for the operators' journal
        #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
        operator: String,
    },
    /// Accept a database that the host refuses because it lost changes or was exchanged
    #[command(after_help = "Example:\n  tenon db accept --data-dir data\n\n\
        The pages of the database must be intact. Lost changes stay lost: prefer `tenon restore`, or the correct file.")]
    Accept {
        #[command(flatten)]
        args: DatabaseArgs,
        /// Your name for the operators' journal
        #[arg(long = "as", env = "USER", hide_env_values = true, default_value = "operator", value_name = "NAME")]
        operator: String,
    },
}

#[derive(Args)]
struct DatabaseArgs {
    /// Data folder
    #[arg(long, env = "TENON_DATA_DIR", hide_env_values = true, default_value = "data", value_name = "FOLDER")]
    data_dir: PathBuf,
    /// Database URL [default: tenon.db in the data folder]
    #[arg(long, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DatabaseArgs {
    fn url(&self) -> String {
        self.database.clone().unwrap_or_else(|| database_in(&self.data_dir))
    }
}

impl Db {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Check { args, quick } => check(args, if quick { Pages::Quick } else { Pages::Thorough }).await,
            Action::Create { args, replace, operator } => {
                create(args, if replace { ExistingDatabase::MoveAside } else { ExistingDatabase::Keep }, &operator)
                    .await
            }
            Action::Accept { args, operator } => accept(args, &operator).await,
        }
    }
}

async fn check(args: DatabaseArgs, pages: Pages) -> Result<Outcome, CliError> {
    let request =
        Examination { database_url: args.url(), master_keys: find_master_keys(&args)?, data_dir: args.data_dir, pages };
    let progress = Arc::new(Progress::default());
    let examined = with_progress(&progress, is_quiet(args.json), boot::examine(request, &progress)).await;
    let report = examined.map_err(|error| CliError::failed(error.as_ref()))?;
    let text = if args.json { output::json(&report)?.text } else { render::check_report(&report) };
    Ok(Outcome { text, success: report.intact })
}

/// Finds the master keys like the host does, but does not create one.
fn find_master_keys(args: &DatabaseArgs) -> Result<Option<MasterKeys>, CliError> {
    if let Some(text) = Variables::of_process().get("TENON_MASTER_KEY") {
        return Ok(Some(MasterKeys::parse(SecretText::new(text.to_owned()).expose())?));
    }
    Ok(MasterKeys::read(&args.data_dir.join(MASTER_KEY_FILE))?)
}

async fn create(args: DatabaseArgs, old: ExistingDatabase, operator: &str) -> Result<Outcome, CliError> {
    private_file::create_folder(&args.data_dir)?;
    let failed = |error| CliError::failed(&error);
    let replacement = Replacement::begin(&args.url(), old).await.map_err(failed)?;
    let line = journal_line(operator, CREATE_DATABASE, "an empty database was created");
    replacement.write_empty().map_err(failed)?;
    let (database, replaced) = replacement.commit(&line).await.map_err(failed)?;
    print_advice(&args.data_dir);
    let [database, replaced] = [Some(database), replaced].map(|path| path.map(|path| path.display().to_string()));
    if args.json {
        return output::json(&serde_json::json!({ "database": database, "replaced": replaced }));
    }
    Ok(Outcome::success(render::created_database(&database.unwrap_or_default(), replaced.as_deref())))
}

/// Returns the line of the operators' journal about an action on the whole database.
fn journal_line(operator: &str, action: &'static str, what: &str) -> SwapRow {
    SwapRow::from(&OperatorAction::done(Clock::system().now(), operator, ("*", action), what.to_owned()))
}

async fn accept(args: DatabaseArgs, operator: &str) -> Result<Outcome, CliError> {
    let line = journal_line(operator, ACCEPT_DATABASE, "the database was accepted as it is");
    let accepted = Database::accept(&args.url(), &line).await.map_err(|error| CliError::failed(&error))?;
    print_advice(&args.data_dir);
    let AcceptedDatabase { database, version } = accepted;
    let database = database.display().to_string();
    if args.json {
        return output::json(&serde_json::json!({ "database": database, "version": version }));
    }
    Ok(Outcome::success(render::accepted_database(&database, version)))
}
