//! Which of the files that matter have changed: the components and plugins.toml.
//!
//! Watches folders, not files, because a file is usually replaced by renaming another one over it; where a folder does
//! not exist yet, the nearest one above it. Only says *that* something happened; reading is `reload::settle`'s.
//! Reading a file is an event as well: those are left out, or the host would wake itself for ever.
//!
//! Watches do not see where a symbolic link leads, and stay with a folder that is moved away. So a poller compares the metadata of each
//! file every `limits::FILES_POLL_MS`, by the path that was given. It also finds the changes if the system has no watches left.

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

/// A component does not lie deeper than this below the first folder that exists.
const FOLDERS_APPEARING_MAX: usize = 32;

/// How an operator gets watches again.
const REMEDY: &str =
    "raise fs.inotify.max_user_watches or fs.inotify.max_user_instances with sysctl, and restart the host";

/// Tells about changes of a set of files. Ends when it is dropped.
pub struct Watch {
    /// `None` if the system has no watches left.
    watcher: Option<RecommendedWatcher>,
    folders: HashMap<PathBuf, FolderId>,
    changes: Arc<Changes>,
    /// Ends when it is dropped.
    _poller: JoinSet<()>,
}

/// Device and inode. A folder that takes the place of another one of its name has to be watched as well.
type FolderId = (u64, u64);

/// What has changed and was not looked at yet. Many events of one file are one change.
#[derive(Default)]
pub struct Changes {
    state: Mutex<State>,
    happened: Notify,
}

#[derive(Default)]
struct State {
    /// By the path that was given.
    wanted: HashMap<PathBuf, Wanted>,
    changed: BTreeSet<PathBuf>,
}

struct Wanted {
    /// The path as events spell it.
    resolved: PathBuf,
    /// Metadata at the last comparison; `None` if there was no file.
    stamp: Option<Stamp>,
}

/// Metadata of a file that differ once its content was replaced. Links are followed.
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
    /// Without watches of the system, the poller finds the changes.
    pub fn start() -> Watch {
        let changes = Arc::new(Changes::default());
        let noted = changes.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) => noted.note(&event),
            Err(error) => {
                tracing::warn!(%error, "watching files failed once; looking at all of them");
                noted.note_all();
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

    /// From now on these files matter, by absolute paths. Call it again when a folder has appeared or was replaced.
    pub fn set_files(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let files: Vec<PathBuf> = files.into_iter().collect();
        self.changes.set_files(&files);
        if self.watcher.is_none() {
            return;
        }
        // A folder may appear between the question and the watch; the next one below it is then asked for again.
        for _ in 0..FOLDERS_APPEARING_MAX {
            let folders: HashMap<PathBuf, FolderId> =
                files.iter().filter_map(|file| nearest_folder(&resolve(file))).collect();
            if folders == self.folders {
                return;
            }
            self.watch_folders(folders);
        }
    }

    /// The poller finds the changes in folders that cannot be watched.
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
    /// Waits for the next changes; several at once where they came close together.
    pub async fn next(&self) -> Vec<PathBuf> {
        loop {
            let happened = self.happened.notified();
            let changed = std::mem::take(&mut self.state.lock().changed);
            if !changed.is_empty() {
                self.note_seen(&changed);
                return changed.into_iter().collect();
            }
            happened.await;
        }
    }

    /// The next comparison does not note what is handed out now.
    fn note_seen(&self, files: &BTreeSet<PathBuf>) {
        let stamps: Vec<_> = files.iter().map(|file| Stamp::read(file)).collect();
        let mut state = self.state.lock();
        for (file, stamp) in std::iter::zip(files, stamps) {
            if let Some(known) = state.wanted.get_mut(file) {
                known.stamp = stamp;
            }
        }
    }

    fn note(&self, event: &Event) {
        if event.need_rescan() {
            return self.note_all();
        }
        if is_reading(event.kind) {
            return;
        }
        let mut state = self.state.lock();
        let State { wanted, changed } = &mut *state;
        // A folder on the way to a file counts for the file: it may have appeared with it.
        let is_touched = |wanted: &Wanted| event.paths.iter().any(|path| wanted.resolved.starts_with(path));
        changed.extend(wanted.iter().filter(|(_, wanted)| is_touched(wanted)).map(|(file, _)| file.clone()));
        if !changed.is_empty() {
            self.happened.notify_one();
        }
    }

    fn note_all(&self) {
        let mut state = self.state.lock();
        let State { wanted, changed } = &mut *state;
        changed.extend(wanted.keys().cloned());
        self.happened.notify_one();
    }

    fn set_files(&self, files: &[PathBuf]) {
        let found: Vec<_> = files.iter().map(|file| (resolve(file), Stamp::read(file))).collect();
        let mut state = self.state.lock();
        let before = std::mem::take(&mut state.wanted);
        state.wanted = std::iter::zip(files, found)
            .map(|(file, (resolved, stamp))| {
                let stamp = before.get(file).map_or(stamp, |known| known.stamp);
                (file.clone(), Wanted { resolved, stamp })
            })
            .collect();
    }

    /// Notes the files whose metadata differ from those of the last comparison. Blocking.
    fn compare(&self) {
        let files: Vec<PathBuf> = self.state.lock().wanted.keys().cloned().collect();
        let stamps: Vec<_> = files.iter().map(|file| Stamp::read(file)).collect();
        let mut state = self.state.lock();
        let State { wanted, changed } = &mut *state;
        for (file, stamp) in std::iter::zip(files, stamps) {
            if let Some(known) = wanted.get_mut(&file).filter(|known| known.stamp != stamp) {
                known.stamp = stamp;
                changed.insert(file);
            }
        }
        if !changed.is_empty() {
            self.happened.notify_one();
        }
    }
}

/// A file system that does not answer holds up this loop and one thread, and nothing else.
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

/// The path from the root, with links as they are: they may lead elsewhere later.
pub fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// The path as events spell it: the folder with links resolved as far as it exists, then the rest.
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
    async fn a_file_that_is_renamed_into_its_place_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        let mut watch = Watch::start();
        watch.set_files([file.clone()]);
        fs::write(folder.path().join("beside"), "x").unwrap();
        fs::rename(folder.path().join("beside"), &file).unwrap();
        assert_eq!(next(&watch).await, [absolute(&file)]);
    }

    #[tokio::test]
    async fn a_file_in_a_folder_that_does_not_exist_yet_is_found() {
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
    async fn folder_that_takes_the_place_of_another_is_watched() {
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
    async fn comparison_finds_what_a_link_leads_to() {
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
        changes.note(&Event::new(EventKind::Any).add_path(resolve(&second)));
        assert_eq!(changes.next().await, std::slice::from_ref(&second));
        changes.compare();
        assert!(changes.state.lock().changed.is_empty());

        fs::remove_file(&link).unwrap();
        symlink(folder.path().join("2"), &link).unwrap();
        changes.compare();
        assert_eq!(changes.next().await, [first]);
        fs::write(&target, "once more").unwrap();
        changes.compare();
        assert_eq!(changes.next().await, [second]);
        changes.compare();
        assert!(changes.state.lock().changed.is_empty());
    }

    #[test]
    fn other_files_and_reading_are_no_changes() {
        let changes = Changes::default();
        changes.set_files(&["/a/b".into()]);
        changes.note(&Event::new(EventKind::Any).add_path("/a/other".into()));
        changes.note(&Event::new(EventKind::Access(AccessKind::Open(AccessMode::Any))).add_path("/a/b".into()));
        assert!(changes.state.lock().changed.is_empty());
        changes.note(&Event::new(EventKind::Any).add_path("/a/b".into()));
        assert_eq!(changes.state.lock().changed.len(), 1);
    }
}
