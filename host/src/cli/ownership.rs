//! Advice for an operator who works as root in the data folder of another user.
//!
//! The host runs as that user and cannot open files of root. This only advises: to change owners in a folder that another user
//! may write would let that user choose which files change.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Advises root in a folder that another user owns, on standard error, where it disturbs no program that reads the output.
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
            "{folder} belongs to the user {owner}, and files that were made now belong to root: a host that runs as that user \
             cannot open them. Before the next start: chown -R --reference={folder} {folder}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_advised_in_the_folder_of_another_user_alone() {
        let folder = Path::new("/var/lib/tenon");
        let advice = advice_for(0, 998, folder).unwrap();
        assert!(advice.contains("chown -R --reference=/var/lib/tenon /var/lib/tenon"), "{advice}");
        for (user, owner) in [(0, 0), (998, 998), (1_000, 998)] {
            assert_eq!(advice_for(user, owner, folder), None);
        }
    }
}
