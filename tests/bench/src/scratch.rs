//! Copy of the repository whose plugins can be changed and built without a change of the repository.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::guests::workspace_root;

/// Fills `folder`: `plugins/` is a copy, and the other entries are symbolic links. `.git`, `data` and build output are
/// left out. Builds in the copy write to `built`, which the next copy can reuse.
pub fn copy_repository(folder: &Path, built: &Path) -> io::Result<()> {
    let root = workspace_root();
    for entry in fs::read_dir(&root)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_built = name.to_string_lossy().starts_with("target");
        if !is_built && !["plugins", ".git", "data"].contains(&name.to_string_lossy().as_ref()) {
            symlink(entry.path(), folder.join(&name))?;
        }
    }
    copy_folder(&root.join("plugins"), &folder.join("plugins"))?;
    for name in ["target", "target-plugins"] {
        let built = built.join(name);
        fs::create_dir_all(&built)?;
        symlink(built, folder.join(name))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target: PathBuf = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
