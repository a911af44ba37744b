//! A cache of compiled components that the tests of one run share, because most of them start with the same component.
//!
//! Files are copied in both directions and never linked, because some tests damage their files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

static SHARED: OnceLock<PathBuf> = OnceLock::new();

/// Returns the folder of the cache. It is empty at the start of a run.
fn shared() -> &'static Path {
    SHARED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        let _absent_before = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for compiled code");
        folder
    })
}

/// Copies cached code into a data folder, before its host starts.
pub fn restore(data_dir: &Path) {
    copy_missing(shared(), &data_dir.join("compiled"));
}

/// Copies compiled code of a data folder into the cache, after its host has started.
pub fn save(data_dir: &Path) {
    copy_missing(&data_dir.join("compiled"), shared());
}

/// Copies files that `to` does not have.
///
/// Each file is written under a temporary name and renamed, because another test may copy it at the same time. The
/// digest is copied after its code, as in the host.
fn copy_missing(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for compiled code");
    let Ok(entries) = fs::read_dir(from) else { return };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_code(name))
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !to.join(name).exists()) {
        let aside = tempfile::NamedTempFile::new_in(to).expect("a file for compiled code");
        if fs::copy(from.join(name), aside.path()).is_ok() {
            aside.persist(to.join(name)).expect("rename compiled code");
        }
    }
}

/// Accepts "HASH-ENGINE.cwasm" and "HASH-ENGINE.cwasm.sha256". The digest sorts after its code.
fn is_code(name: &str) -> bool {
    name.ends_with(".cwasm") || name.ends_with(".cwasm.sha256")
}
