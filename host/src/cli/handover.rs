//! Files that an operator makes as root in the data folder of another user.
//!
//! The host runs as that user and could not open them. Never follows a link, and leaves files with several names alone.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::{MetadataExt, lchown},
    path::Path,
};

use super::error::CliError;

/// Folders within the data folder that hold files: components, compiled code and its functions.
const DEPTH_MAX: usize = 3;

/// Gives what root owns in the data folder to the owner of the folder. Does nothing for other users, or where root owns the folder.
pub fn give_to_owner(data_dir: &Path) -> Result<(), CliError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    give(data_dir).map_err(|error| {
        let folder = data_dir.display();
        CliError::Failed(format!("The files in {folder} could not be given to the owner of the folder: {error}."))
    })
}

fn give(data_dir: &Path) -> io::Result<()> {
    let owner = match fs::metadata(data_dir) {
        Ok(owner) => owner,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if owner.uid() == 0 { Ok(()) } else { give_entries(data_dir, &owner, DEPTH_MAX) }
}

fn give_entries(folder: &Path, owner: &Metadata, depth: usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let data = fs::symlink_metadata(&path)?;
        let is_single = data.is_dir() || data.is_file() && data.nlink() == 1;
        if data.uid() == 0 && is_single {
            lchown(&path, Some(owner.uid()), Some(owner.gid()))?;
        }
        if data.is_dir() && depth > 1 {
            give_entries(&path, owner, depth - 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    const OTHER: u32 = 65_534;

    /// Only root can make files of another user.
    fn folder_of_other() -> Option<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(OTHER), Some(OTHER)).is_ok().then_some(folder)
    }

    fn owner(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().uid()
    }

    #[test]
    fn files_of_root_get_the_owner_of_the_folder() {
        let Some(folder) = folder_of_other() else { return };
        let (nested, file) = (folder.path().join("components"), folder.path().join("components/a.wasm"));
        fs::create_dir(&nested).unwrap();
        fs::write(&file, "").unwrap();
        give_to_owner(folder.path()).unwrap();
        assert_eq!(owner(&nested), OTHER);
        assert_eq!(owner(&file), OTHER);
    }

    #[test]
    fn links_and_files_with_several_names_stay() {
        let Some(folder) = folder_of_other() else { return };
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target");
        fs::write(&target, "").unwrap();
        symlink(&target, folder.path().join("link")).unwrap();
        fs::hard_link(&target, folder.path().join("name")).unwrap();
        give_to_owner(folder.path()).unwrap();
        assert_eq!(owner(&target), 0);
    }

    #[test]
    fn folder_of_root_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tenon.db");
        fs::write(&file, "").unwrap();
        let before = owner(&file);
        give_to_owner(folder.path()).unwrap();
        assert_eq!(owner(&file), before);
    }
}
