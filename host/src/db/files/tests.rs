use std::{fs, path::Path};

use super::*;
use crate::{
    changes::change_set::Version,
    db::testing::{TestFile, batch, change, model},
};

/// Returns the files of a killed process with 100 commits. A checkpoint has copied the first `checkpointed` commits.
async fn killed(checkpointed: Version) -> (tempfile::TempDir, PathBuf) {
    let model = model(vec![]);
    let file = TestFile::with(&model).await;
    let mut writer = file.db.writer();
    for version in 1..=100 {
        let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(3_000));
        let changes = vec![change(&model, version, "acme/test").put(&format!("thing_{version}"), &body)];
        writer.apply(&batch(&format!("b{version}"), changes)).await.unwrap();
        if version == checkpointed {
            file.damage("PRAGMA user_version").await;
            checkpoint(&file).await;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for ending in ["", "-wal", "-shm"] {
        let name = format!("test.db{ending}");
        fs::copy(file.folder.path().join(&name), folder.path().join(&name)).unwrap();
    }
    let path = folder.path().join("test.db");
    (folder, path)
}

async fn checkpoint(file: &TestFile) {
    let mut reader = file.db.readers().acquire().await.unwrap();
    sqlx::query("PRAGMA query_only = OFF").execute(&mut *reader).await.unwrap();
    sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut *reader).await.unwrap();
    sqlx::query("PRAGMA query_only = ON").execute(&mut *reader).await.unwrap();
}

fn keep(path: &Path, part: f64) {
    let length = fs::metadata(path).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len((length as f64 * part) as u64).unwrap();
}

fn flip(path: &Path, part: f64) {
    let mut bytes = fs::read(path).unwrap();
    let at = (bytes.len() as f64 * part) as usize;
    bytes[at] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn files_of_a_killed_process_are_intact() {
    for checkpointed in [0, 40, 100] {
        let (_folder, path) = killed(checkpointed).await;
        let survey = survey(&path, IndexTrust::SameBoot).unwrap();
        let Survey::Database { pages, page_bytes, log_frames, .. } = survey else { panic!("{survey:?}") };
        assert_eq!(page_bytes, 4_096, "{checkpointed}");
        assert!(pages > 100 && log_frames > 100, "{checkpointed}: {survey:?}");
    }
}

#[tokio::test]
async fn damage_of_each_file_is_reported_with_its_path() {
    type Harm = fn(&Path);
    let harms: [(&str, &str, Harm, &str); 8] = [
        ("a truncated log", "test.db-wal", |log| keep(log, 0.1), "acknowledged are lost"),
        ("an empty log", "test.db-wal", |log| keep(log, 0.0), "0 of the"),
        ("a missing log", "test.db-wal", |log| fs::remove_file(log).unwrap(), "0 of the"),
        ("a changed log", "test.db-wal", |log| flip(log, 0.1), "acknowledged are lost"),
        ("a changed header of the log", "test.db-wal", |log| flip(log, 0.0), "header of the log"),
        ("half a file", "test.db", |file| keep(file, 0.5), "pages are missing"),
        ("a truncated header", "test.db", |file| fs::write(file, b"SQLite format 3\0").unwrap(), "16 of 100 bytes"),
        ("another file", "test.db", |file| fs::write(file, "x".repeat(9_000)).unwrap(), "it is not a database"),
    ];
    for (name, file, harm, reason) in harms {
        let (folder, path) = killed(70).await;
        harm(&folder.path().join(file));
        let error =
            survey(&path, IndexTrust::SameBoot).map(|found| panic!("{name}: {found:?}")).unwrap_err().to_string();
        let begin = format!("{} is damaged: ", folder.path().join(file).display());
        assert!(error.starts_with(&begin) && error.contains(reason), "{name}: {error}");
        assert!(error.contains("tenon restore BACKUP") && error.contains("tenon db check"), "{name}: {error}");
    }
}

#[tokio::test]
async fn index_of_another_boot_is_not_used() {
    let (_folder, path) = killed(0).await;
    keep(&beside(&path, "-wal"), 0.5);
    assert!(matches!(survey(&path, IndexTrust::Unknown), Ok(Survey::Database { .. })));
}

#[tokio::test]
async fn index_after_a_complete_checkpoint_requires_no_log() {
    let (_folder, path) = killed(100).await;
    fs::remove_file(beside(&path, "-wal")).unwrap();
    survey(&path, IndexTrust::SameBoot).unwrap();
}

#[tokio::test]
async fn frames_of_an_unfinished_commit_are_ignored() {
    let (_folder, path) = killed(0).await;
    let log = beside(&path, "-wal");
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend(vec![7; 10_000]);
    fs::write(&log, bytes).unwrap();
    survey(&path, IndexTrust::SameBoot).unwrap();
}

#[test]
fn absent_and_empty_files_contain_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    assert_eq!(survey(&path, IndexTrust::SameBoot).unwrap(), Survey::Nothing { exists: false, log_bytes: 0 });
    fs::write(&path, "").unwrap();
    fs::write(beside(&path, "-wal"), "log").unwrap();
    assert_eq!(survey(&path, IndexTrust::SameBoot).unwrap(), Survey::Nothing { exists: true, log_bytes: 3 });
}

#[test]
fn fifo_instead_of_a_file_is_reported_and_not_opened() {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let fifo = beside(&path, ending);
        regular_file::make_fifo(&fifo);
        let error = survey(&path, IndexTrust::Unknown).unwrap_err().to_string();
        assert_eq!(error, format!("{}: it is a FIFO, not a regular file", fifo.display()));
    }
}
