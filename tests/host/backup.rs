//! Backup and restore with the real program: under load, with damage, and interrupted by kills.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tenon::db::{Database, DbOptions};
use tenon_bench::{
    crash,
    program::{Program, ProgramPlan},
};

use super::command_line::{run_err, run_ok, run_to_end, tenon_binary};
use crate::support::{ReceiverResponse, TestClient, TestHost, TestReceiver, eventually};

fn order() -> Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

async fn create_order(client: &TestClient) -> String {
    client.post("/v1/orders", order()).await.expect(201).text_at("/id")
}

fn argument(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the command `tenon restore BACKUP --data-dir DATA` with additional flags.
fn restore(backup: &Path, data_dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(tenon_binary());
    command.arg("restore").arg(backup).arg("--data-dir").arg(data_dir).args(flags).env_remove("TENON_DATABASE");
    command
}

/// Ids of acknowledged orders.
type Acknowledged = Arc<Mutex<Vec<String>>>;

/// Creates orders until `running` is false.
async fn write(program: tenon_bench::wire::Client, acknowledged: Acknowledged, running: Arc<Mutex<bool>>) {
    let mut client = program;
    while *running.lock() {
        let created = client.call("POST", "/v1/orders", &order()).await.unwrap();
        acknowledged.lock().push(created["id"].as_str().unwrap().to_owned());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restored_host_serves_every_order_acknowledged_before_the_backup_started() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |name: &str| ProgramPlan {
        binary: tenon_binary(),
        folder: folder.path().join(name),
        plugins: vec![crash::fleet()],
    };
    let program = Program::start(plan("one")).await.unwrap();
    let key = program.create_key("fleet", "acme").unwrap();
    let (acknowledged, running) = (Acknowledged::default(), Arc::new(Mutex::new(true)));
    let writers: Vec<_> =
        (0..8).map(|_| tokio::spawn(write(program.client(&key), acknowledged.clone(), running.clone()))).collect();
    eventually("load", async || (acknowledged.lock().len() >= 100).then_some(())).await;
    let before = acknowledged.lock().clone();
    let backup = argument(&folder.path().join("backup"));
    let written = tokio::task::block_in_place(|| program.command(&["backup", &backup, "--json"])).unwrap();
    let during = acknowledged.lock().len();
    *running.lock() = false;
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(during > before.len(), "nothing was written meanwhile");
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!((&written["folder"], &written["findings"]), (&json!(backup), &json!([])), "{written}");
    program.stop().await.unwrap();

    let data = folder.path().join("two/data");
    fs::create_dir(folder.path().join("two")).unwrap();
    let (code, output) = run_to_end(restore(Path::new(&backup), &data, &[])).await;
    assert!(code == 0 && output.contains("provide the master key"), "{output}");
    fs::copy(folder.path().join("one/data/master.key"), data.join("master.key")).unwrap();
    let program = Program::start(plan("two")).await.unwrap();
    let mut client = program.client(&key);
    for id in &before {
        let found = client.send("GET", &format!("/v1/orders/{id}"), &[], b"").await.unwrap();
        assert_eq!(found.status, 200, "{id} is lost");
    }
    let journal = tokio::task::block_in_place(|| program.command(&["plugin", "journal", "--json"])).unwrap();
    assert!(journal.contains(r#""action":"restore""#), "{journal}");
    program.stop().await.unwrap();
}

#[tokio::test]
async fn backup_is_reported_and_journaled_and_overwrites_no_folder() {
    let host = TestHost::fleet().await;
    create_order(&host.client("fleet", "acme").await).await;
    host.operator().get("/v1/backup").await.check(404);
    let backup = argument(&host.dir.path().join("backup"));
    let output = run_ok(&host, &["backup", &backup]).await;
    assert!(
        output.contains("checked: pages, indexes") && output.contains("does not contain the master key"),
        "{output}"
    );
    let mut files: Vec<PathBuf> = fs::read_dir(&backup).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["components", "manifest.json", "tenon.db"]);
    let last = host.operator().get("/v1/backup").await.expect(200).json();
    assert_eq!((&last["state"], &last["folder"]), (&json!("done"), &json!(backup)), "{last}");
    assert!(run_ok(&host, &["plugin", "journal", "--json"]).await.contains(r#""action":"backup""#));
    let output = run_err(&host, &["backup", &backup]).await;
    assert!(output.contains("The backup was not started") && output.contains("exists already"), "{output}");
    let output = run_err(&host, &["backup", "/nowhere/backup", "--json"]).await;
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["code"], "refused", "{output}");
    host.stop().await;
}

#[tokio::test]
async fn backup_without_a_running_host_reads_the_data_folder() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let order_id = create_order(&acme).await;
    let backup = host.dir.path().join("backup");
    let (data, dir) = (host.data_dir(), host.dir.clone());
    host.stop().await;
    let mut command = Command::new(tenon_binary());
    command.arg("backup").arg(&backup).arg("--data-dir").arg(&data).args(["--admin", "127.0.0.1:1"]);
    let (code, output) = run_to_end(command).await;
    assert!(code == 0, "{output}");
    let copy = Database::open_immutable(&backup.join("tenon.db"), Arc::new(|| true)).await.unwrap();
    assert_eq!(copy.newest_event().await.unwrap(), 1, "of {order_id}");
    let mut command = Command::new(tenon_binary());
    command
        .arg("backup")
        .arg(dir.path().join("other"))
        .arg("--data-dir")
        .arg(dir.path())
        .args(["--admin", "127.0.0.1:1"]);
    let (code, output) = run_to_end(command).await;
    assert!(code == 1 && output.contains("there is no database at"), "{output}");
}

#[tokio::test]
async fn restore_next_to_a_running_host_or_from_a_damaged_backup_changes_nothing() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let order_id = create_order(&acme).await;
    let backup = host.dir.path().join("backup");
    run_ok(&host, &["backup", &argument(&backup)]).await;
    let (code, output) = run_to_end(restore(&backup, &host.data_dir(), &[])).await;
    assert!(code == 1 && output.contains("--replace"), "{output}");
    let (code, output) = run_to_end(restore(&backup, &host.data_dir(), &["--replace"])).await;
    assert!(code == 1 && output.contains("is in use by another Tenon"), "{output}");
    let mut bytes = fs::read(backup.join("tenon.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(backup.join("tenon.db"), bytes).unwrap();
    let empty = host.dir.path().join("new");
    let (code, output) = run_to_end(restore(&backup, &empty, &["--json"])).await;
    let output: Value = serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"));
    assert!(code == 1 && output["message"].to_string().contains("tenon.db is damaged"), "{output}");
    assert!(!empty.exists());
    acme.get(&format!("/v1/orders/{order_id}")).await.check(200);
    host.stop().await;
}

/// Returns a data folder with five events and a backup that contains the first two.
async fn two_states() -> (Arc<tempfile::TempDir>, PathBuf, PathBuf) {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let backup = host.dir.path().join("backup");
    create_order(&acme).await;
    create_order(&acme).await;
    run_ok(&host, &["backup", &argument(&backup)]).await;
    for _ in 0..3 {
        create_order(&acme).await;
    }
    let (dir, data) = (host.dir.clone(), host.data_dir());
    host.stop().await;
    (dir, data, backup)
}

/// Replaces the folder `to` with one that contains only a copy of the database.
fn copy_database(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    fs::copy(from.join("tenon.db"), to.join("tenon.db")).unwrap();
}

async fn events_in(data: &Path) -> i64 {
    let url = format!("sqlite:{}", data.join("tenon.db").display());
    let database = Database::open(&url, &DbOptions::default()).await.unwrap();
    let events = database.newest_event().await.unwrap();
    database.close().await.unwrap();
    events
}

fn spawn(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn killed_restore_leaves_the_old_or_the_new_data() {
    let (dir, data, backup) = two_states().await;
    let target = dir.path().join("target");
    copy_database(&data, &target);
    let started = Instant::now();
    assert!(spawn(restore(&backup, &target, &["--replace"])).wait().unwrap().success());
    let duration = started.elapsed();
    assert_eq!(events_in(&target).await, 2);
    let rounds = tenon_bench::soak::rounds(12, 300) as u32;
    for round in 0..rounds {
        copy_database(&data, &target);
        let mut child = spawn(restore(&backup, &target, &["--replace"]));
        tokio::time::sleep(duration * (round + 1) / rounds + Duration::from_micros(137)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let events = events_in(&target).await;
        assert!(events == 5 || events == 2, "round {round}: {events} events are neither the old nor the new data");
    }
}

#[tokio::test]
async fn webhook_delivered_after_the_backup_is_delivered_again_with_the_same_id() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(ReceiverResponse::Status(200)).await);
    let key = host.key("fleet", "acme").await;
    let acme = host.client_of(&key);
    let endpoint = acme.post("/v1/webhook-endpoints", json!({"url": receiver.url(), "events": []})).await;
    let endpoint = format!("/v1/webhook-endpoints/{}", endpoint.expect(201).text_at("/id"));
    acme.post(&format!("{endpoint}/disable"), json!({})).await.check(200);
    create_order(&acme).await;
    let backup = host.dir.path().join("backup");
    run_ok(&host, &["backup", &argument(&backup)]).await;
    acme.post(&format!("{endpoint}/enable"), json!({})).await.check(200);
    let first = receiver.wait_for(1).await.remove(0);
    let mut command = restore(&backup, &host.data_dir(), &["--replace"]);
    let host = host.restart_after(move || assert!(command.output().unwrap().status.success())).await;
    let acme = host.client_of(&key);
    acme.post(&format!("{endpoint}/enable"), json!({})).await.check(200);
    let again = receiver.wait_for(2).await.remove(1);
    assert_eq!((again.id(), &again.body), (first.id(), &first.body));
    host.stop().await;
}
