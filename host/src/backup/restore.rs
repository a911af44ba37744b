//! The way back: a backup becomes the data of a folder in which no host runs.
//!
//! Components go first, since their names are their contents: more of them harm nobody. The database is written aside and
//! takes its place in one step (`db::Replacement`).

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    BackupError, COMPONENTS_FOLDER, FileEntry, Manifest, Progress, blocking,
    files::{self, Content},
};
use crate::{
    changes::operator_action::OperatorAction,
    clock::Timestamp,
    db::{Database, DbError, Old, Replacement, disk, swaps::SwapRow},
    limits::SPARE_DISK_BYTES,
};

/// What is to be restored, and where to.
#[derive(Clone, Debug)]
pub struct Restore {
    pub backup: PathBuf,
    pub data_dir: PathBuf,
    /// "sqlite:PATH".
    pub database_url: String,
    pub old: Old,
    /// For the journal of operators.
    pub who: String,
}

#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    pub database: PathBuf,
    /// Where the database is that was there before.
    pub replaced: Option<PathBuf>,
}

pub async fn restore(request: Restore, now: Timestamp, progress: &Arc<Progress>) -> Result<Restored, BackupError> {
    let manifest = Manifest::read(&request.backup)?;
    Replacement::check(&request.database_url, request.old)?;
    verify(&request.backup, &manifest, progress).await?;
    make_folder(&request.data_dir)?;
    let replacement = Replacement::begin(&request.database_url, request.old).await?;
    check_room(&request, &manifest, replacement.part())?;
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
    let (database, replaced) = replacement.commit(&line(&request, &manifest, now)).await?;
    Ok(Restored { manifest, database, replaced })
}

/// Whether everything is as it was written.
async fn verify(backup: &Path, manifest: &Manifest, progress: &Arc<Progress>) -> Result<(), BackupError> {
    progress.begin("verify")?;
    for file in manifest.components.iter().chain([&manifest.database]) {
        let (path, file, progress) = (backup.join(&file.path), file.clone(), progress.clone());
        blocking(move || {
            let content = files::hash(&path, &progress).map_err(BackupError::file(&path))?;
            compare(&path, &file, &content)
        })
        .await?;
    }
    progress.begin("check")?;
    let copy = Database::open_still(&backup.join(&manifest.database.path), progress.continuation_check()).await?;
    let pages = copy.check_pages().await?;
    copy.close().await?;
    match pages.mistakes.first() {
        None => Ok(()),
        Some(first) => Err(DbError::Corrupt(format!("the backup is not sound: {first}")).into()),
    }
}

fn compare(path: &Path, listed: &FileEntry, found: &Content) -> Result<(), BackupError> {
    if found.bytes == listed.bytes && found.sha256 == listed.sha256 {
        return Ok(());
    }
    Err(BackupError::Refused(format!(
        "{} is damaged: it has {} bytes and the hash {}, its manifest says {} and {}; nothing was changed",
        path.display(),
        found.bytes,
        found.sha256,
        listed.bytes,
        listed.sha256
    )))
}

/// Mode 0700 where it is made.
fn make_folder(path: &Path) -> Result<(), BackupError> {
    if path.is_dir() { Ok(()) } else { files::create_folder(path).map_err(BackupError::file(path)) }
}

fn check_room(request: &Restore, manifest: &Manifest, part: &Path) -> Result<(), BackupError> {
    let folder = part.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(&request.data_dir);
    let free = disk::free_bytes(folder).map_err(BackupError::file(folder))?;
    let needed = manifest.bytes().saturating_add(SPARE_DISK_BYTES);
    if free >= needed {
        return Ok(());
    }
    Err(BackupError::Refused(format!("{} has {free} bytes left, restoring takes {needed}", folder.display())))
}

fn copy_components(
    backup: &Path,
    data_dir: &Path,
    listed: &[FileEntry],
    progress: &Progress,
) -> Result<(), BackupError> {
    let folder = data_dir.join(COMPONENTS_FOLDER);
    make_folder(&folder)?;
    for file in listed {
        let place = data_dir.join(&file.path);
        // A host that starts removes what a process left behind that has ended.
        let part = place.with_extension(format!("wasm.{}-0.part", std::process::id()));
        files::remove_file(&part).map_err(BackupError::file(&part))?;
        copy_listed(backup, file, &part, progress)?;
        fs::rename(&part, &place).map_err(BackupError::file(&place))?;
    }
    files::sync_folder(&folder).map_err(BackupError::file(&folder))
}

/// Compared again: the file may have changed since it was looked at.
fn copy_listed(backup: &Path, file: &FileEntry, to: &Path, progress: &Progress) -> Result<(), BackupError> {
    let from = backup.join(&file.path);
    let content = files::copy(&from, to, progress).map_err(BackupError::file(&from))?;
    compare(&from, file, &content)
}

fn line(request: &Restore, manifest: &Manifest, now: Timestamp) -> SwapRow {
    let what = format!("the backup {} of {} was restored", request.backup.display(), manifest.made_at);
    SwapRow::from(&OperatorAction::done(now, &request.who, ("*", "restore"), what))
}
