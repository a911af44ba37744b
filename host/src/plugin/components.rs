//! Components on disk: the bytes of published ones, for a rollback after a restart, and compiled code.
//!
//! Owns `components/` and `compiled/` in the data folder, both accessible only to the user of the host (mode 0700).
//! Files are written beside their path, synced, and renamed, so that a file is complete or absent. The machine code of
//! functions is not synced: its digest is checked when it is read. Either folder may be deleted while the host runs and
//! is created again. Invariant: compiled code is passed to the engine only if its digest matches the one that this host
//! stored beside it, because the engine does not validate compiled code.

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
    compile::{CompilePaths, CompiledFile},
    engine::ServingEngine,
};
use crate::{limits::ADMIN_COMPONENT_BYTES_MAX, regular_file};

/// Returns the hex SHA-256 of a component, which identifies it in the whole host.
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

fn hash_reader(file: &mut impl Read) -> io::Result<Arc<str>> {
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; HASH_BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize()).into()),
            read => digest.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

const HASH_BUFFER_BYTES: usize = 64 << 10;
const DIGEST_BYTES_MAX: usize = 64;
const FUNCTIONS_ENDING: &str = ".functions";

/// Distinguishes unfinished files of this run from those of an earlier run with the same process id, as in a container.
static RUN: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().build_hasher().finish()));

/// Returns true if both folders exist with the owner and mode that a host of this user creates.
pub fn is_ready(data_dir: &Path) -> bool {
    let is_own = |folder: &str| {
        let data = fs::symlink_metadata(data_dir.join(folder));
        data.is_ok_and(|data| data.is_dir() && data.uid() == geteuid().as_raw() && data.mode() & 0o777 == 0o700)
    };
    is_own("components") && is_own("compiled")
}

/// Returns the bytes of a component from a data folder. Returns `None` if they are missing or damaged. Changes nothing,
/// because the folder may belong to a host of another user.
pub fn read_kept(data_dir: &Path, hash: &str) -> Option<Vec<u8>> {
    let path = data_dir.join("components").join(format!("{hash}.wasm"));
    let bytes = regular_file::read(&path, ADMIN_COMPONENT_BYTES_MAX).ok()?;
    (*self::hash(&bytes) == *hash).then_some(bytes)
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The two folders. Blocking: it reads and writes complete files.
pub struct ComponentStore {
    components: PathBuf,
    compiled: PathBuf,
    writes: AtomicU64,
}

impl ComponentStore {
    /// Creates the folders below `data_dir` if they are missing.
    pub fn open(data_dir: &Path) -> io::Result<ComponentStore> {
        let store = ComponentStore {
            components: data_dir.join("components"),
            compiled: data_dir.join("compiled"),
            writes: AtomicU64::new(0),
        };
        for folder in [&store.components, &store.compiled] {
            create_folder(folder).and_then(|()| restrict_access(folder)).map_err(|error| with_path(folder, &error))?;
        }
        Ok(store)
    }

    /// Returns the paths that the next compilation of a plugin reads and writes; the folder exists.
    pub fn compile_paths(&self, engine: &ServingEngine, plugin: &str, hash: &str) -> io::Result<CompilePaths> {
        create_folder(&self.compiled)?;
        let functions = self.compiled.join(format!("{plugin}-{}{FUNCTIONS_ENDING}", engine.fingerprint()));
        Ok(CompilePaths {
            code: self.unfinished_path(&self.compiled_path(engine, hash)),
            new_functions: self.unfinished_path(&functions),
            functions,
        })
    }

    pub fn path_of(&self, hash: &str) -> PathBuf {
        self.components.join(format!("{hash}.wasm"))
    }

    /// Stores the bytes of a component, unless they are stored already. Replaces a damaged file.
    pub fn keep(&self, hash: &str, bytes: &[u8]) -> io::Result<()> {
        if self.has(hash) { Ok(()) } else { self.write_whole(&self.path_of(hash), bytes) }
    }

    /// Returns true if the bytes of a component are stored and not damaged.
    pub fn has(&self, hash: &str) -> bool {
        hash_file(&self.path_of(hash), ADMIN_COMPONENT_BYTES_MAX).is_ok_and(|found| *found == *hash)
    }

    /// Returns the stored bytes of a component. Returns `None` and removes the file if they are damaged. Returns `None`
    /// if they are missing.
    pub fn find(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.path_of(hash);
        let bytes = regular_file::read(&path, ADMIN_COMPONENT_BYTES_MAX).ok()?;
        if *self::hash(&bytes) == *hash {
            return Some(bytes);
        }
        tracing::error!(file = %path.display(), "removing a damaged component");
        let _removed = fs::remove_file(path);
        None
    }

    /// Returns the compiled code of a component. Returns `None` if this engine has none, or if the code is damaged.
    pub fn find_compiled(&self, engine: &ServingEngine, hash: &str) -> Option<LoadedCode> {
        let path = self.compiled_path(engine, hash);
        let digest = regular_file::read(&digest_path(&path), DIGEST_BYTES_MAX).ok()?;
        if *hash_file(&path, usize::MAX).ok()?.as_bytes() != *digest {
            tracing::warn!(file = %path.display(), "compiled code is damaged, so it is compiled again");
            return None;
        }
        match load_code(engine, &path) {
            Ok(code) => Some(code),
            Err(error) => {
                tracing::warn!(file = %path.display(), error = format!("{error:#}"), "failed to load compiled code, so it is compiled again");
                None
            }
        }
    }

    /// Stores compiled code and loads it. Fails if its digest differs from the reported one.
    pub fn keep_compiled(&self, engine: &ServingEngine, hash: &str, code: CompiledFile) -> io::Result<LoadedCode> {
        if *hash_file(&code.path, usize::MAX)? != *code.digest {
            return Err(io::Error::new(ErrorKind::InvalidData, "the compiled code does not match its digest"));
        }
        // Loaded before it is moved: pruning may remove the file if nothing needs it later.
        let loaded = load_code(engine, &code.path).map_err(|error| io::Error::other(format!("{error:#}")))?;
        let path = self.compiled_path(engine, hash);
        // The digest is written last: without it the code is not used.
        let _old = fs::remove_file(digest_path(&path));
        fs::rename(&code.path, &path).map_err(|error| with_path(&path, &error))?;
        self.write_whole(&digest_path(&path), code.digest.as_bytes())?;
        Ok(loaded)
    }

    /// Removes all files except those of `needed` components and of `plugins`. Code of other engines is always removed.
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

    /// Returns the path of an unfinished file beside a path: "NAME.PROCESS-RUN-NUMBER.part".
    fn unfinished_path(&self, path: &Path) -> PathBuf {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        path.with_extension(format!("{}-{}-{number}.part", std::process::id(), *RUN))
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        self.write_and_move(path, bytes).map_err(|error| with_path(path, &error))?;
        fs::File::open(folder)?.sync_all()
    }

    fn write_and_move(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let unfinished_path = self.unfinished_path(path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished_path)?;
        let written =
            file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&unfinished_path, path));
        if written.is_err() {
            let _removed = fs::remove_file(&unfinished_path);
        }
        written
    }
}

/// Creates a folder that only its owner can enter. Does nothing if it exists.
fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// Restricts a folder to its owner. Changes nothing if it is restricted, because the disk may be read-only.
fn restrict_access(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder)?.mode() & 0o777 {
        0o700 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
    }
}

/// Lists a folder. Returns an empty list if it was deleted.
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

/// Removes the files of a folder that are not needed. Returns the first error; the other files are removed
/// nevertheless.
fn prune_folder(folder: &Path, is_needed: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut result = Ok(());
    for path in list(folder).map_err(|error| with_path(folder, &error))? {
        result = result.and(remove_unless(&path, &is_needed).map_err(|error| with_path(&path, &error)));
    }
    result
}

/// Removes a file that is neither needed nor being written. Keeps entries that are not regular files, because the host
/// writes only regular files.
fn remove_unless(path: &Path, is_needed: impl FnOnce(&str) -> bool) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_being_written = name.strip_suffix(".part").is_some_and(is_being_written);
    let is_regular = fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    if is_being_written || is_needed(name) || !is_regular {
        return Ok(());
    }
    match fs::remove_file(path) {
        // Renamed or removed by its writer meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns true if the writer of an unfinished file ("NAME.PROCESS-RUN-NUMBER") still runs.
fn is_being_written(name: &str) -> bool {
    let parts = name.rsplit('.').next().and_then(|last| last.split_once('-'));
    let Some((Ok(process), rest)) = parts.map(|(process, rest)| (process.parse::<i32>(), rest)) else { return false };
    let is_own = u32::try_from(process) == Ok(std::process::id());
    match is_own {
        true => rest.split('-').next() == Some(RUN.as_str()),
        false => Pid::from_raw(process).is_some_and(is_running),
    }
}

/// Returns true if a process runs. The unfinished files of a process that has ended are left from a crash.
fn is_running(process: Pid) -> bool {
    !matches!(test_kill_process(process), Err(Errno::SRCH))
}

/// The compiled code of one component, mapped once for each engine.
pub struct LoadedCode {
    pub serving: Component,
    /// For [`ServingEngine::trial`].
    pub trial: Component,
}

fn load_code(engine: &ServingEngine, path: &Path) -> wasmtime::Result<LoadedCode> {
    Ok(LoadedCode { serving: map_code(engine.engine(), path)?, trial: map_code(engine.trial(), path)? })
}

/// Maps compiled code. The only unsafe call of the host, except for `boot::allocator`.
#[allow(unsafe_code)]
fn map_code(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: `engine::precompile` created the file in a process that this host started, in a folder that only its user
    // can enter. Both callers of `load_code` have compared its content with its digest. The file is replaced by rename
    // and never written in place, so that the mapping cannot change.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests;
