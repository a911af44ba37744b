//! `tenon db check`: all checks of a data folder that work with or without a running host.
//!
//! Invariants: nothing is written. Each check has its own findings, so that one damaged file does not hide another. If
//! the database files themselves are damaged, they are not opened with SQLite, which would discard evidence that a
//! later start needs.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use super::folder;
use crate::{
    backup::{Progress, hash_file},
    db::{
        Database, DbError,
        files::{Remedy, check_chains, marker_path, restore_command},
        journal::{Chain, Flaw},
    },
    secrets::{MasterKeys, SealedRow, SealedRows, SecretError},
    stores::Stores,
};

/// The files and settings that a check covers.
pub struct Examination {
    pub data_dir: PathBuf,
    /// "sqlite:PATH".
    pub database_url: String,
    /// `None` if no host has created one yet.
    pub master_keys: Option<MasterKeys>,
    pub pages: Pages,
}

/// Extent of the check of the database's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Also compares each index with its table.
    Thorough,
    Quick,
}

#[derive(Debug, Serialize)]
pub struct CheckLine {
    pub check: &'static str,
    pub subject: String,
    pub state: CheckState,
    /// The extent of the check, or the reason why it was skipped.
    pub detail: String,
    pub findings: Vec<String>,
    /// `None` if nothing is damaged.
    pub remedy: Option<CheckRemedy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Ok,
    Damaged,
    Skipped,
}

/// The repair of what a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckRemedy {
    /// Restore a backup.
    Restore,
    /// Provide the master key that sealed the secrets. It also sealed the secrets in backups.
    MasterKey,
    /// Deploy missing or damaged components again. A backup contains them, too.
    Deploy,
    /// Replace the file of the simulated blockchains with a copy. Backups do not contain it.
    ReplaceChains,
}

/// The result of one check.
struct CheckResult {
    detail: String,
    findings: Vec<String>,
    /// Remedy for the findings.
    remedy: CheckRemedy,
}

impl CheckResult {
    /// Creates a result whose remedy is a backup.
    fn new(detail: impl Into<String>, findings: Vec<String>) -> CheckResult {
        CheckResult { detail: detail.into(), findings, remedy: CheckRemedy::Restore }
    }

    /// Creates the result of a check that ended with an error of the database.
    fn failed(error: &impl Display) -> CheckResult {
        CheckResult::new("", vec![error.to_string()])
    }
}

#[derive(Debug, Serialize)]
pub struct ExaminationReport {
    pub database: String,
    pub intact: bool,
    pub checks: Vec<CheckLine>,
    /// Command that restores a backup. `None` if nothing is damaged, or if a backup does not repair the damage.
    pub restore: Option<String>,
}

pub async fn examine(request: Examination, progress: &Arc<Progress>) -> anyhow::Result<ExaminationReport> {
    let path = Database::file_of(&request.database_url)?;
    let mut lines = Lines { progress, checks: Vec::new() };
    lines.begin("files")?;
    match open(&request, &path).await {
        Ok((database, detail)) => {
            lines.add("files", display_path(&path), CheckResult::new(detail, Vec::new()));
            examine_content(&mut lines, &request, &database).await?;
            database.close().await?;
        }
        Err(error) if !error.is_damage() && !is_lost(&request, &path) => return Err(error.into()),
        Err(error) => {
            lines.add("files", display_path(&path), CheckResult::failed(&error));
            lines.skip(
                "pages, schema, components, secrets, ledger, journal",
                display_path(&path),
                "the files are damaged",
            );
        }
    }
    examine_chains(&mut lines, &request.data_dir).await?;
    let has_backup = |line: &CheckLine| matches!(line.remedy, Some(CheckRemedy::Restore | CheckRemedy::Deploy));
    let restore = lines.checks.iter().any(has_backup).then(|| restore_command(&path));
    Ok(ExaminationReport { database: display_path(&path), intact: lines.intact(), checks: lines.checks, restore })
}

async fn examine_chains(lines: &mut Lines<'_>, data_dir: &Path) -> anyhow::Result<()> {
    let file = data_dir.join(super::networks::CHAINS_FILE);
    if !file.exists() {
        return Ok(());
    }
    let (check, subject) = ("simulated blockchains", display_path(&file));
    lines.begin(check)?;
    let checked = |findings| CheckResult { remedy: CheckRemedy::ReplaceChains, ..CheckResult::new("pages", findings) };
    match check_chains(&file, lines.progress.continuation_check()).await {
        Ok(mut mistakes) => {
            if !mistakes.is_empty() {
                mistakes.push(Remedy::ReplaceChains(file).to_string());
            }
            lines.add(check, subject, checked(mistakes));
        }
        Err(error) if error.is_damage() => lines.add(check, subject, checked(vec![error.to_string()])),
        Err(error) if lines.intact() => return Err(error.into()),
        Err(error) => lines.skip(check, subject, &error.to_string()),
    }
    Ok(())
}

/// Returns true if the database is missing although the folder shows that there was one.
fn is_lost(request: &Examination, path: &Path) -> bool {
    let is_missing = matches!(path.try_exists(), Ok(false));
    is_missing && (marker_path(path).exists() || folder::find_trace_of_database(&request.data_dir).is_some())
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

fn sentences(found: Result<Vec<String>, DbError>) -> Vec<String> {
    found.unwrap_or_else(|error| vec![error.to_string()])
}

/// Collects the lines of the report and updates the progress.
struct Lines<'a> {
    progress: &'a Arc<Progress>,
    checks: Vec<CheckLine>,
}

impl Lines<'_> {
    fn intact(&self) -> bool {
        self.checks.iter().all(|line| line.state != CheckState::Damaged)
    }

    fn begin(&self, check: &'static str) -> anyhow::Result<()> {
        Ok(self.progress.begin(check)?)
    }

    fn add(&mut self, check: &'static str, subject: String, checked: CheckResult) {
        let CheckResult { detail, findings, remedy } = checked;
        let (state, remedy) =
            if findings.is_empty() { (CheckState::Ok, None) } else { (CheckState::Damaged, Some(remedy)) };
        self.checks.push(CheckLine { check, subject, state, detail, findings, remedy });
    }

    fn skip(&mut self, check: &'static str, subject: String, reason: &str) {
        let (state, detail) = (CheckState::Skipped, reason.to_owned());
        self.checks.push(CheckLine { check, subject, state, detail, findings: Vec::new(), remedy: None });
    }
}

async fn open(request: &Examination, path: &Path) -> Result<(Database, String), DbError> {
    let survey = Database::inspect_files(path)?;
    let database = Database::open_to_check(&request.database_url).await?;
    Ok((database, survey))
}

async fn examine_content(lines: &mut Lines<'_>, request: &Examination, database: &Database) -> anyhow::Result<()> {
    let file = display_path(database.path());
    lines.begin("identity")?;
    lines.add("identity", file.clone(), CheckResult::new("", sentences(database.check_identity().await)));
    lines.begin("pages")?;
    let pages = match request.pages {
        Pages::Thorough => database.check_pages_thoroughly().await,
        Pages::Quick => database.check_pages_quickly().await,
    };
    let detail = if request.pages == Pages::Thorough { "pages, indexes, foreign keys" } else { "pages, foreign keys" };
    let is_readable = pages.is_ok();
    lines.add("pages", file.clone(), CheckResult::new(detail, sentences(pages)));
    if !is_readable {
        lines.skip("components, secrets, ledger, journal", file, "the pages cannot be read");
        return Ok(());
    }
    lines.begin("components")?;
    let components = folder::component_folder(&request.data_dir);
    lines.add("components", display_path(&components), check_components(request, database).await);
    examine_records(lines, request, database).await
}

async fn examine_records(lines: &mut Lines<'_>, request: &Examination, database: &Database) -> anyhow::Result<()> {
    let file = display_path(database.path());
    lines.begin("secrets")?;
    match &request.master_keys {
        Some(keys) => {
            lines.add("secrets", file.clone(), check_secrets(keys, database).await);
        }
        None => {
            lines.skip("secrets", file.clone(), "there is no master key: set TENON_MASTER_KEY, or provide master.key")
        }
    }
    lines.begin("ledger")?;
    let checked = match database.ledger_sums().await {
        Ok(sums) => {
            let wrong = sums.iter().filter(|sum| sum.sum != 0);
            let wrong = wrong.map(|sum| {
                format!("the balances of {} of {} of {} add up to {}", sum.asset, sum.plugin, sum.tenant, sum.sum)
            });
            CheckResult::new(format!("{} sums", sums.len()), wrong.collect())
        }
        Err(error) => CheckResult::failed(&error),
    };
    lines.add("ledger", file.clone(), checked);
    lines.begin("journal")?;
    let checked = match database.verify_all_chains().await {
        Ok(chains) => CheckResult::new(
            format!("{} lines", chains.iter().map(Chain::lines).sum::<u64>()),
            chains.iter().filter_map(describe_flaw).collect(),
        ),
        Err(error) => CheckResult::failed(&error),
    };
    lines.add("journal", file, checked);
    Ok(())
}

fn describe_flaw(chain: &Chain) -> Option<String> {
    let Flaw { seq, kind } = chain.flaw?;
    Some(format!("the chain of {} of {} breaks at line {seq}: {kind}", chain.plugin, chain.tenant))
}

async fn check_components(request: &Examination, database: &Database) -> CheckResult {
    let needed = match database.list_needed_components().await {
        Ok(needed) => needed,
        Err(error) => return CheckResult::failed(&error),
    };
    let detail = format!("{} published", needed.len());
    let mut findings = Vec::new();
    for (plugin, hash) in needed {
        let path = folder::component_path(&request.data_dir, &hash);
        match fs::metadata(&path).and_then(|_| hash_file(&path)) {
            Ok(found) if found == hash => {}
            Ok(found) => findings.push(format!("{} of {plugin} is damaged: its hash is {found}", path.display())),
            Err(error) => findings.push(format!("{} of {plugin} cannot be read: {error}", path.display())),
        }
    }
    CheckResult { remedy: CheckRemedy::Deploy, ..CheckResult::new(detail, findings) }
}

async fn check_secrets(keys: &MasterKeys, database: &Database) -> CheckResult {
    let rows = match Stores::new(database.clone()).list().await {
        Ok(rows) => rows,
        Err(error) => return CheckResult::failed(&error),
    };
    let mut checked = CheckResult {
        remedy: CheckRemedy::MasterKey,
        ..CheckResult::new(format!("{} sealed", rows.len()), Vec::new())
    };
    for SealedRow { name, sealed } in &rows {
        let Err(error) = keys.open(name, sealed) else { continue };
        if !matches!(error, SecretError::UnknownKey(_)) {
            checked.remedy = CheckRemedy::Restore;
        }
        checked.findings.push(format!("{}: {error}", name.row_key()));
    }
    checked
}
