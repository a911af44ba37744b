//! Writes a backup: first the database, then the components, so that every component that the copy lists as served is
//! included.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    BackupError, COMPONENTS_FOLDER, Checks, DATABASE_FILE, FileEntry, Manifest, Progress, blocking,
    files::{self, Content},
    manifest::component_path,
};
use crate::{
    clock::Timestamp,
    db::{
        Database, DbError, disk,
        journal::{Chain, Flaw},
    },
};

/// A backup whose preconditions are met.
#[derive(Debug)]
pub struct Plan {
    folder: PathBuf,
    /// Temporary folder beside the final one, in which the backup is written.
    part: PathBuf,
    /// Components folder of the data folder.
    components: PathBuf,
    database_bytes: u64,
}

/// Checks the preconditions of a backup before anything is written. `spare_bytes` must stay free on the disk of
/// `folder`.
pub async fn prepare(
    database: &Database,
    data_dir: &Path,
    folder: &Path,
    spare_bytes: u64,
) -> Result<Plan, BackupError> {
    let refuse = |sentence: String| Err(BackupError::Precondition(sentence));
    let (Some(parent), Some(name)) = (folder.parent().filter(|_| folder.is_absolute()), folder.file_name()) else {
        return refuse(format!("{} must be the absolute path of a new folder", folder.display()));
    };
    let mut part = name.to_owned();
    part.push(".part");
    let part = parent.join(part);
    if folder.symlink_metadata().is_ok() {
        return refuse(format!("{} exists already; name a new folder", folder.display()));
    }
    if part.symlink_metadata().is_ok() {
        let part = part.display();
        return refuse(format!("{part} exists: a backup is being written, or was interrupted; in that case remove it"));
    }
    let components = data_dir.join(COMPONENTS_FOLDER);
    if let (Ok(parent), Ok(components)) = (parent.canonicalize(), components.canonicalize())
        && parent.starts_with(&components)
    {
        return refuse(format!("{} is inside the components folder, which is part of every backup", folder.display()));
    }
    let database_bytes = database.copy_bytes().await?;
    let kept = component_names(&components).map_err(BackupError::file(&components))?;
    let sizes = kept.iter().filter_map(|name| fs::metadata(components.join(name)).ok()).map(|data| data.len());
    let needed = sizes.fold(database_bytes, u64::saturating_add);
    let free = disk::free_bytes(parent).map_err(BackupError::file(parent))?;
    if free < needed.saturating_add(spare_bytes) {
        return refuse(format!(
            "{} has {free} bytes free; the backup needs {needed}, and {spare_bytes} must stay free",
            parent.display()
        ));
    }
    Ok(Plan { folder: folder.to_owned(), part, components, database_bytes })
}

/// Writes the backup. Leaves a complete folder, or none.
pub async fn write(
    database: &Database,
    plan: Plan,
    now: Timestamp,
    progress: &Arc<Progress>,
) -> Result<Manifest, BackupError> {
    files::create_folder(&plan.part).map_err(BackupError::file(&plan.part))?;
    let written = fill(database, &plan, now, progress).await;
    match written {
        // A cancellation makes the current step fail. The cancellation is reported instead of that error.
        Err(_) if progress.is_cancelled() => {
            let _removed = fs::remove_dir_all(&plan.part);
            Err(BackupError::Cancelled)
        }
        Err(error) => {
            let _removed = fs::remove_dir_all(&plan.part);
            Err(error)
        }
        Ok(manifest) => Ok(manifest),
    }
}

async fn fill(
    database: &Database,
    plan: &Plan,
    now: Timestamp,
    progress: &Arc<Progress>,
) -> Result<Manifest, BackupError> {
    let file = plan.part.join(DATABASE_FILE);
    progress.begin_file("copy", &file, plan.database_bytes)?;
    database.copy_into(&file, progress.continuation_check()).await?;
    progress.begin("components")?;
    let (from, to, shared) = (plan.components.clone(), plan.part.clone(), progress.clone());
    let components = blocking(move || copy_components(&from, &to, &shared)).await?;
    progress.begin("check")?;
    let copy = Database::open_immutable(&file, progress.continuation_check()).await?;
    let schema = copy.schema().await?;
    let checks = check(&copy, &components, progress).await?;
    copy.close().await?;
    progress.begin("hash")?;
    let (hashed, shared) = (file.clone(), progress.clone());
    let content = blocking(move || files::hash(&hashed, &shared).map_err(BackupError::file(&hashed))).await?;
    let database = entry(DATABASE_FILE.to_owned(), content);
    let manifest = Manifest::new(now, schema, (database, components), checks);
    manifest.write(&plan.part)?;
    let parent = plan.folder.parent().unwrap_or(Path::new("/"));
    files::sync_folder(&plan.part.join(COMPONENTS_FOLDER))
        .and_then(|()| files::sync_folder(&plan.part))
        .and_then(|()| fs::rename(&plan.part, &plan.folder))
        .and_then(|()| files::sync_folder(parent))
        .map_err(BackupError::file(&plan.folder))?;
    Ok(manifest)
}

fn entry(path: String, content: Content) -> FileEntry {
    FileEntry { path, bytes: content.bytes, sha256: content.sha256 }
}

/// Returns the file names of the components, or none if the folder does not exist.
fn component_names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".wasm")).collect();
    names.sort();
    Ok(names)
}

/// Copies the components. A component that is pruned meanwhile is not needed, and a component with a wrong hash is
/// omitted.
fn copy_components(from: &Path, to: &Path, progress: &Progress) -> Result<Vec<FileEntry>, BackupError> {
    let folder = to.join(COMPONENTS_FOLDER);
    files::create_folder(&folder).map_err(BackupError::file(&folder))?;
    let mut copied = Vec::new();
    for name in component_names(from).map_err(BackupError::file(from))? {
        let (source, target) = (from.join(&name), folder.join(&name));
        let content = match files::copy(&source, &target, progress) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            content => Some(content.map_err(BackupError::file(&source))?),
        };
        match content {
            Some(content) if name == format!("{}.wasm", content.sha256) => {
                copied.push(entry(component_path(&content.sha256), content));
            }
            _ => files::remove_file(&target).map_err(BackupError::file(&target))?,
        }
    }
    Ok(copied)
}

/// Verifies the copy. Inconsistencies of its content are reported as findings, but do not fail the backup: it is the
/// best copy that exists.
async fn check(copy: &Database, components: &[FileEntry], progress: &Progress) -> Result<Checks, BackupError> {
    let pages = copy.check_pages().await?;
    if let Some(first) = pages.problems.first() {
        let many = pages.problems.len();
        return Err(DbError::Corrupt(format!("the copy is damaged ({many} findings, the first: {first})")).into());
    }
    progress.begin("books")?;
    let chains = copy.verify_all_chains().await?;
    let sums = copy.ledger_sums().await?;
    let mut findings = Vec::new();
    for chain in &chains {
        let Chain { plugin, tenant, .. } = chain;
        if let Some(Flaw { seq, kind }) = chain.flaw {
            findings.push(format!("the journal of {plugin} of {tenant} is broken at line {seq}: {kind}"));
        }
    }
    for sum in sums.iter().filter(|sum| sum.sum != 0) {
        let (plugin, tenant, asset) = (&sum.plugin, &sum.tenant, &sum.asset);
        findings.push(format!("the balances of {asset} of {plugin} of {tenant} sum up to {}, not to 0", sum.sum));
    }
    for hash in copy.list_served_components().await? {
        if !components.iter().any(|file| file.sha256 == hash) {
            findings.push(format!("the served component {hash} is not in the components folder"));
        }
    }
    let (journal_lines, ledger_sums) = (chains.iter().map(Chain::lines).sum(), sums.len() as u64);
    Ok(Checks { thorough: pages.thorough, journal_lines, ledger_sums, findings })
}
