//! Detects changes of the components and of plugins.toml.
//!
//! Watches folders and not files, because a file is usually replaced by renaming another one over it. If a folder does
//! not exist, the nearest existing one above it is watched. Reports only that a file changed; `reload::settle` reads
//! it. Events of reading are ignored, because the host's own reads would cause further events.
//!
//! Watches do not follow symbolic links, and stay with a folder that is moved away. Therefore a poller compares the
//! metadata of each file every `limits::FILES_POLL_MS`, by the given path. It also finds the changes if the system has
//! no watches left.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{JoinSet, spawn_blocking},
};

use crate::limits;

/// Maximum number of rounds in which `set_files` watches folders that have appeared since the last round.
const FOLDERS_APPEARING_MAX: usize = 32;

/// Remedy for missing watches, for operators.
const REMEDY: &str =
    "raise fs.inotify.max_user_watches or fs.inotify.max_user_instances with sysctl, and restart the host";

/// Detects changes of a set of files until it is dropped.
pub struct Watch {
    /// `None` if it could not be created, for example because the system has no watches left.
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, FolderId>,
    changes: Arc<Changes>,
    /// Ends when it is dropped.
    _poller: JoinSet<()>,
}

/// Device and inode. A folder that replaces another one of the same name must be watched as well.
type FolderId = (u64, u64);

/// Files that have changed and were not reported yet. Several events of one file are one change.
#[derive(Default)]
pub struct Changes {
    state: Mutex<State>,
    happened: Notify,
}

#[derive(Default)]
struct State {
    /// Watched files by the given path.
    watched: HashMap<PathBuf, WatchedFile>,
    changed: BTreeSet<PathBuf>,
}

struct WatchedFile {
    /// The path as events spell it.
    resolved: PathBuf,
    /// Metadata at the last comparison. `None` if there was no file.
    stamp: Option<Stamp>,
}

/// Metadata of a file. They differ after the content was replaced. Links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    /// Also differs if the time of modification was set back.
    changed: (i64, i64),
}

impl Stamp {
    fn read(file: &Path) -> Option<Stamp> {
        let data = fs::metadata(file).ok()?;
        Some(Stamp {
            device: data.dev(),
            inode: data.ino(),
            bytes: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        })
    }
}

impl Watch {
    /// Starts to watch. If the system provides no watcher, the poller finds the changes.
    pub fn start() -> Watch {
        let changes = Arc::new(Changes::default());
        let recorded = changes.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) => recorded.record_event(&event),
            Err(error) => {
                tracing::warn!(%error, "watching files failed, so all of them are checked");
                recorded.record_all();
            }
        });
        Watch::new(watcher, changes)
    }

    fn new(watcher: notify::Result<RecommendedWatcher>, changes: Arc<Changes>) -> Watch {
        let watcher = watcher.inspect_err(|error| {
            let every_ms = limits::FILES_POLL_MS;
            tracing::warn!(%error, every_ms, "failed to watch files, so they are polled: {REMEDY}");
        });
        let mut poller = JoinSet::new();
        poller.spawn(poll(changes.clone()));
        Watch { watcher: watcher.ok(), folders: HashMap::new(), changes, _poller: poller }
    }

    pub fn changes(&self) -> Arc<Changes> {
        self.changes.clone()
    }

    /// Replaces the set of files, given by absolute paths. Must be called again when a folder has appeared or was
    /// replaced.
    pub fn set_files(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let files: Vec<PathBuf> = files.into_iter().collect();
        self.changes.set_files(&files);
        if self.watcher.is_none() {
            return;
        }
        // A folder may appear between the lookup and the watch. The next round finds it.
        for _ in 0..FOLDERS_APPEARING_MAX {
            let folders: HashMap<PathBuf, FolderId> =
                files.iter().filter_map(|file| nearest_folder(&resolve(file))).collect();
            if folders == self.folders {
                return;
            }
            self.watch_folders(folders);
        }
    }

    /// Replaces the watched folders. The poller finds the changes in a folder that cannot be watched.
    fn watch_folders(&mut self, folders: HashMap<PathBuf, FolderId>) {
        let Some(watcher) = &mut self.watcher else { return };
        for (gone, _) in self.folders.iter().filter(|(path, id)| folders.get(*path) != Some(*id)) {
            let _unwatched = watcher.unwatch(gone);
        }
        let mut failures = Vec::new();
        for (new, _) in folders.iter().filter(|(path, id)| self.folders.get(*path) != Some(*id)) {
            if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                failures.push(format!("{}: {error}", new.display()));
            }
        }
        if let Some(first) = failures.first() {
            let (count, every_ms) = (failures.len(), limits::FILES_POLL_MS);
            tracing::warn!(count, every_ms, "failed to watch folders, so their files are polled ({first}): {REMEDY}");
        }
        self.folders = folders;
    }
}

impl Changes {
    /// Waits for the next changes. Returns several if they occurred close together.
    pub async fn next(&self) -> Vec<PathBuf> {
        loop {
            let happened = self.happened.notified();
            let changed = std::mem::take(&mut self.state.lock().changed);
            if !changed.is_empty() {
                self.record_reported(&changed);
                return changed.into_iter().collect();
            }
            happened.await;
        }
    }

    /// Stores the metadata of reported files, so that the next comparison does not report them again.
    fn record_reported(&self, files: &BTreeSet<PathBuf>) {
        let stamps: Vec<_> = files.iter().map(|file| Stamp::read(file)).collect();
        let mut state = self.state.lock();
        for (file, stamp) in std::iter::zip(files, stamps) {
            if let Some(known) = state.watched.get_mut(file) {
                known.stamp = stamp;
            }
        }
    }

    fn record_event(&self, event: &Event) {
        if event.need_rescan() {
            return self.record_all();
        }
        if is_reading(event.kind) {
            return;
        }
        let mut state = self.state.lock();
        let State { watched, changed } = &mut *state;
        // An event of a parent folder counts as an event of the file, because the file may have appeared with it.
        let is_touched = |file: &WatchedFile| event.paths.iter().any(|path| file.resolved.starts_with(path));
        changed.extend(watched.iter().filter(|(_, file)| is_touched(file)).map(|(path, _)| path.clone()));
        if !changed.is_empty() {
            self.happened.notify_one();
        }
    }

    fn record_all(&self) {
        let mut state = self.state.lock();
        let State { watched, changed } = &mut *state;
        changed.extend(watched.keys().cloned());
        self.happened.notify_one();
    }

    fn set_files(&self, files: &[PathBuf]) {
        let found: Vec<_> = files.iter().map(|file| (resolve(file), Stamp::read(file))).collect();
        let mut state = self.state.lock();
        let before = std::mem::take(&mut state.watched);
        state.watched = std::iter::zip(files, found)
            .map(|(file, (resolved, stamp))| {
                let stamp = before.get(file).map_or(stamp, |known| known.stamp);
                (file.clone(), WatchedFile { resolved, stamp })
            })
            .collect();
    }

    /// Records the files whose metadata differ from those of the last comparison. Blocking.
    fn compare(&self) {
        let files: Vec<PathBuf> = self.state.lock().watched.keys().cloned().collect();
        let stamps: Vec<_> = files.iter().map(|file| Stamp::read(file)).collect();
        let mut state = self.state.lock();
        let State { watched, changed } = &mut *state;
        for (file, stamp) in std::iter::zip(files, stamps) {
            if let Some(known) = watched.get_mut(&file).filter(|known| known.stamp != stamp) {
                known.stamp = stamp;
                changed.insert(file);
            }
        }
        if !changed.is_empty() {
            self.happened.notify_one();
        }
    }
}

/// Polls the files. A file system that does not respond blocks only this loop and one thread.
async fn poll(changes: Arc<Changes>) {
    loop {
        tokio::time::sleep(Duration::from_millis(limits::FILES_POLL_MS)).await;
        let changes = changes.clone();
        let _panicked = spawn_blocking(move || changes.compare()).await;
    }
}

fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// Returns the absolute path. Links are not resolved, because their targets may change.
pub fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// Returns the path as events spell it: links are resolved in the part that exists.
fn resolve(file: &Path) -> PathBuf {
    let whole = absolute(file);
    for folder in whole.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), whole.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    whole
}

fn nearest_folder(file: &Path) -> Option<(PathBuf, FolderId)> {
    file.ancestors().skip(1).find_map(|folder| {
        let data = fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?;
        Some((folder.to_owned(), (data.dev(), data.ino())))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    async fn next(watch: &Watch) -> Vec<PathBuf> {
        tokio::time::timeout(Duration::from_secs(10), watch.changes.next()).await.expect("no event came")
    }

    #[tokio::test]
    async fn file_that_is_replaced_by_rename_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        let mut watch = Watch::start();
        watch.set_files([file.clone()]);
        fs::write(folder.path().join("beside"), "x").unwrap();
        fs::rename(folder.path().join("beside"), &file).unwrap();
        assert_eq!(next(&watch).await, [absolute(&file)]);
    }

    #[tokio::test]
    async fn file_in_a_folder_that_does_not_exist_yet_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("target/deep/a.wasm");
        let mut watch = Watch::start();
        watch.set_files([file.clone()]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(next(&watch).await, [absolute(&file)]);
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_polled_if_the_system_has_no_watches_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        let none_left = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        let mut watch = Watch::new(Err(none_left), Arc::default());
        watch.set_files([file.clone()]);
        fs::write(&file, "x").unwrap();
        assert_eq!(next(&watch).await, std::slice::from_ref(&file));
        fs::remove_file(&file).unwrap();
        assert_eq!(next(&watch).await, [file]);
    }

    #[tokio::test]
    async fn folder_that_replaces_another_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let (place, new) = (folder.path().join("c"), folder.path().join("c_new"));
        fs::create_dir(&place).unwrap();
        fs::create_dir(&new).unwrap();
        let file = place.join("a.wasm");
        let mut watch = Watch::start();
        watch.set_files([file.clone()]);
        fs::rename(&place, folder.path().join("c_old")).unwrap();
        fs::rename(&new, &place).unwrap();
        assert_eq!(next(&watch).await, std::slice::from_ref(&file));

        watch.set_files([file.clone()]);
        let watched: Vec<FolderId> = watch.folders.values().copied().collect();
        let data = fs::metadata(&place).unwrap();
        assert_eq!(watched, [(data.dev(), data.ino())]);
        fs::write(&file, "x").unwrap();
        assert_eq!(next(&watch).await, [file]);
    }

    #[tokio::test]
    async fn comparison_follows_links() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("current"));
        for release in ["1", "2"] {
            fs::create_dir(folder.path().join(release)).unwrap();
            fs::write(folder.path().join(release).join("a.wasm"), release).unwrap();
        }
        fs::write(&target, "x").unwrap();
        symlink(folder.path().join("1"), &link).unwrap();
        symlink(&target, folder.path().join("b.wasm")).unwrap();
        let (first, second) = (link.join("a.wasm"), folder.path().join("b.wasm"));
        let changes = Changes::default();
        changes.set_files(&[first.clone(), second.clone()]);
        changes.compare();
        assert!(changes.state.lock().changed.is_empty());

        fs::write(&target, "of an event").unwrap();
        changes.record_event(&Event::new(EventKind::Any).add_path(resolve(&second)));
        assert_eq!(changes.next().await, std::slice::from_ref(&second));
        changes.compare();
        assert!(changes.state.lock().changed.is_empty());

        fs::remove_file(&link).unwrap();
        symlink(folder.path().join("2"), &link).unwrap();
        changes.compare();
        assert_eq!(changes.next().await, [first]);
        fs::write(&target, "again").unwrap();
        changes.compare();
        assert_eq!(changes.next().await, [second]);
        changes.compare();
        assert!(changes.state.lock().changed.is_empty());
    }

    #[test]
    fn events_of_other_files_and_reads_are_ignored() {
        let changes = Changes::default();
        changes.set_files(&["/a/b".into()]);
        changes.record_event(&Event::new(EventKind::Any).add_path("/a/other".into()));
        changes.record_event(&Event::new(EventKind::Access(AccessKind::Open(AccessMode::Any))).add_path("/a/b".into()));
        assert!(changes.state.lock().changed.is_empty());
        changes.record_event(&Event::new(EventKind::Any).add_path("/a/b".into()));
        assert_eq!(changes.state.lock().changed.len(), 1);
    }
}
