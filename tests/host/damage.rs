//! Damaged, truncated and lost files: the real program names the file and the remedy, and serves nothing from a damaged
//! file.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection};
use tenon::db::{Database, DbOptions, chains::ChainCursor};
use tenon_bench::{
    crash,
    program::{Program, ProgramPlan},
};

use super::command_line::{run_to_end, tenon_binary};
use crate::support::{compiled_code, eventually};

fn order() -> Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

/// A data folder with acknowledged orders, a backup of the first ones, and no running host.
struct Folder {
    folder: tempfile::TempDir,
    key: String,
    /// Ids of the orders in the backup.
    backed_up: Vec<String>,
    /// Ids of the orders that were acknowledged later.
    later: Vec<String>,
}

enum Shutdown {
    Stopped,
    Killed,
}

impl Folder {
    async fn new(shutdown: Shutdown) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let program = start(folder.path()).await;
        let key = program.create_key("fleet", "acme").unwrap();
        let backed_up = create_orders(&program, &key, 5).await;
        let backup = folder.path().join("backup").display().to_string();
        tokio::task::block_in_place(|| program.command(&["backup", &backup])).unwrap();
        let later = create_orders(&program, &key, 40).await;
        match shutdown {
            Shutdown::Stopped => drop(program.stop().await.unwrap()),
            Shutdown::Killed => drop(program.kill().unwrap()),
        }
        Folder { folder, key, backed_up, later }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    /// Starts the program, which must fail, and returns its output.
    async fn failed_start(&self) -> String {
        let printed = fs::read_to_string(self.folder.path().join("tenon.log")).unwrap().len();
        let error = match Program::start(plan(self.folder.path())).await {
            Ok(_) => panic!("it serves"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("instead of serving"), "{error}");
        fs::read_to_string(self.folder.path().join("tenon.log")).unwrap()[printed..].to_owned()
    }

    /// Runs `tenon db ACTION --data-dir DATA`. Returns exit code and output.
    async fn db(&self, action: &str, flags: &[&str]) -> (i32, String) {
        let mut command = Command::new(tenon_binary());
        command.args(["db", action, "--data-dir"]).arg(self.data()).args(flags).env_remove("TENON_DATABASE");
        run_to_end(command).await
    }

    /// Runs the restore command exactly as a message recommends it.
    async fn restore_as_recommended(&self, message: &str) {
        let (_, rest) =
            message.split_once("tenon restore BACKUP ").unwrap_or_else(|| panic!("no restore command: {message}"));
        let flags = rest.split('`').next().unwrap();
        let flags: Vec<&str> = flags.lines().next().unwrap().split_whitespace().collect();
        let mut command = Command::new(tenon_binary());
        command.arg("restore").arg(self.folder.path().join("backup")).args(&flags).env_remove("TENON_DATABASE");
        let (code, printed) = run_to_end(command).await;
        assert_eq!(code, 0, "tenon restore BACKUP {flags:?}: {printed}");
    }

    /// Starts the program and checks that it serves every order of the backup.
    async fn check_serves_backed_up(&self) {
        let program = Program::start(plan(self.folder.path())).await.unwrap();
        let mut client = program.client(&self.key);
        for id in &self.backed_up {
            let found = client.send("GET", &format!("/v1/orders/{id}"), &[], b"").await.unwrap();
            assert_eq!(found.status, 200, "{id}");
        }
        program.stop().await.unwrap();
    }

    /// Starts the program and checks that it serves every acknowledged order.
    async fn check_serves_all(&self) {
        let program = Program::start(plan(self.folder.path())).await.unwrap();
        let mut client = program.client(&self.key);
        for id in self.backed_up.iter().chain(&self.later) {
            let found = client.send("GET", &format!("/v1/orders/{id}"), &[], b"").await.unwrap();
            assert_eq!(found.status, 200, "{id}");
        }
        program.stop().await.unwrap();
    }
}

fn plan(folder: &Path) -> ProgramPlan {
    ProgramPlan { binary: tenon_binary(), folder: folder.to_path_buf(), plugins: vec![crash::fleet()] }
}

/// Starts the program on a new folder, with the compiled code that other tests saved.
async fn start(folder: &Path) -> Program {
    compiled_code::restore(&folder.join("data"));
    let program = Program::start(plan(folder)).await.unwrap();
    compiled_code::save(&folder.join("data"));
    program
}

async fn create_orders(program: &Program, key: &str, count: usize) -> Vec<String> {
    let mut client = program.client(key);
    let mut ids = Vec::new();
    for _ in 0..count {
        let created = client.call("POST", "/v1/orders", &order()).await.unwrap();
        ids.push(created["id"].as_str().unwrap().to_owned());
    }
    ids
}

/// Truncates a file to a fraction of its length.
fn truncate(path: &Path, fraction: f64) {
    let length = fs::metadata(path).unwrap().len();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len((length as f64 * fraction) as u64).unwrap();
}

/// Overwrites whole pages with zeros.
fn zero_pages(path: &Path, pages: std::ops::Range<u64>) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    for page in pages {
        file.write_all_at(&[0; 4_096], page * 4_096).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_database_is_not_created_again_and_can_be_restored() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("is missing", |data| fs::remove_file(data.join("tenon.db")).unwrap()),
        ("is empty", |data| truncate(&data.join("tenon.db"), 0.0)),
        // The marker is lost too. Published components show that there was a database.
        ("is missing", |data| {
            fs::remove_file(data.join("tenon.db")).unwrap();
            fs::remove_file(data.join("tenon.db.id")).unwrap();
        }),
        ("is missing", |data| {
            for name in ["tenon.db", "tenon.db.id", "tenon.db.lock"] {
                fs::remove_file(data.join(name)).unwrap();
            }
        }),
    ];
    let folder = Folder::new(Shutdown::Stopped).await;
    for (state, damage) in damages {
        damage(&folder.data());
        let message = folder.failed_start().await;
        assert!(message.contains(&format!("tenon.db {state}")) && message.contains("tenon db create"), "{message}");
        assert!(
            fs::metadata(folder.file("tenon.db")).map_or(true, |data| data.len() == 0),
            "a database was created: {message}"
        );
        folder.restore_as_recommended(&message).await;
        folder.check_serves_backed_up().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_without_its_database_is_retained() {
    let folder = Folder::new(Shutdown::Killed).await;
    truncate(&folder.file("tenon.db"), 0.0);
    let log = fs::read(folder.file("tenon.db-wal")).unwrap();
    let message = folder.failed_start().await;
    assert!(message.contains("tenon.db is empty"), "{message}");
    assert_eq!(fs::read(folder.file("tenon.db-wal")).unwrap(), log, "SQLite deletes the log beside an empty file");
    folder.restore_as_recommended(&message).await;
    folder.check_serves_backed_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn db_create_makes_an_empty_database_and_a_start_completes_an_interrupted_first_start() {
    let folder = Folder::new(Shutdown::Stopped).await;
    // The components show that there was a database. An empty database needs no previous master key.
    for name in ["tenon.db", "tenon.db.id", "master.key"] {
        fs::remove_file(folder.file(name)).unwrap();
    }
    folder.failed_start().await;
    let (code, printed) = folder.db("create", &[]).await;
    assert!(code == 0 && printed.contains("an empty database"), "{printed}");
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    let refused = program.client(&folder.key).send("GET", "/v1/orders", &[], b"").await.unwrap();
    assert_eq!(refused.status, 401, "an empty database has no keys");
    program.stop().await.unwrap();
    let (code, printed) = folder.db("create", &[]).await;
    assert!(code == 1 && printed.contains("--replace"), "{printed}");
    fs::remove_dir_all(folder.data()).unwrap();
    // The state that a first start leaves if it is killed before it creates the master key.
    fs::create_dir(folder.data()).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.file("tenon.db")).create_if_missing(true);
    let connection = options.journal_mode(sqlx::sqlite::SqliteJournalMode::Wal).connect().await.unwrap();
    connection.close().await.unwrap();
    assert!(fs::metadata(folder.file("tenon.db")).unwrap().len() > 0);
    start(folder.folder.path()).await.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_and_check_report_a_damaged_database() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("damaged header", |file| zero_pages(file, 0..1)),
        ("truncated to half", |file| truncate(file, 0.5)),
        ("truncated to a fragment", |file| truncate(file, 0.0001)),
        ("damaged pages", |file| zero_pages(file, 3..20)),
    ];
    let folder = Folder::new(Shutdown::Stopped).await;
    for (name, damage) in damages {
        damage(&folder.file("tenon.db"));
        let expected = format!("{} is damaged", folder.file("tenon.db").display());
        let (code, printed) = folder.db("check", &[]).await;
        assert!(code == 1 && printed.contains("DAMAGED"), "{name}: {printed}");
        let (code, printed) = folder.db("check", &["--json"]).await;
        let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
        assert!(code == 1 && report["intact"] == json!(false), "{name}: {report}");
        let message = folder.failed_start().await;
        assert!(message.contains(&expected), "{name}: {message}");
        folder.restore_as_recommended(&message).await;
        folder.check_serves_backed_up().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_simulated_blockchains_are_reported_without_recommending_a_restore() {
    let folder = Folder::new(Shutdown::Stopped).await;
    let file = folder.file("chains.db");
    let remedy = format!("put a copy of {} back, or remove it", file.display());
    let whole = fs::read(&file).unwrap();
    for (name, bytes) in [("truncated to a fragment", &whole[..50]), ("truncated to half", &whole[..whole.len() / 2])] {
        fs::write(&file, bytes).unwrap();
        let (code, printed) = folder.db("check", &[]).await;
        assert_eq!(code, 1, "{name}: {printed}");
        assert!(printed.contains("DAMAGED") && printed.contains(&remedy), "{name}: {printed}");
        assert!(!printed.contains("restore"), "{name}: {printed}");
        let message = folder.failed_start().await;
        assert!(message.contains(&remedy) && !message.contains("tenon restore"), "{name}: {message}");
    }
    fs::write(&file, &whole).unwrap();
    folder.check_serves_all().await;
    fs::remove_file(&file).unwrap();
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncated_log_of_a_killed_host_is_detected_and_can_be_accepted() {
    let folder = Folder::new(Shutdown::Killed).await;
    // The log is cut after ten frames. Later frames may predate the last restart of the log.
    let log = fs::OpenOptions::new().write(true).open(folder.file("tenon.db-wal")).unwrap();
    log.set_len(32 + 10 * (24 + 4_096)).unwrap();
    let expected = format!("{} is damaged", folder.file("tenon.db-wal").display());
    let (code, printed) = folder.db("check", &[]).await;
    assert!(code == 1 && printed.contains(&expected) && printed.contains("skipped"), "{printed}");
    let message = folder.failed_start().await;
    assert!(message.contains(&expected) && message.contains("changes that were acknowledged are lost"), "{message}");
    let (code, printed) = folder.db("accept", &[]).await;
    assert!(code == 0 && printed.contains("is accepted at version"), "{printed}");
    let (code, printed) = folder.db("check", &[]).await;
    assert_eq!(code, 0, "{printed}");
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    let journal = tokio::task::block_in_place(|| program.command(&["plugin", "journal", "--json"])).unwrap();
    assert!(journal.contains(r#""action":"accept""#), "{journal}");
    program.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_copy_and_another_database_are_rejected() {
    let folder = Folder::new(Shutdown::Killed).await;
    let other = Folder::new(Shutdown::Stopped).await;
    // Without the log and its index, only the recorded version reveals an older copy.
    folder.check_serves_all().await;
    let older = fs::read(folder.file("tenon.db")).unwrap();
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    create_orders(&program, &folder.key, 3).await;
    program.stop().await.unwrap();
    let newest = fs::read(folder.file("tenon.db")).unwrap();
    for (bytes, reason) in [(older, "had reached"), (fs::read(other.file("tenon.db")).unwrap(), "another database")] {
        fs::write(folder.file("tenon.db"), bytes).unwrap();
        let message = folder.failed_start().await;
        assert!(message.contains(reason) && message.contains("tenon.db.id"), "{message}");
        let (code, printed) = folder.db("check", &[]).await;
        assert!(code == 1 && printed.contains(reason), "{printed}");
    }
    fs::write(folder.file("tenon.db"), newest).unwrap();
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_of_a_killed_host_survives_a_wrong_database_file() {
    let mut folder = Folder::new(Shutdown::Stopped).await;
    let other = Folder::new(Shutdown::Stopped).await;
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    let last = create_orders(&program, &folder.key, 3).await;
    drop(program.kill().unwrap());
    folder.later.extend(last);
    let names = ["tenon.db", "tenon.db-wal", "tenon.db.id"];
    let read = |folder: &Folder| names.map(|name| fs::read(folder.file(name)).unwrap_or_default());
    let [original, ..] = read(&folder);
    fs::write(folder.file("tenon.db"), fs::read(other.file("tenon.db")).unwrap()).unwrap();
    let wrong = read(&folder);
    assert!(!wrong[1].is_empty(), "the last orders are in the log");
    let message = folder.failed_start().await;
    assert!(message.contains("another database"), "{message}");
    let mut backup = Command::new(tenon_binary());
    backup.arg("backup").arg(folder.folder.path().join("another")).arg("--data-dir").arg(folder.data());
    backup.args(["--admin", "127.0.0.1:1"]);
    let (code, printed) = run_to_end(backup).await;
    assert!(code == 1 && printed.contains("another database"), "{printed}");
    assert!(read(&folder) == wrong, "a file was changed");
    fs::write(folder.file("tenon.db"), original).unwrap();
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intact_folder_passes_the_check_with_and_without_a_running_host() {
    let folder = Folder::new(Shutdown::Killed).await;
    let (code, printed) = folder.db("check", &[]).await;
    assert!(code == 0 && printed.contains("No damage was found."), "{printed}");
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    create_orders(&program, &folder.key, 3).await;
    let (code, printed) = folder.db("check", &["--quick"]).await;
    assert!(code == 0 && printed.contains("No damage was found."), "{printed}");
    program.stop().await.unwrap();
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_host_that_finds_damage_rejects_writes_and_reports_it_once() {
    let folder = Folder::new(Shutdown::Stopped).await;
    let program = Program::start(plan(folder.folder.path())).await.unwrap();
    // The program serves before it reads its timers. If that read found the damage, the start would fail.
    eventually("the end of the start", async || (program.log().matches("is ready").count() == 2).then_some(())).await;
    let pages = fs::metadata(folder.file("tenon.db")).unwrap().len() / 4_096;
    zero_pages(&folder.file("tenon.db"), 1..pages);
    // Poll until a statement reads a page that is not cached.
    eventually("damage", async || {
        let _ = program.client(&folder.key).send("GET", "/v1/orders", &[], b"").await;
        let ready = program.ready().await.ok()?;
        (ready.status == 503 && String::from_utf8_lossy(&ready.body).contains("tenon.db is damaged")).then_some(())
    })
    .await;
    let mut client = program.client(&folder.key);
    let body = order().to_string();
    let refused = client.send("POST", "/v1/orders", &[], body.as_bytes()).await;
    assert_eq!(refused.unwrap().status, 503);
    let log = program.log();
    assert_eq!(log.matches("Writing requests get 503").count(), 1, "{log}");
    assert!(!log.contains("retention"), "{log}");
    drop(program.kill().unwrap());
    let message = folder.failed_start().await;
    folder.restore_as_recommended(&message).await;
    folder.check_serves_backed_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_data_folder_is_rejected_with_its_path() {
    let folder = Folder::new(Shutdown::Stopped).await;
    let data = folder.data();
    let mount = format!(
        "mount --bind {0} {0} && mount -o remount,ro,bind {0} && exec {1} serve --config {2} --data-dir {0} \
         --listen 127.0.0.1:0 --admin 127.0.0.1:0",
        data.display(),
        tenon_binary().display(),
        folder.folder.path().join("plugins.toml").display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &mount]);
    let (code, printed) = run_to_end(command).await;
    if printed.contains("unshare") || printed.contains("mount:") {
        println!("skipped: this system does not permit mounts: {printed}");
        return;
    }
    let lock = folder.file("tenon.db.lock");
    assert!(code == 1 && printed.contains(&format!("{}: Read-only file system", lock.display())), "{printed}");
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_components_and_master_key_are_reported_and_compiled_code_is_recreated() {
    let folder = Folder::new(Shutdown::Stopped).await;
    fs::remove_dir_all(folder.file("compiled")).unwrap();
    fs::remove_dir_all(folder.file("components")).unwrap();
    let (code, printed) = folder.db("check", &[]).await;
    assert!(code == 1 && printed.contains(&folder.file("components").display().to_string()), "{printed}");
    assert!(
        printed.contains("Deploy missing components again") && !printed.contains("newest intact backup"),
        "{printed}"
    );
    // The configured component file has the same content, so the host stores it again.
    folder.check_serves_all().await;
    let (code, printed) = folder.db("check", &[]).await;
    assert_eq!(code, 0, "{printed}");
    let mut command = Command::new(tenon_binary());
    command.args(["db", "check", "--data-dir"]).arg(folder.data()).env("TENON_MASTER_KEY", "ab".repeat(32));
    let (code, printed) = run_to_end(command).await;
    assert!(code == 1 && printed.contains("Restore the master key"), "{printed}");
    assert!(!printed.contains("tenon restore"), "{printed}");
    let key = fs::read(folder.file("master.key")).unwrap();
    fs::remove_file(folder.file("master.key")).unwrap();
    let message = folder.failed_start().await;
    assert!(message.contains(&format!("{} is missing", folder.file("master.key").display())), "{message}");
    assert!(!folder.file("master.key").exists(), "a new key could decrypt nothing");
    fs::write(folder.file("master.key"), key).unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder.file("master.key"), fs::Permissions::from_mode(0o600)).unwrap();
    folder.check_serves_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_database_is_reported_as_damage_only_beside_its_marker() {
    let folder = tempfile::tempdir().unwrap();
    let check = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["db", "check", "--data-dir"]).arg(folder.path()).env_remove("TENON_DATABASE");
        run_to_end(command).await
    };
    let (code, printed) = check().await;
    assert!(code == 1 && printed.contains("there is no database at"), "{printed}");
    assert!(!printed.contains("DAMAGED") && !printed.contains("restore"), "{printed}");
    fs::create_dir(folder.path().join("tenon.db")).unwrap();
    let (code, printed) = check().await;
    assert!(code == 1 && printed.contains("tenon.db: it is a folder, not a regular file"), "{printed}");
    fs::remove_dir(folder.path().join("tenon.db")).unwrap();
    fs::write(folder.path().join("tenon.db.id"), "id 1").unwrap();
    let (code, printed) = check().await;
    assert!(code == 1 && printed.contains("DAMAGED") && printed.contains("tenon restore"), "{printed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_simulated_blockchains_are_reported_if_the_database_refers_to_them() {
    let folder = Folder::new(Shutdown::Stopped).await;
    let lost = format!("{}", folder.file("chains.db").display());
    let remove =
        || ["chains.db", "chains.db-wal", "chains.db-shm"].map(|name| fs::remove_file(folder.file(name)).is_ok());
    assert!(remove()[0]);
    let restart = async || {
        let printed = fs::read_to_string(folder.folder.path().join("tenon.log")).unwrap().len();
        let program = Program::start(plan(folder.folder.path())).await.unwrap();
        let log = program.log()[printed..].to_owned();
        program.stop().await.unwrap();
        log
    };
    let log = restart().await;
    assert!(!log.contains("simulated blockchains is missing"), "the database does not refer to them: {log}");
    let url = format!("sqlite:{}", folder.file("tenon.db").display());
    let database = Database::open(&url, &DbOptions::default()).await.unwrap();
    let cursor = ChainCursor { height: 7, hash: "7".to_owned() };
    database.put_chain_cursor("simulated-test/base", &cursor).await.unwrap();
    database.close().await.unwrap();
    let log = restart().await;
    assert!(!log.contains("simulated blockchains is missing"), "the file exists: {log}");
    assert!(remove()[0]);
    let log = restart().await;
    assert!(log.contains("simulated blockchains is missing") && log.contains(&lost), "{log}");
}
