use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use super::*;
use crate::changes::host_collections::EFFECTS;
use crate::{
    changes::operator_action::OperatorAction,
    changes::{
        effect::{AttemptEnd, Effect, Outcome},
        timer::TaskKind,
    },
    db::{
        Database, DbOptions, Old,
        tasks::TaskFilter,
        testing::{TestFile, batch, change, model, url_in, write_first_version},
    },
    limits::CHECK_THOROUGH_BYTES_MAX,
};

/// A data folder with a database of a hundred events and one kept component, and a backup of it.
struct Room {
    data: tempfile::TempDir,
    outside: tempfile::TempDir,
    file: TestFile,
}

const WASM: &str = "7ae6e2f4c9c1b5a1f5b7f4e0e2b7a1f0";

impl Room {
    async fn new() -> Room {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=100).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        let (data, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let components = data.path().join(COMPONENTS_FOLDER);
        files::create_folder(&components).unwrap();
        fs::write(components.join(format!("{}.wasm", hash_of(WASM))), WASM).unwrap();
        fs::write(components.join("damaged.wasm"), WASM).unwrap();
        Room { data, outside, file }
    }

    fn backup(&self) -> PathBuf {
        self.outside.path().join("backup")
    }

    async fn prepare(&self, folder: &Path, spare_bytes: u64) -> Result<Plan, BackupError> {
        prepare(&self.file.db, self.data.path(), folder, spare_bytes).await
    }

    async fn write(&self) -> Manifest {
        let plan = self.prepare(&self.backup(), 0).await.unwrap();
        write(&self.file.db, plan, 1_767_322_986_070, &Arc::default()).await.unwrap()
    }

    fn wish(&self, target: &tempfile::TempDir, old: Old) -> Restore {
        Restore {
            backup: self.backup(),
            data_dir: target.path().join("data"),
            database_url: url_in(target),
            old,
            who: "ada".into(),
        }
    }

    async fn restore(&self, target: &tempfile::TempDir, old: Old) -> Result<Restored, BackupError> {
        restore(self.wish(target, old), 2_000, &Arc::default()).await
    }
}

fn hash_of(text: &str) -> String {
    use sha2::Digest;
    hex::encode(sha2::Sha256::digest(text))
}

async fn events_in(target: &tempfile::TempDir) -> i64 {
    let database = Database::open(&url_in(target), &DbOptions::default()).await.unwrap();
    let newest = database.newest_event().await.unwrap();
    database.close().await.unwrap();
    newest
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_backup_restored_in_another_folder_holds_the_same() {
    let room = Room::new().await;
    let manifest = room.write().await;
    assert_eq!((manifest.made_at.as_str(), manifest.components.len()), ("2026-01-02T03:03:06.070Z", 1));
    assert!(manifest.checks.findings.is_empty() && manifest.database.bytes < CHECK_THOROUGH_BYTES_MAX);
    let target = tempfile::tempdir().unwrap();
    let restored = room.restore(&target, Old::Stays).await.unwrap();
    assert_eq!((restored.manifest, restored.replaced), (manifest, None));
    assert_eq!(events_in(&target).await, 100);
    let component = target.path().join("data/components").join(format!("{}.wasm", hash_of(WASM)));
    assert_eq!(fs::read_to_string(component).unwrap(), WASM);
    let database = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    let lines = database.list_swaps(&crate::db::swaps::SwapFilter::default(), 10).await.unwrap();
    assert_eq!((lines[0].action.as_str(), lines[0].who.as_str(), lines.len()), ("restore", "ada", 1));
}

/// A call in the body of a record, without what is told of its progress.
const CALL: &str = r#""due":0,"call":{"destination":"bank","method":"POST","path":"/p","headers":[],"content":"empty",
    "timeout-ms":0},"then":"paid","key":"p","context":[[1.50,"\u00e9"]],"delays":[]"#;

#[tokio::test]
async fn a_call_that_was_not_begun_in_the_backup_may_have_happened_when_it_is_restored() {
    let room = Room::new().await;
    let fresh = r#""progress":{"attempts":0,"under-way":false,"may-have-happened":false}"#;
    let told = format!(r#"{fresh},"outcome":{{"not-sent":"refused"}}"#);
    let model = model(vec![]);
    let effects = [
        ("fresh", format!("{{{CALL},{fresh}}}")),
        ("bare", format!("{{{CALL}}}")),
        ("told", format!("{{{CALL},{told}}}")),
    ];
    let puts = (101..).zip(&effects).map(|(n, (id, body))| change(&model, n, "acme/test").put_in(EFFECTS, id, body));
    room.file.db.writer().apply(&batch("b2", puts.collect())).await.unwrap();
    room.write().await;
    let target = tempfile::tempdir().unwrap();
    room.restore(&target, Old::Stays).await.unwrap();
    let database = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    for (id, expected) in [("fresh", true), ("bare", true), ("told", false)] {
        let filter = TaskFilter { id: Some(id.into()), ..TaskFilter::default() };
        let found = database.survey_tasks(TaskKind::Effect, &filter, None, 1).await.unwrap().remove(0);
        let mut effect = Effect::parse(&found.body).unwrap();
        assert_eq!((effect.progress.may_have_happened, effect.progress.attempts), (expected, 0), "{id}");
        assert_eq!(effect.context.get(), r#"[[1.50,"\u00e9"]]"#);
        if expected {
            effect.begin(1);
            effect.end(AttemptEnd::NotSent("refused".into()), 1);
            assert_eq!(effect.outcome, Some(Outcome::Unknown("refused".into())), "{id}");
        }
    }
}

#[tokio::test]
async fn nobody_but_its_owner_can_read_a_backup() {
    let room = Room::new().await;
    let manifest = room.write().await;
    assert_eq!((mode(&room.backup()), mode(&room.backup().join(COMPONENTS_FOLDER))), (0o700, 0o700));
    for file in [MANIFEST_FILE, DATABASE_FILE, &manifest.components[0].path] {
        assert_eq!(mode(&room.backup().join(file)), 0o600, "{file}");
    }
    let target = tempfile::tempdir().unwrap();
    room.restore(&target, Old::Stays).await.unwrap();
    assert_eq!((mode(&target.path().join("test.db")), mode(&target.path().join("data"))), (0o600, 0o700));
}

#[tokio::test]
async fn a_damaged_backup_is_refused_with_the_reason_and_nothing_changes() {
    type Damage = fn(&Path, &Manifest);
    let damages: [(&str, Damage, &str); 7] = [
        ("a byte", |path, _| flip(&path.join(DATABASE_FILE)), "tenon.db is damaged"),
        ("the end", |path, _| cut(&path.join(DATABASE_FILE)), "tenon.db is damaged"),
        ("a component", |path, all| flip(&path.join(&all.components[0].path)), ".wasm is damaged"),
        ("a missing one", |path, all| fs::remove_file(path.join(&all.components[0].path)).unwrap(), "No such file"),
        ("no manifest", |path, _| fs::remove_file(path.join(MANIFEST_FILE)).unwrap(), "is no backup"),
        ("half a manifest", |path, _| cut(&path.join(MANIFEST_FILE)), "manifest.json is damaged"),
        ("a way out", |path, _| edit(path, "components/", "../components/"), "names the file \"../components/"),
    ];
    for (name, damage, reason) in damages {
        let room = Room::new().await;
        let manifest = room.write().await;
        damage(&room.backup(), &manifest);
        let target = tempfile::tempdir().unwrap();
        let error = room.restore(&target, Old::MovesAside).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "{name}");
    }
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn edit(folder: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join(MANIFEST_FILE)).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(folder.join(MANIFEST_FILE), text.replace(from, to)).unwrap();
}

#[tokio::test]
async fn a_backup_of_a_newer_tenon_is_refused() {
    let room = Room::new().await;
    room.write().await;
    edit(&room.backup(), "\"format\": 1", "\"format\": 2");
    let target = tempfile::tempdir().unwrap();
    let error = room.restore(&target, Old::Stays).await.unwrap_err().to_string();
    assert!(error.contains("was written by a newer Tenon"), "{error}");
}

#[tokio::test]
async fn a_database_that_is_there_stays_unless_it_may_be_moved_aside() {
    let room = Room::new().await;
    room.write().await;
    let target = tempfile::tempdir().unwrap();
    assert_eq!(events_in(&target).await, 0);
    let error = room.restore(&target, Old::Stays).await.unwrap_err().to_string();
    assert!(error.contains("--replace"), "{error}");
    assert_eq!(events_in(&target).await, 0);
    let replaced = room.restore(&target, Old::MovesAside).await.unwrap().replaced.unwrap();
    assert_eq!(events_in(&target).await, 100);
    let old = Database::open_still(&replaced, Arc::new(|| true)).await.unwrap();
    assert_eq!(old.newest_event().await.unwrap(), 0);
}

#[tokio::test]
async fn missing_backup_is_reported_before_a_database_that_is_there() {
    let room = Room::new().await;
    room.write().await;
    let target = tempfile::tempdir().unwrap();
    room.restore(&target, Old::Stays).await.unwrap();
    let request = Restore { backup: target.path().join("none"), ..room.wish(&target, Old::Stays) };
    let refusal = restore(request, 2_000, &Arc::default()).await.unwrap_err().to_string();
    assert!(refusal.contains("none is no backup"), "{refusal}");
}

#[tokio::test]
async fn a_folder_in_which_a_host_runs_is_left_alone() {
    let room = Room::new().await;
    room.write().await;
    let target = tempfile::tempdir().unwrap();
    let running = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    let error = room.restore(&target, Old::MovesAside).await.unwrap_err().to_string();
    assert!(error.contains("in use by another Tenon"), "{error}");
    assert_eq!(running.newest_event().await.unwrap(), 0);
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_before_anything_is_written() {
    let room = Room::new().await;
    let inside = |name: &str| room.outside.path().join(name);
    fs::create_dir(inside("there")).unwrap();
    fs::create_dir(inside("left.part")).unwrap();
    for (folder, spare, reason) in [
        (PathBuf::from("relative"), 0, "no absolute path"),
        (inside("there"), 0, "is there already"),
        (inside("left"), 0, "was broken off"),
        (inside("new"), u64::MAX, "bytes left"),
        (inside("none/new"), 0, "No such file"),
    ] {
        let error = room.prepare(&folder, spare).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(fs::read_dir(room.outside.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_backup_that_is_broken_off_leaves_nothing() {
    let room = Room::new().await;
    let plan = room.prepare(&room.backup(), 0).await.unwrap();
    let progress = Arc::new(Progress::default());
    progress.break_off();
    let error = write(&room.file.db, plan, 0, &progress).await.unwrap_err();
    assert!(matches!(error, BackupError::BrokenOff), "{error}");
    assert_eq!(fs::read_dir(room.outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_not_sound_in_the_database_is_said_of_its_backup() {
    let room = Room::new().await;
    let served = "aa".repeat(32);
    let action = OperatorAction::done(1, "ada", ("notes", "deploy"), "because".into());
    let mut line = crate::db::swaps::SwapRow::from(&action);
    (line.outcome, line.to_hash) = ("published".into(), Some(served.clone()));
    room.file.db.record_swap(&line).await.unwrap();
    room.file.damage("INSERT INTO balances VALUES ('notes', 'acme/test', 'till', 'X', '-7', 1)").await;
    let line = "INSERT INTO journal (plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry) \
                VALUES ('notes', 'acme/test', 1, zeroblob(32), zeroblob(32), 0, '', '', '', '{}')";
    room.file.damage(line).await;
    let findings = room.write().await.checks.findings;
    let expected = [
        "the journal of notes of acme/test is broken at line 1: it was changed".to_owned(),
        "the balances of X of notes of acme/test sum up to -7, not to 0".to_owned(),
        format!("the component {served}, which is served, is not among the kept ones"),
    ];
    assert_eq!(findings, expected);
}

#[tokio::test]
async fn a_backup_from_before_an_upgrade_keeps_its_schema_and_is_restored_into_todays() {
    let (source, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_first_version(&source.path().join("test.db")).await;
    let database = Database::open_unchanged(&url_in(&source), &DbOptions::default()).await.unwrap();
    let backup = outside.path().join("backup");
    let plan = prepare(&database, source.path(), &backup, 0).await.unwrap();
    assert_eq!(write(&database, plan, 0, &Arc::default()).await.unwrap().schema, 1);
    let target = tempfile::tempdir().unwrap();
    let (data_dir, database_url) = (target.path().to_owned(), url_in(&target));
    let wish = Restore { backup, data_dir, database_url, old: Old::Stays, who: "ada".into() };
    restore(wish, 0, &Arc::default()).await.unwrap();
    assert_eq!(events_in(&target).await, 3);
}
