//! Components on disk: the bytes of every published one, for a rollback after a restart, and compiled code.
//!
//! Owns `components/` and `compiled/` in the data folder, both closed to everybody else (mode 0700). Files are written
//! beside their place, synced and moved there, so that a file is whole or absent. Either folder may be deleted while the
//! host runs: it is made again. Invariant: compiled code is handed to the engine only when it is the very content that this
//! host wrote, by the digest beside it; the engine believes compiled code blindly.

use std::{
    collections::HashSet,
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io,
    io::{ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    io::Errno,
    process::{Pid, geteuid, test_kill_process},
};
use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::{
    compile::{CompiledFile, Places},
    engine::ServingEngine,
};
use crate::{limits::ADMIN_COMPONENT_BYTES_MAX, regular_file};

/// Hex SHA-256: the identity of a component everywhere in the host.
pub fn hash(bytes: &[u8]) -> Arc<str> {
    hex::encode(Sha256::digest(bytes)).into()
}

/// Returns the hash of a regular file of at most `bytes_max` bytes. Only a buffer of it is in memory.
pub fn hash_file(file: &Path, bytes_max: usize) -> io::Result<Arc<str>> {
    let too_long = || io::Error::other(format!("it has more than {bytes_max} bytes"));
    let file = regular_file::open(file)?;
    if file.metadata()?.len() > bytes_max as u64 {
        return Err(too_long());
    }
    // The file may have grown since.
    let mut file = file.take((bytes_max as u64).saturating_add(1));
    let hash = hash_reader(&mut file)?;
    if file.limit() == 0 { Err(too_long()) } else { Ok(hash) }
}

/// Returns the hash of all bytes up to the end.
fn hash_reader(file: &mut impl Read) -> io::Result<Arc<str>> {
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; HASH_BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize()).into()),
            read => digest.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Of a file while it is hashed.
const HASH_BUFFER_BYTES: usize = 64 << 10;
/// Length of a digest in hex.
const DIGEST_BYTES_MAX: usize = 64;
const FUNCTIONS_ENDING: &str = ".functions";

/// Distinguishes unfinished files of this run from those of an earlier run with the same process id, as in a container.
static RUN: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().build_hasher().finish()));

/// Whether both folders of a data folder are there as a host of this user leaves them.
pub fn is_ready(data_dir: &Path) -> bool {
    let is_own = |folder: &str| {
        let data = fs::symlink_metadata(data_dir.join(folder));
        data.is_ok_and(|data| data.is_dir() && data.uid() == geteuid().as_raw() && data.mode() & 0o777 == 0o700)
    };
    is_own("components") && is_own("compiled")
}

/// The bytes of a component that a host keeps in this data folder; `None` if they are missing or damaged. Changes nothing: the host
/// may be another user's.
pub fn read_kept(data_dir: &Path, hash: &str) -> Option<Vec<u8>> {
    let path = data_dir.join("components").join(format!("{hash}.wasm"));
    let bytes = regular_file::read(&path, ADMIN_COMPONENT_BYTES_MAX).ok()?;
    (*self::hash(&bytes) == *hash).then_some(bytes)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The two folders. Blocking: it reads and writes whole files.
pub struct ComponentStore {
    components: PathBuf,
    compiled: PathBuf,
    writes: AtomicU64,
}

impl ComponentStore {
    /// Makes the folders below `data_dir` where they are missing.
    pub fn open(data_dir: &Path) -> io::Result<ComponentStore> {
        let store = ComponentStore {
            components: data_dir.join("components"),
            compiled: data_dir.join("compiled"),
            writes: AtomicU64::new(0),
        };
        for folder in [&store.components, &store.compiled] {
            create_folder(folder).and_then(|()| close(folder)).map_err(|error| named(folder, &error))?;
        }
        Ok(store)
    }

    /// Returns the paths that the next compilation of a plugin reads and writes; the folder exists.
    pub fn places(&self, engine: &ServingEngine, plugin: &str, hash: &str) -> io::Result<Places> {
        create_folder(&self.compiled)?;
        let functions = self.compiled.join(format!("{plugin}-{}{FUNCTIONS_ENDING}", engine.fingerprint()));
        Ok(Places {
            code: self.beside(&self.compiled_path(engine, hash)),
            new_functions: self.beside(&functions),
            functions,
        })
    }

    /// Where the bytes of a component are kept.
    pub fn path_of(&self, hash: &str) -> PathBuf {
        self.components.join(format!("{hash}.wasm"))
    }

    /// Keeps the bytes of a component for later; does nothing if they are kept already. Replaces a damaged file.
    pub fn keep(&self, hash: &str, bytes: &[u8]) -> io::Result<()> {
        if self.has(hash) { Ok(()) } else { self.write_whole(&self.path_of(hash), bytes) }
    }

    /// True if the bytes of a component are kept and not damaged.
    pub fn has(&self, hash: &str) -> bool {
        hash_file(&self.path_of(hash), ADMIN_COMPONENT_BYTES_MAX).is_ok_and(|found| *found == *hash)
    }

    /// The bytes of a component that was kept; `None` where they are missing or no longer what they were.
    pub fn find(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.path_of(hash);
        let bytes = regular_file::read(&path, ADMIN_COMPONENT_BYTES_MAX).ok()?;
        if *self::hash(&bytes) == *hash {
            return Some(bytes);
        }
        tracing::error!(file = %path.display(), "a kept component is damaged; it is removed");
        let _removed = fs::remove_file(path);
        None
    }

    /// The compiled code of a component, ready to run; `None` where this engine has none yet, or a damaged one.
    pub fn find_compiled(&self, engine: &ServingEngine, hash: &str) -> Option<LoadedCode> {
        let path = self.compiled_path(engine, hash);
        let digest = regular_file::read(&digest_path(&path), DIGEST_BYTES_MAX).ok()?;
        if *hash_file(&path, usize::MAX).ok()?.as_bytes() != *digest {
            tracing::warn!(file = %path.display(), "cached code is damaged; it is compiled again");
            return None;
        }
        match load_code(engine, &path) {
            Ok(code) => Some(code),
            Err(error) => {
                tracing::warn!(file = %path.display(), error = format!("{error:#}"), "cached code does not load; it is compiled again");
                None
            }
        }
    }

    /// Keeps compiled code and loads it. Fails where it is not what its compilation reported.
    pub fn keep_compiled(&self, engine: &ServingEngine, hash: &str, code: CompiledFile) -> io::Result<LoadedCode> {
        if *hash_file(&code.path, usize::MAX)? != *code.digest {
            return Err(io::Error::new(ErrorKind::InvalidData, "the compiled code is not what its digest says"));
        }
        // Before it is moved: where nothing needs it later, pruning may remove it at once.
        let loaded = load_code(engine, &code.path).map_err(|error| io::Error::other(format!("{error:#}")))?;
        let path = self.compiled_path(engine, hash);
        // The digest goes last: without it the code is as good as absent.
        let _old = fs::remove_file(digest_path(&path));
        fs::rename(&code.path, &path).map_err(|error| named(&path, &error))?;
        self.write_whole(&digest_path(&path), code.digest.as_bytes())?;
        Ok(loaded)
    }

    /// Removes everything that does not belong to one of `needed` or to one of `plugins`, and code that another engine made.
    pub fn prune(
        &self,
        engine: &ServingEngine,
        needed: &HashSet<Arc<str>>,
        plugins: &HashSet<Arc<str>>,
    ) -> io::Result<()> {
        let components =
            prune_folder(&self.components, |name| name.strip_suffix(".wasm").is_some_and(|hash| needed.contains(hash)));
        let ending = format!("-{}.cwasm", engine.fingerprint());
        let functions = format!("-{}{FUNCTIONS_ENDING}", engine.fingerprint());
        let compiled = prune_folder(&self.compiled, |name| {
            let code = name.strip_suffix(".sha256").unwrap_or(name);
            code.strip_suffix(&ending).is_some_and(|hash| needed.contains(hash))
                || name.strip_suffix(&functions).is_some_and(|plugin| plugins.contains(plugin))
        });
        components.and(compiled)
    }

    fn compiled_path(&self, engine: &ServingEngine, hash: &str) -> PathBuf {
        self.compiled.join(format!("{hash}-{}.cwasm", engine.fingerprint()))
    }

    /// An unfinished file for this place: "NAME.PROCESS-RUN-NUMBER.part".
    fn beside(&self, path: &Path) -> PathBuf {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        path.with_extension(format!("{}-{}-{number}.part", std::process::id(), *RUN))
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        self.write_beside(path, bytes).map_err(|error| named(path, &error))?;
        fs::File::open(folder)?.sync_all()
    }

    /// Writes a file beside its place and moves it there.
    fn write_beside(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let beside = self.beside(path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _removed = fs::remove_file(&beside);
        }
        written
    }
}

/// Closed to everybody else; does nothing where it is there.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Changes nothing where it is closed: the disk may be read-only.
fn close(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder)?.mode() & 0o777 {
        0o700 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
    }
}

/// Empty where the folder was deleted.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn digest_path(code: &Path) -> PathBuf {
    code.with_extension("cwasm.sha256")
}

/// Removes the files of a folder that are not needed. Returns the first error; the other files are removed nevertheless.
fn prune_folder(folder: &Path, is_needed: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut result = Ok(());
    for path in list(folder).map_err(|error| named(folder, &error))? {
        result = result.and(remove_unless(&path, &is_needed).map_err(|error| named(&path, &error)));
    }
    result
}

/// Leaves alone what is no regular file: the host did not write it.
fn remove_unless(path: &Path, is_needed: impl FnOnce(&str) -> bool) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_being_written = name.strip_suffix(".part").is_some_and(is_being_written);
    let is_regular = fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    if is_being_written || is_needed(name) || !is_regular {
        return Ok(());
    }
    match fs::remove_file(path) {
        // Moved to its place meanwhile, or removed by its writer.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether the writer of an unfinished file still runs: "NAME.PROCESS-RUN-NUMBER".
fn is_being_written(name: &str) -> bool {
    let parts = name.rsplit('.').next().and_then(|last| last.split_once('-'));
    let Some((Ok(process), rest)) = parts.map(|(process, rest)| (process.parse::<i32>(), rest)) else { return false };
    let is_own = u32::try_from(process) == Ok(std::process::id());
    match is_own {
        true => rest.split('-').next() == Some(RUN.as_str()),
        false => Pid::from_raw(process).is_some_and(is_running),
    }
}

/// What a process that has ended left unfinished was left by a crash.
fn is_running(process: Pid) -> bool {
    !matches!(test_kill_process(process), Err(Errno::SRCH))
}

/// The compiled code of one component: one mapping for each engine that runs it.
pub struct LoadedCode {
    pub serving: Component,
    /// For [`ServingEngine::trial`].
    pub trial: Component,
}

fn load_code(engine: &ServingEngine, path: &Path) -> wasmtime::Result<LoadedCode> {
    Ok(LoadedCode { serving: map_code(engine.engine(), path)?, trial: map_code(engine.trial(), path)? })
}

/// The one unsafe call of the host, besides those of `boot::allocator`.
#[allow(unsafe_code)]
fn map_code(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was made by `engine::precompile` in a process that this host started, lies in a folder that only its user can enter, and
    // both callers come here only after its content was compared with, or written together with, its digest. It is
    // replaced by rename and never written in place, so that the mapping cannot change.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::guest::Guest;

    struct Room {
        _folder: tempfile::TempDir,
        store: ComponentStore,
        engine: ServingEngine,
    }

    fn room() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let store = ComponentStore::open(folder.path()).unwrap();
        Room { _folder: folder, store, engine: ServingEngine::start(1).unwrap() }
    }

    impl Room {
        fn compile(&self, bytes: &[u8]) -> CompiledFile {
            let places = self.store.places(&self.engine, "notes", &hash(bytes)).unwrap();
            CompiledFile::of_test(places, bytes)
        }
    }

    #[test]
    fn the_folders_are_closed_to_others() {
        let room = room();
        let mode = fs::metadata(&room.store.compiled).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn kept_bytes_come_back_and_damaged_ones_do_not() {
        let room = room();
        let hash = hash(b"bytes");
        room.store.keep(&hash, b"bytes").unwrap();
        assert_eq!(room.store.find(&hash).unwrap(), b"bytes");
        fs::write(room.store.components.join(format!("{hash}.wasm")), b"bits").unwrap();
        assert_eq!(room.store.find(&hash), None);
    }

    #[test]
    fn damaged_component_is_replaced_when_it_is_kept_again() {
        let room = room();
        let hash = hash(b"bytes");
        room.store.keep(&hash, b"bytes").unwrap();
        fs::write(room.store.path_of(&hash), b"byt").unwrap();
        assert!(!room.store.has(&hash));
        room.store.keep(&hash, b"bytes").unwrap();
        assert_eq!(room.store.find(&hash).unwrap(), b"bytes");
    }

    #[test]
    fn damaged_code_never_reaches_the_engine() {
        let room = room();
        let bytes = Guest::notes("0.1.0").build();
        let hash = hash(&bytes);
        assert!(room.store.find_compiled(&room.engine, &hash).is_none());
        drop(room.store.keep_compiled(&room.engine, &hash, room.compile(&bytes)).unwrap());
        assert!(room.store.find_compiled(&room.engine, &hash).is_some());

        let path = room.store.compiled_path(&room.engine, &hash);
        let mut code = fs::read(&path).unwrap();
        let last = code.len() - 1;
        code[last] ^= 1;
        fs::write(&path, code).unwrap();
        assert!(room.store.find_compiled(&room.engine, &hash).is_none());
    }

    #[test]
    fn fifos_and_devices_are_replaced_and_hold_up_nothing() {
        let room = room();
        let bytes = Guest::notes("0.1.0").build();
        let hash = hash(&bytes);
        let code = room.store.compiled_path(&room.engine, &hash);
        let make_endless = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let harms: [&dyn Fn(&Path); 2] = [&regular_file::make_fifo, &make_endless];
        for (harm, path) in harms.iter().flat_map(|harm| [(harm, code.clone()), (harm, digest_path(&code))]) {
            drop(room.store.keep_compiled(&room.engine, &hash, room.compile(&bytes)).unwrap());
            fs::remove_file(&path).unwrap();
            harm(path.as_path());
            assert!(room.store.find_compiled(&room.engine, &hash).is_none(), "{}", path.display());
        }
        drop(room.store.keep_compiled(&room.engine, &hash, room.compile(&bytes)).unwrap());
        assert!(room.store.find_compiled(&room.engine, &hash).is_some());
        for harm in harms {
            harm(room.store.path_of(&hash).as_path());
            assert_eq!(room.store.find(&hash), None);
            room.store.keep(&hash, &bytes).unwrap();
            assert_eq!(room.store.find(&hash).as_deref(), Some(&*bytes));
            fs::remove_file(room.store.path_of(&hash)).unwrap();
        }
    }

    #[test]
    fn code_that_differs_from_its_report_is_not_kept() {
        let room = room();
        let mut code = room.compile(&Guest::notes("0.1.0").build());
        code.digest = hash(b"other").to_string();
        let error = room.store.keep_compiled(&room.engine, "abc", code).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn deleted_folders_are_made_again() {
        let room = room();
        let bytes = Guest::notes("0.1.0").build();
        let hash = hash(&bytes);
        for folder in [&room.store.components, &room.store.compiled] {
            fs::remove_dir_all(folder).unwrap();
        }
        room.store.prune(&room.engine, &HashSet::new(), &HashSet::new()).unwrap();
        room.store.keep(&hash, &bytes).unwrap();
        drop(room.store.keep_compiled(&room.engine, &hash, room.compile(&bytes)).unwrap());
        assert!(room.store.find(&hash).is_some() && room.store.find_compiled(&room.engine, &hash).is_some());
        let mode = fs::metadata(&room.store.compiled).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn unfinished_files_stay_as_long_as_their_writer_runs() {
        let room = room();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let write = |process: u32, run: &str| {
            let file = room.store.compiled.join(format!("abc.cwasm.{process}-{run}-0.part"));
            fs::write(&file, b"half").unwrap();
            file
        };
        let this = std::process::id();
        let (of_this, of_another) = (write(this, RUN.as_str()), write(1, "0123456789abcdef"));
        let (of_an_ended, of_an_earlier_run) = (write(ended.id(), "0123"), write(this, "0123456789abcdef"));
        room.store.prune(&room.engine, &HashSet::new(), &HashSet::new()).unwrap();
        assert!(of_this.exists() && of_another.exists());
        assert!(!of_an_ended.exists() && !of_an_earlier_run.exists());
    }

    #[test]
    fn folders_among_the_files_do_not_end_pruning() {
        let room = room();
        for folder in [&room.store.components, &room.store.compiled] {
            fs::create_dir(folder.join("0")).unwrap();
            for name in ["1", "2", "z"] {
                fs::write(folder.join(name), "not needed").unwrap();
            }
        }
        room.store.prune(&room.engine, &HashSet::new(), &HashSet::new()).unwrap();
        for folder in [&room.store.components, &room.store.compiled] {
            assert_eq!(list(folder).unwrap(), [folder.join("0")]);
        }
    }

    #[test]
    fn folder_in_the_place_of_a_component_is_named() {
        let room = room();
        let hash = hash(b"bytes");
        let path = room.store.path_of(&hash);
        fs::create_dir(&path).unwrap();
        let error = room.store.keep(&hash, b"bytes").unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }

    #[test]
    fn only_what_is_needed_survives_pruning() {
        let room = room();
        let (old, new) = (hash(b"old"), hash(b"new"));
        room.store.keep(&old, b"old").unwrap();
        room.store.keep(&new, b"new").unwrap();
        fs::write(room.store.compiled.join(format!("{new}-0000000000000000.cwasm")), b"of another engine").unwrap();
        let functions = |plugin| room.store.places(&room.engine, plugin, &new).unwrap().functions;
        fs::write(functions("gone"), b"of a plugin that is gone").unwrap();
        fs::write(functions("notes"), b"of a plugin").unwrap();
        room.store.prune(&room.engine, &HashSet::from([new.clone()]), &HashSet::from(["notes".into()])).unwrap();
        assert!(room.store.find(&old).is_none() && room.store.find(&new).is_some());
        assert_eq!(list(&room.store.compiled).unwrap(), [functions("notes")]);
    }
}
