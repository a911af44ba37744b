//! Code that was compiled for one test serves the others of the same run: most of them start with the same component.
//!
//! A copy each way, never a link: some tests damage what they have.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

static SHARED: OnceLock<PathBuf> = OnceLock::new();

/// Empty at the start of a run.
fn shared() -> &'static Path {
    SHARED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        let _none_before = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for compiled code");
        folder
    })
}

/// Before a host starts.
pub fn lend(data_dir: &Path) {
    copy_missing(shared(), &data_dir.join("compiled"));
}

/// Once it has started.
pub fn collect(data_dir: &Path) {
    copy_missing(&data_dir.join("compiled"), shared());
}

/// Written aside and renamed: another test may copy it at the same time. The digest goes last, as in the host.
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

/// "HASH-ENGINE.cwasm", and with its digest ".sha256" behind it: the digest is sorted after its code.
fn is_code(name: &str) -> bool {
    name.ends_with(".cwasm") || name.ends_with(".cwasm.sha256")
}
