//! Restores a backup into a data folder in which no host runs.
//!
//! Components are copied first: they are named by their hash, so additional ones are harmless. The database is written
//! to a temporary file and replaces the existing one atomically (`db::Replacement`).

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    BackupError, COMPONENTS_FOLDER, FileEntry, Manifest, Progress, blocking,
    files::{self, Content},
};
use crate::{
    changes::operator_action::{OperatorAction, RESTORE},
    clock::Timestamp,
    db::{Database, DbError, ExistingDatabase, Replacement, disk, swaps::SwapRow},
    limits::SPARE_DISK_BYTES,
};

/// Request to restore a backup.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    pub backup: PathBuf,
    pub data_dir: PathBuf,
    /// "sqlite:PATH".
    pub database_url: String,
    pub old: ExistingDatabase,
    /// Operator name for the journal.
    pub operator: String,
}

#[derive(Debug)]
pub struct RestoreResult {
    pub manifest: Manifest,
    pub database: PathBuf,
    /// New path of the database that was replaced.
    pub replaced: Option<PathBuf>,
}

pub async fn restore(
    request: RestoreRequest,
    now: Timestamp,
    progress: &Arc<Progress>,
) -> Result<RestoreResult, BackupError> {
    let manifest = Manifest::read(&request.backup)?;
    Replacement::check(&request.database_url, request.old)?;
    verify(&request.backup, &manifest, progress).await?;
    create_missing_folder(&request.data_dir)?;
    let replacement = Replacement::begin(&request.database_url, request.old).await?;
    check_free_space(&request, &manifest, replacement.part())?;
    progress.begin("components")?;
    let (from, to, listed) = (request.backup.clone(), request.data_dir.clone(), manifest.components.clone());
    blocking({
        let progress = progress.clone();
        move || copy_components(&from, &to, &listed, &progress)
    })
    .await?;
    progress.begin_file("copy", replacement.part(), manifest.database.bytes)?;
    let (from, to, file) = (request.backup.clone(), replacement.part().to_owned(), manifest.database.clone());
    blocking({
        let progress = progress.clone();
        move || copy_listed(&from, &file, &to, &progress)
    })
    .await?;
    progress.begin("exchange")?;
    let (database, replaced) = replacement.commit(&journal_line(&request, &manifest, now)).await?;
    Ok(RestoreResult { manifest, database, replaced })
}

/// Verifies that all files match the manifest and that the database is intact.
async fn verify(backup: &Path, manifest: &Manifest, progress: &Arc<Progress>) -> Result<(), BackupError> {
    progress.begin("verify")?;
    for file in manifest.components.iter().chain([&manifest.database]) {
        let (path, file, progress) = (backup.join(&file.path), file.clone(), progress.clone());
        blocking(move || {
            let content = files::hash(&path, &progress).map_err(BackupError::file(&path))?;
            compare(&file, &content).map_err(|difference| {
                BackupError::Precondition(format!("{} is damaged: {difference}; nothing was changed", path.display()))
            })
        })
        .await?;
    }
    progress.begin("check")?;
    let copy = Database::open_immutable(&backup.join(&manifest.database.path), progress.continuation_check()).await?;
    let pages = copy.check_pages().await?;
    copy.close().await?;
    match pages.problems.first() {
        None => Ok(()),
        Some(first) => Err(DbError::Corrupt(format!("the backup is damaged: {first}")).into()),
    }
}

/// Returns the difference as an error.
fn compare(listed: &FileEntry, found: &Content) -> Result<(), String> {
    if found.bytes == listed.bytes && found.sha256 == listed.sha256 {
        return Ok(());
    }
    Err(format!(
        "it has {} bytes and the hash {}, but its manifest lists {} and {}",
        found.bytes, found.sha256, listed.bytes, listed.sha256
    ))
}

/// Creates the folder with mode 0700 if it does not exist.
fn create_missing_folder(path: &Path) -> Result<(), BackupError> {
    if path.is_dir() { Ok(()) } else { files::create_folder(path).map_err(BackupError::file(path)) }
}

fn check_free_space(request: &RestoreRequest, manifest: &Manifest, part: &Path) -> Result<(), BackupError> {
    let folder = part.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&request.data_dir);
    let free = disk::free_bytes(folder).map_err(BackupError::file(folder))?;
    let needed = manifest.bytes().saturating_add(SPARE_DISK_BYTES);
    if free >= needed {
        return Ok(());
    }
    Err(BackupError::Precondition(format!("{} has {free} bytes free; the restore needs {needed}", folder.display())))
}

fn copy_components(
    backup: &Path,
    data_dir: &Path,
    listed: &[FileEntry],
    progress: &Progress,
) -> Result<(), BackupError> {
    let folder = data_dir.join(COMPONENTS_FOLDER);
    create_missing_folder(&folder)?;
    for file in listed {
        let target = data_dir.join(&file.path);
        // A starting host removes temporary files of processes that have ended.
        let part = target.with_extension(format!("wasm.{}-0.part", std::process::id()));
        files::remove_file(&part).map_err(BackupError::file(&part))?;
        copy_listed(backup, file, &part, progress)?;
        fs::rename(&part, &target).map_err(BackupError::file(&target))?;
    }
    files::sync_folder(&folder).map_err(BackupError::file(&folder))
}

/// Copies a file and compares it with the manifest again, because it may have changed since the verification.
fn copy_listed(backup: &Path, file: &FileEntry, to: &Path, progress: &Progress) -> Result<(), BackupError> {
    let from = backup.join(&file.path);
    let content = files::copy(&from, to, progress).map_err(BackupError::file(&from))?;
    compare(file, &content).map_err(|difference| {
        // Components may have been copied already.
        let message = format!("it was changed during the restore: {difference}; the database was not restored");
        BackupError::file(&from)(io::Error::other(message))
    })
}

fn journal_line(request: &RestoreRequest, manifest: &Manifest, now: Timestamp) -> SwapRow {
    let target = format!("the backup {} of {} was restored", request.backup.display(), manifest.made_at);
    SwapRow::from(&OperatorAction::done(now, &request.operator, ("*", RESTORE), target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_changes_during_the_restore_is_reported_without_the_claim_that_nothing_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.wasm"), "after").unwrap();
        let listed = FileEntry { path: "a.wasm".into(), bytes: 6, sha256: "00".repeat(32) };
        let copied = copy_listed(folder.path(), &listed, &folder.path().join("b.part"), &Progress::default());
        let error = copied.unwrap_err().to_string();
        assert!(error.contains("a.wasm: it was changed during the restore: it has 5 bytes"), "{error}");
        assert!(!error.contains("nothing was changed"), "{error}");
    }
}
