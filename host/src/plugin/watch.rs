//! Which of the files that matter have changed: the components and plugins.toml.
//!
//! Watches folders, not files, because a file is usually replaced by renaming another one over it; where a folder does
//! not exist yet, the nearest one above it. Only says *that* something happened; reading is `reload::settle`'s.
//! Reading a file is an event as well: those are left out, or the host would wake itself for ever.

use std::{
    collections::{BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A component does not lie deeper than this below the first folder that exists.
const FOLDERS_APPEARING_MAX: usize = 32;

/// Tells about changes of a set of files. Ends when it is dropped.
pub struct Watch {
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
    changes: Arc<Changes>,
}

/// What has changed and was not looked at yet. Many events of one file are one change.
#[derive(Default)]
pub struct Changes {
    state: Mutex<State>,
    happened: Notify,
}

#[derive(Default)]
struct State {
    wanted: HashSet<PathBuf>,
    changed: BTreeSet<PathBuf>,
}

impl Watch {
    /// Fails where the system has no watches left; then changes come by the operators' interface only.
    pub fn start() -> notify::Result<Watch> {
        let changes = Arc::new(Changes::default());
        let told = changes.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) => told.note(&event),
            Err(error) => {
                tracing::warn!(%error, "watching files failed once; looking at all of them");
                told.note_all();
            }
        })?;
        Ok(Watch { watcher, folders: HashSet::new(), changes })
    }

    pub fn changes(&self) -> Arc<Changes> {
        self.changes.clone()
    }

    /// From now on these files matter. Call it again when a folder has appeared.
    pub fn set_files(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let wanted: HashSet<PathBuf> = files.into_iter().map(|file| absolute(&file)).collect();
        self.changes.state.lock().wanted = wanted.clone();
        // A folder may appear between the question and the watch; the next one below it is then asked for again.
        for _ in 0..FOLDERS_APPEARING_MAX {
            let folders: HashSet<PathBuf> = wanted.iter().filter_map(|file| nearest_folder(file)).collect();
            if folders == self.folders {
                return;
            }
            self.watch_folders(folders);
        }
    }

    fn watch_folders(&mut self, folders: HashSet<PathBuf>) {
        for gone in self.folders.difference(&folders) {
            let _unwatched = self.watcher.unwatch(gone);
        }
        for new in folders.difference(&self.folders) {
            if let Err(error) = self.watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::warn!(folder = %new.display(), %error, "this folder cannot be watched");
            }
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
                return changed.into_iter().collect();
            }
            happened.await;
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
        changed.extend(wanted.iter().filter(|file| event.paths.iter().any(|path| file.starts_with(path))).cloned());
        if !changed.is_empty() {
            self.happened.notify_one();
        }
    }

    fn note_all(&self) {
        let mut state = self.state.lock();
        let State { wanted, changed } = &mut *state;
        changed.extend(wanted.iter().cloned());
        self.happened.notify_one();
    }
}

fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// The path as events spell it: the folder with links resolved as far as it exists, then the rest.
pub fn absolute(file: &Path) -> PathBuf {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    for folder in whole.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), whole.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    whole
}

fn nearest_folder(file: &Path) -> Option<PathBuf> {
    file.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    async fn next(watch: &Watch) -> Vec<PathBuf> {
        tokio::time::timeout(Duration::from_secs(10), watch.changes.next()).await.expect("no event came")
    }

    #[tokio::test]
    async fn a_file_that_is_renamed_into_its_place_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.wasm");
        let mut watch = Watch::start().unwrap();
        watch.set_files([file.clone()]);
        fs::write(folder.path().join("beside"), "x").unwrap();
        fs::rename(folder.path().join("beside"), &file).unwrap();
        assert_eq!(next(&watch).await, [absolute(&file)]);
    }

    #[tokio::test]
    async fn a_file_in_a_folder_that_does_not_exist_yet_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("target/deep/a.wasm");
        let mut watch = Watch::start().unwrap();
        watch.set_files([file.clone()]);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(next(&watch).await, [absolute(&file)]);
    }

    #[test]
    fn other_files_and_reading_are_no_changes() {
        let changes = Changes::default();
        changes.state.lock().wanted.insert("/a/b".into());
        changes.note(&Event::new(EventKind::Any).add_path("/a/other".into()));
        changes.note(&Event::new(EventKind::Access(AccessKind::Open(AccessMode::Any))).add_path("/a/b".into()));
        assert!(changes.state.lock().changed.is_empty());
        changes.note(&Event::new(EventKind::Any).add_path("/a/b".into()));
        assert_eq!(changes.state.lock().changed.len(), 1);
    }
}
