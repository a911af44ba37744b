//! `tenon db check`: everything about a data folder that can be checked without a host, and beside one.
//!
//! Never writes. Each check ends with findings of its own, so that one damaged file does not hide another.
//! If the files themselves are damaged, SQLite does not open them: it would discard evidence that a later start needs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use super::{folder, stores::Stores};
use crate::{
    backup::{Progress, hash_file},
    db::{
        Database, DbError,
        files::{Remedy, check_chains, marker_path, restore_command},
        journal::{Chain, Flaw},
    },
    secrets::{MasterKeys, SealedRow, SealedRows},
};

/// The files and settings that a check covers.
pub struct Examination {
    pub data_dir: PathBuf,
    /// "sqlite:PATH".
    pub database_url: String,
    /// `None` where no host has made one yet.
    pub master_keys: Option<MasterKeys>,
    pub pages: Pages,
}

/// Extent of the check of the database's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Each index is compared with its table as well.
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Ok,
    Damaged,
    Skipped,
}

#[derive(Debug, Serialize)]
pub struct ExaminationReport {
    pub database: String,
    pub intact: bool,
    pub checks: Vec<CheckLine>,
    /// The command to run; `None` if nothing is damaged that a backup contains.
    pub restore: Option<String>,
}

pub async fn examine(wanted: Examination, progress: &Arc<Progress>) -> anyhow::Result<ExaminationReport> {
    let path = Database::file_of(&wanted.database_url)?;
    let mut lines = Lines { progress, checks: Vec::new() };
    lines.begin("files")?;
    match open(&wanted, &path).await {
        Ok((database, detail)) => {
            lines.add("files", display_path(&path), detail, Vec::new());
            examine_content(&mut lines, &wanted, &database).await?;
            database.close().await?;
        }
        Err(error) if !error.is_damage() && !is_lost(&wanted, &path) => return Err(error.into()),
        Err(error) => {
            lines.add("files", display_path(&path), String::new(), vec![error.to_string()]);
            lines.skip(
                "pages, schema, components, secrets, ledger, journal",
                display_path(&path),
                "the files are damaged",
            );
        }
    }
    let restore = (!lines.intact()).then(|| restore_command(&path));
    examine_chains(&mut lines, &wanted.data_dir).await?;
    Ok(ExaminationReport { database: display_path(&path), intact: lines.intact(), checks: lines.checks, restore })
}

async fn examine_chains(lines: &mut Lines<'_>, data_dir: &Path) -> anyhow::Result<()> {
    let file = data_dir.join(super::networks::CHAINS_FILE);
    if !file.exists() {
        return Ok(());
    }
    let (check, subject) = ("simulated blockchains", display_path(&file));
    lines.begin(check)?;
    match check_chains(&file, lines.progress.continuation_check()).await {
        Ok(mut mistakes) => {
            if !mistakes.is_empty() {
                mistakes.push(Remedy::ReplaceChains(file).to_string());
            }
            lines.add(check, subject, "pages".to_owned(), mistakes);
        }
        Err(error) if error.is_damage() => lines.add(check, subject, "pages".to_owned(), vec![error.to_string()]),
        Err(error) if lines.intact() => return Err(error.into()),
        Err(error) => lines.skip(check, subject, &error.to_string()),
    }
    Ok(())
}

/// The database is missing, and the folder shows that there was one.
fn is_lost(wanted: &Examination, path: &Path) -> bool {
    let is_missing = matches!(path.try_exists(), Ok(false));
    is_missing && (marker_path(path).exists() || folder::find_published(&wanted.data_dir).is_some())
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}

fn sentences(found: Result<Vec<String>, DbError>) -> Vec<String> {
    found.unwrap_or_else(|error| vec![error.to_string()])
}

/// The lines so far, and where the user sees what is being checked.
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

    fn add(&mut self, check: &'static str, subject: String, detail: String, findings: Vec<String>) {
        let state = if findings.is_empty() { CheckState::Ok } else { CheckState::Damaged };
        self.checks.push(CheckLine { check, subject, state, detail, findings });
    }

    fn skip(&mut self, check: &'static str, subject: String, why: &str) {
        let state = CheckState::Skipped;
        self.checks.push(CheckLine { check, subject, state, detail: why.to_owned(), findings: Vec::new() });
    }
}

async fn open(wanted: &Examination, path: &Path) -> Result<(Database, String), DbError> {
    let survey = Database::survey_beside(path)?;
    let database = Database::open_to_check(&wanted.database_url).await?;
    Ok((database, survey))
}

async fn examine_content(lines: &mut Lines<'_>, wanted: &Examination, database: &Database) -> anyhow::Result<()> {
    let file = display_path(database.path());
    lines.begin("identity")?;
    lines.add("identity", file.clone(), String::new(), sentences(database.check_identity().await));
    lines.begin("pages")?;
    let pages = match wanted.pages {
        Pages::Thorough => database.check_pages_thoroughly().await,
        Pages::Quick => database.check_pages_quickly().await,
    };
    let detail = if wanted.pages == Pages::Thorough { "pages, indexes, foreign keys" } else { "pages, foreign keys" };
    let is_readable = pages.is_ok();
    lines.add("pages", file.clone(), detail.to_owned(), sentences(pages));
    if !is_readable {
        lines.skip("components, secrets, ledger, journal", file, "the pages cannot be read");
        return Ok(());
    }
    lines.begin("components")?;
    let (detail, findings) = check_components(wanted, database).await;
    let components = folder::component_folder(&wanted.data_dir);
    lines.add("components", display_path(&components), detail, findings);
    examine_books(lines, wanted, database).await
}

async fn examine_books(lines: &mut Lines<'_>, wanted: &Examination, database: &Database) -> anyhow::Result<()> {
    let file = display_path(database.path());
    lines.begin("secrets")?;
    match &wanted.master_keys {
        Some(keys) => {
            let (detail, findings) = check_secrets(keys, database).await;
            lines.add("secrets", file.clone(), detail, findings);
        }
        None => {
            lines.skip("secrets", file.clone(), "there is no master key: set TENON_MASTER_KEY, or bring master.key")
        }
    }
    lines.begin("ledger")?;
    let (detail, findings) = match database.ledger_sums().await {
        Ok(sums) => {
            let wrong = sums.iter().filter(|sum| sum.sum != 0);
            let wrong = wrong.map(|sum| {
                format!("the balances of {} of {} of {} add up to {}", sum.asset, sum.plugin, sum.tenant, sum.sum)
            });
            (format!("{} sums", sums.len()), wrong.collect())
        }
        Err(error) => (String::new(), vec![error.to_string()]),
    };
    lines.add("ledger", file.clone(), detail, findings);
    lines.begin("journal")?;
    let (detail, findings) = match database.follow_all_chains().await {
        Ok(chains) => (
            format!("{} lines", chains.iter().map(Chain::lines).sum::<u64>()),
            chains.iter().filter_map(flaw_of).collect(),
        ),
        Err(error) => (String::new(), vec![error.to_string()]),
    };
    lines.add("journal", file, detail, findings);
    Ok(())
}

fn flaw_of(chain: &Chain) -> Option<String> {
    let Flaw { seq, kind } = chain.flaw?;
    Some(format!("the chain of {} of {} breaks at line {seq}: {kind}", chain.plugin, chain.tenant))
}

async fn check_components(wanted: &Examination, database: &Database) -> (String, Vec<String>) {
    let needed = match database.list_needed_components().await {
        Ok(needed) => needed,
        Err(error) => return (String::new(), vec![error.to_string()]),
    };
    let checked = format!("{} published", needed.len());
    let mut findings = Vec::new();
    for (plugin, hash) in needed {
        let path = folder::component_path(&wanted.data_dir, &hash);
        match fs::metadata(&path).and_then(|_| hash_file(&path)) {
            Ok(found) if found == hash => {}
            Ok(found) => findings.push(format!("{} of {plugin} is damaged: its hash is {found}", path.display())),
            Err(error) => findings.push(format!("{} of {plugin} cannot be read: {error}", path.display())),
        }
    }
    (checked, findings)
}

async fn check_secrets(keys: &MasterKeys, database: &Database) -> (String, Vec<String>) {
    let rows = match Stores::new(database.clone()).list().await {
        Ok(rows) => rows,
        Err(error) => return (String::new(), vec![error.to_string()]),
    };
    let opened = |SealedRow { name, sealed }: &SealedRow| {
        keys.open(name, sealed).err().map(|error| format!("{}: {error}", name.row_key()))
    };
    (format!("{} sealed", rows.len()), rows.iter().filter_map(opened).collect())
}
