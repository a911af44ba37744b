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
        Database, DbOptions, ExistingDatabase,
        tasks::TaskFilter,
        testing::{TestFile, batch, change, model, url_in, write_first_version},
    },
    limits::CHECK_THOROUGH_BYTES_MAX,
};

/// A data folder with a database of a hundred events and one valid component, and the folder of its backup.
struct BackupFixture {
    data: tempfile::TempDir,
    outside: tempfile::TempDir,
    file: TestFile,
}

const WASM: &str = "7ae6e2f4c9c1b5a1f5b7f4e0e2b7a1f0";

impl BackupFixture {
    async fn new() -> BackupFixture {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let changes = (1..=100).map(|n| change(&model, n, "acme/test").event(&format!("event_{n}"))).collect();
        file.db.writer().apply(&batch("b1", changes)).await.unwrap();
        let (data, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let components = data.path().join(COMPONENTS_FOLDER);
        files::create_folder(&components).unwrap();
        fs::write(components.join(format!("{}.wasm", hash_of(WASM))), WASM).unwrap();
        fs::write(components.join("damaged.wasm"), WASM).unwrap();
        BackupFixture { data, outside, file }
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

    fn restore_request(&self, target: &tempfile::TempDir, old: ExistingDatabase) -> RestoreRequest {
        RestoreRequest {
            backup: self.backup(),
            data_dir: target.path().join("data"),
            database_url: url_in(target),
            old,
            operator: "ada".into(),
        }
    }

    async fn restore(&self, target: &tempfile::TempDir, old: ExistingDatabase) -> Result<RestoreResult, BackupError> {
        restore(self.restore_request(target, old), 2_000, &Arc::default()).await
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
async fn restored_backup_has_the_same_content() {
    let fixture = BackupFixture::new().await;
    let manifest = fixture.write().await;
    assert_eq!((manifest.made_at.as_str(), manifest.components.len()), ("2026-01-02T03:03:06.070Z", 1));
    assert!(manifest.checks.findings.is_empty() && manifest.database.bytes < CHECK_THOROUGH_BYTES_MAX);
    let target = tempfile::tempdir().unwrap();
    let restored = fixture.restore(&target, ExistingDatabase::Keep).await.unwrap();
    assert_eq!((restored.manifest, restored.replaced), (manifest, None));
    assert_eq!(events_in(&target).await, 100);
    let component = target.path().join("data/components").join(format!("{}.wasm", hash_of(WASM)));
    assert_eq!(fs::read_to_string(component).unwrap(), WASM);
    let database = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    let lines = database.list_swaps(&crate::db::swaps::SwapFilter::default(), 10).await.unwrap();
    assert_eq!((lines[0].action.as_str(), lines[0].operator.as_str(), lines.len()), ("restore", "ada", 1));
}

/// Members of the body of an effect record, without `progress`.
const MEMBERS: &str = r#""due":0,"call":{"destination":"bank","method":"POST","path":"/p","headers":[],
    "content":"empty","timeout-ms":0},"then":"paid","key":"p","context":[[1.50,"\u00e9"]],"delays":[]"#;

#[tokio::test]
async fn unsettled_effect_may_have_happened_after_a_restore() {
    let fixture = BackupFixture::new().await;
    let fresh = r#""progress":{"attempts":0,"under-way":false,"may-have-happened":false}"#;
    let settled = format!(r#"{fresh},"outcome":{{"not-sent":"refused"}}"#);
    let model = model(vec![]);
    let effects = [
        ("fresh", format!("{{{MEMBERS},{fresh}}}")),
        ("bare", format!("{{{MEMBERS}}}")),
        ("settled", format!("{{{MEMBERS},{settled}}}")),
    ];
    let puts = (101..).zip(&effects).map(|(n, (id, body))| change(&model, n, "acme/test").put_in(EFFECTS, id, body));
    fixture.file.db.writer().apply(&batch("b2", puts.collect())).await.unwrap();
    fixture.write().await;
    let target = tempfile::tempdir().unwrap();
    fixture.restore(&target, ExistingDatabase::Keep).await.unwrap();
    let database = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    for (id, expected) in [("fresh", true), ("bare", true), ("settled", false)] {
        let filter = TaskFilter { id: Some(id.into()), ..TaskFilter::default() };
        let found = database.list_tasks(TaskKind::Effect, &filter, None, 1).await.unwrap().remove(0);
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
async fn backup_is_readable_only_by_its_owner() {
    let fixture = BackupFixture::new().await;
    let manifest = fixture.write().await;
    assert_eq!((mode(&fixture.backup()), mode(&fixture.backup().join(COMPONENTS_FOLDER))), (0o700, 0o700));
    for file in [MANIFEST_FILE, DATABASE_FILE, &manifest.components[0].path] {
        assert_eq!(mode(&fixture.backup().join(file)), 0o600, "{file}");
    }
    let target = tempfile::tempdir().unwrap();
    fixture.restore(&target, ExistingDatabase::Keep).await.unwrap();
    assert_eq!((mode(&target.path().join("test.db")), mode(&target.path().join("data"))), (0o600, 0o700));
}

#[tokio::test]
async fn damaged_backup_is_rejected_with_the_reason_and_nothing_changes() {
    type Damage = fn(&Path, &Manifest);
    let damages: [(&str, Damage, &str); 7] = [
        ("a byte", |path, _| flip(&path.join(DATABASE_FILE)), "tenon.db is damaged"),
        ("the end", |path, _| cut(&path.join(DATABASE_FILE)), "tenon.db is damaged"),
        ("a component", |path, all| flip(&path.join(&all.components[0].path)), ".wasm is damaged"),
        (
            "a missing component",
            |path, all| fs::remove_file(path.join(&all.components[0].path)).unwrap(),
            "No such file",
        ),
        ("no manifest", |path, _| fs::remove_file(path.join(MANIFEST_FILE)).unwrap(), "is not a backup"),
        ("half a manifest", |path, _| cut(&path.join(MANIFEST_FILE)), "manifest.json is damaged"),
        ("a path outside", |path, _| edit(path, "components/", "../components/"), "invalid file \"../components/"),
    ];
    for (name, damage, reason) in damages {
        let fixture = BackupFixture::new().await;
        let manifest = fixture.write().await;
        damage(&fixture.backup(), &manifest);
        let target = tempfile::tempdir().unwrap();
        let error = fixture.restore(&target, ExistingDatabase::MoveAside).await.unwrap_err().to_string();
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
async fn backup_of_a_newer_version_is_rejected() {
    let fixture = BackupFixture::new().await;
    fixture.write().await;
    edit(&fixture.backup(), "\"format\": 1", "\"format\": 2");
    let target = tempfile::tempdir().unwrap();
    let error = fixture.restore(&target, ExistingDatabase::Keep).await.unwrap_err().to_string();
    assert!(error.contains("was written by a newer Tenon"), "{error}");
}

#[tokio::test]
async fn existing_database_is_replaced_only_on_request() {
    let fixture = BackupFixture::new().await;
    fixture.write().await;
    let target = tempfile::tempdir().unwrap();
    assert_eq!(events_in(&target).await, 0);
    let error = fixture.restore(&target, ExistingDatabase::Keep).await.unwrap_err().to_string();
    assert!(error.contains("--replace"), "{error}");
    assert_eq!(events_in(&target).await, 0);
    let replaced = fixture.restore(&target, ExistingDatabase::MoveAside).await.unwrap().replaced.unwrap();
    assert_eq!(events_in(&target).await, 100);
    let old = Database::open_immutable(&replaced, Arc::new(|| true)).await.unwrap();
    assert_eq!(old.newest_event().await.unwrap(), 0);
}

#[tokio::test]
async fn missing_backup_is_reported_before_an_existing_database() {
    let fixture = BackupFixture::new().await;
    fixture.write().await;
    let target = tempfile::tempdir().unwrap();
    fixture.restore(&target, ExistingDatabase::Keep).await.unwrap();
    let request = RestoreRequest {
        backup: target.path().join("none"),
        ..fixture.restore_request(&target, ExistingDatabase::Keep)
    };
    let error = restore(request, 2_000, &Arc::default()).await.unwrap_err().to_string();
    assert!(error.contains("none is not a backup"), "{error}");
}

#[tokio::test]
async fn restore_into_the_folder_of_a_running_host_is_rejected() {
    let fixture = BackupFixture::new().await;
    fixture.write().await;
    let target = tempfile::tempdir().unwrap();
    let running = Database::open(&url_in(&target), &DbOptions::default()).await.unwrap();
    let error = fixture.restore(&target, ExistingDatabase::MoveAside).await.unwrap_err().to_string();
    assert!(error.contains("in use by another Tenon"), "{error}");
    assert_eq!(running.newest_event().await.unwrap(), 0);
}

#[tokio::test]
async fn unmet_preconditions_are_reported_before_anything_is_written() {
    let fixture = BackupFixture::new().await;
    let inside = |name: &str| fixture.outside.path().join(name);
    fs::create_dir(inside("there")).unwrap();
    fs::create_dir(inside("left.part")).unwrap();
    for (folder, spare, reason) in [
        (PathBuf::from("relative"), 0, "must be the absolute path"),
        (inside("there"), 0, "exists already"),
        (inside("left"), 0, "was interrupted"),
        (inside("new"), u64::MAX, "bytes free"),
        (inside("none/new"), 0, "No such file"),
    ] {
        let error = fixture.prepare(&folder, spare).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(fs::read_dir(fixture.outside.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn cancelled_backup_leaves_no_files() {
    let fixture = BackupFixture::new().await;
    let plan = fixture.prepare(&fixture.backup(), 0).await.unwrap();
    let progress = Arc::new(Progress::default());
    progress.cancel();
    let error = write(&fixture.file.db, plan, 0, &progress).await.unwrap_err();
    assert!(matches!(error, BackupError::Cancelled), "{error}");
    assert_eq!(fs::read_dir(fixture.outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn panic_of_blocking_work_is_not_reported_as_a_cancellation() {
    let error = blocking(|| -> Result<(), BackupError> { panic!("the disk is on fire") }).await.unwrap_err();
    assert!(matches!(error, BackupError::Panicked(_)), "{error}");
    assert!(error.to_string().contains("the disk is on fire"), "{error}");
}

#[tokio::test]
async fn inconsistencies_of_the_database_are_findings_of_the_backup() {
    let fixture = BackupFixture::new().await;
    let served = "aa".repeat(32);
    let action = OperatorAction::done(1, "ada", ("notes", "deploy"), "because".into());
    let mut line = crate::db::swaps::SwapRow::from(&action);
    (line.outcome, line.to_hash) = ("published".into(), Some(served.clone()));
    fixture.file.db.record_swap(&line).await.unwrap();
    fixture.file.damage("INSERT INTO balances VALUES ('notes', 'acme/test', 'till', 'X', '-7', 1)").await;
    let line = "INSERT INTO journal (plugin, tenant, seq, prev, hash, at, subject, operation, request_id, entry) \
                VALUES ('notes', 'acme/test', 1, zeroblob(32), zeroblob(32), 0, '', '', '', '{}')";
    fixture.file.damage(line).await;
    let findings = fixture.write().await.checks.findings;
    let expected = [
        "the journal of notes of acme/test is broken at line 1: it was changed".to_owned(),
        "the balances of X of notes of acme/test sum up to -7, not to 0".to_owned(),
        format!("the served component {served} is not in the components folder"),
    ];
    assert_eq!(findings, expected);
}

#[tokio::test]
async fn backup_with_an_older_schema_is_upgraded_by_the_restore() {
    let (source, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_first_version(&source.path().join("test.db")).await;
    let database = Database::open_unchanged(&url_in(&source), &DbOptions::default()).await.unwrap();
    let backup = outside.path().join("backup");
    let plan = prepare(&database, source.path(), &backup, 0).await.unwrap();
    assert_eq!(write(&database, plan, 0, &Arc::default()).await.unwrap().schema, 1);
    let target = tempfile::tempdir().unwrap();
    let (data_dir, database_url) = (target.path().to_owned(), url_in(&target));
    let request =
        RestoreRequest { backup, data_dir, database_url, old: ExistingDatabase::Keep, operator: "ada".into() };
    restore(request, 0, &Arc::default()).await.unwrap();
    assert_eq!(events_in(&target).await, 3);
}
