//! Advice for an operator who works as root in the data folder of another user.
//!
//! The host runs as that user and cannot open files of root. The command only prints advice: if it changed owners
//! itself in a folder that another user can write, that user could choose which files change.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Prints the advice if this process is root and another user owns the folder. Standard error keeps it out of program
/// output.
pub fn print_advice(data_dir: &Path) {
    let Ok(folder) = fs::metadata(data_dir) else { return };
    if let Some(advice) = advice_for(rustix::process::geteuid().as_raw(), folder.uid(), data_dir) {
        eprintln!("{advice}");
    }
}

fn advice_for(user: u32, owner: u32, data_dir: &Path) -> Option<String> {
    let folder = data_dir.display();
    (user == 0 && owner != 0).then(|| {
        format!(
            "{folder} belongs to user {owner}, and the files created now belong to root: a host that runs as that user cannot \
             open them. Before the next start, run: chown -R --reference={folder} {folder}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_only_to_root_in_a_folder_of_another_user() {
        let folder = Path::new("/var/lib/tenon");
        let advice = advice_for(0, 998, folder).unwrap();
        assert!(advice.contains("chown -R --reference=/var/lib/tenon /var/lib/tenon"), "{advice}");
        for (user, owner) in [(0, 0), (998, 998), (1_000, 998)] {
            assert_eq!(advice_for(user, owner, folder), None);
        }
    }
}
