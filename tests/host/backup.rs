//! Backups and the way back, as an operator does them: with the real program, under load, with damage, through kills.

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

use super::{
    commands::{bad, good},
    starting::{end_of, tenon},
};
use crate::support::{Reply, TestClient, TestHost, TestReceiver, eventually};

fn order() -> Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

async fn place(client: &TestClient) -> String {
    client.post("/v1/orders", order()).await.expect(201).text_at("/id")
}

fn words(path: &Path) -> String {
    path.display().to_string()
}

/// `tenon restore BACKUP --data-dir DATA` and what is added.
fn restore(backup: &Path, data_dir: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(tenon());
    command.arg("restore").arg(backup).arg("--data-dir").arg(data_dir).args(more).env_remove("TENON_DATABASE");
    command
}

/// Ids of orders, each noted once its answer was there.
type Acknowledged = Arc<Mutex<Vec<String>>>;

/// Writes until it is told to stop.
async fn write(program: tenon_bench::wire::Client, acknowledged: Acknowledged, running: Arc<Mutex<bool>>) {
    let mut client = program;
    while *running.lock() {
        let made = client.call("POST", "/v1/orders", &order()).await.unwrap();
        acknowledged.lock().push(made["id"].as_str().unwrap().to_owned());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_acknowledged_before_a_backup_began_is_there_after_its_restore() {
    let folder = tempfile::tempdir().unwrap();
    let plan =
        |name: &str| ProgramPlan { binary: tenon(), folder: folder.path().join(name), plugins: vec![crash::fleet()] };
    let program = Program::start(plan("one")).await.unwrap();
    let key = program.create_key("fleet", "acme").unwrap();
    let (acknowledged, running) = (Acknowledged::default(), Arc::new(Mutex::new(true)));
    let writers: Vec<_> =
        (0..8).map(|_| tokio::spawn(write(program.client(&key), acknowledged.clone(), running.clone()))).collect();
    eventually("load", async || (acknowledged.lock().len() >= 100).then_some(())).await;
    let before = acknowledged.lock().clone();
    let backup = words(&folder.path().join("backup"));
    let written = tokio::task::block_in_place(|| program.command(&["backup", &backup, "--json"])).unwrap();
    let during = acknowledged.lock().len();
    *running.lock() = false;
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(during > before.len(), "nobody wrote meanwhile");
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!((&written["folder"], &written["findings"]), (&json!(backup), &json!([])), "{written}");
    program.stop().await.unwrap();

    let data = folder.path().join("two/data");
    fs::create_dir(folder.path().join("two")).unwrap();
    let (code, said) = end_of(restore(Path::new(&backup), &data, &[])).await;
    assert!(code == 0 && said.contains("Bring the master key"), "{said}");
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
async fn a_backup_is_shown_noted_and_no_folder_is_written_over() {
    let host = TestHost::fleet().await;
    place(&host.client("fleet", "acme").await).await;
    host.operator().get("/v1/backup").await.check(404);
    let backup = words(&host.dir.path().join("backup"));
    let said = good(&host, &["backup", &backup]).await;
    assert!(said.contains("checked: pages, indexes") && said.contains("The master key is not in it"), "{said}");
    let mut files: Vec<PathBuf> = fs::read_dir(&backup).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["components", "manifest.json", "tenon.db"]);
    let last = host.operator().get("/v1/backup").await.expect(200).json();
    assert_eq!((&last["state"], &last["folder"]), (&json!("done"), &json!(backup)), "{last}");
    assert!(good(&host, &["plugin", "journal", "--json"]).await.contains(r#""action":"backup""#));
    let said = bad(&host, &["backup", &backup]).await;
    assert!(said.contains("No backup was begun") && said.contains("is there already"), "{said}");
    let said = bad(&host, &["backup", "/nowhere/backup", "--json"]).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["code"], "refused", "{said}");
    host.stop().await;
}

#[tokio::test]
async fn without_a_host_a_backup_is_written_from_the_data_folder() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let kept = place(&acme).await;
    let backup = host.dir.path().join("backup");
    let (data, dir) = (host.data_dir(), host.dir.clone());
    host.stop().await;
    let mut command = Command::new(tenon());
    command.arg("backup").arg(&backup).arg("--data-dir").arg(&data).args(["--admin", "127.0.0.1:1"]);
    let (code, said) = end_of(command).await;
    assert!(code == 0, "{said}");
    let copy = Database::open_still(&backup.join("tenon.db"), Arc::new(|| true)).await.unwrap();
    assert_eq!(copy.newest_event().await.unwrap(), 1, "of {kept}");
    let mut command = Command::new(tenon());
    command
        .arg("backup")
        .arg(dir.path().join("other"))
        .arg("--data-dir")
        .arg(dir.path())
        .args(["--admin", "127.0.0.1:1"]);
    let (code, said) = end_of(command).await;
    assert!(code == 1 && said.contains("there is no database at"), "{said}");
}

#[tokio::test]
async fn a_restore_beside_a_running_host_or_of_a_damaged_backup_changes_nothing() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let kept = place(&acme).await;
    let backup = host.dir.path().join("backup");
    good(&host, &["backup", &words(&backup)]).await;
    let (code, said) = end_of(restore(&backup, &host.data_dir(), &[])).await;
    assert!(code == 1 && said.contains("--replace"), "{said}");
    let (code, said) = end_of(restore(&backup, &host.data_dir(), &["--replace"])).await;
    assert!(code == 1 && said.contains("is in use by another Tenon"), "{said}");
    let mut bytes = fs::read(backup.join("tenon.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(backup.join("tenon.db"), bytes).unwrap();
    let empty = host.dir.path().join("new");
    let (code, said) = end_of(restore(&backup, &empty, &["--json"])).await;
    let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(code == 1 && said["message"].to_string().contains("tenon.db is damaged"), "{said}");
    assert!(!empty.exists());
    acme.get(&format!("/v1/orders/{kept}")).await.check(200);
    host.stop().await;
}

/// A data folder with five events, a backup of when there were two.
async fn two_states() -> (Arc<tempfile::TempDir>, PathBuf, PathBuf) {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let backup = host.dir.path().join("backup");
    place(&acme).await;
    place(&acme).await;
    good(&host, &["backup", &words(&backup)]).await;
    for _ in 0..3 {
        place(&acme).await;
    }
    let (dir, data) = (host.dir.clone(), host.data_dir());
    host.stop().await;
    (dir, data, backup)
}

/// The database alone: what a restore exchanges.
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

fn begin(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[tokio::test]
async fn a_restore_that_is_killed_leaves_the_old_data_or_the_new() {
    let (dir, data, backup) = two_states().await;
    let there = dir.path().join("there");
    copy_database(&data, &there);
    let begun = Instant::now();
    assert!(begin(restore(&backup, &there, &["--replace"])).wait().unwrap().success());
    let takes = begun.elapsed();
    assert_eq!(events_in(&there).await, 2);
    let rounds = tenon_bench::soak::rounds(12, 300) as u32;
    for round in 0..rounds {
        copy_database(&data, &there);
        let mut child = begin(restore(&backup, &there, &["--replace"]));
        tokio::time::sleep(takes * (round + 1) / rounds + Duration::from_micros(137)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        let events = events_in(&there).await;
        assert!(events == 5 || events == 2, "round {round}: {events} events are neither the old nor the new data");
    }
}

#[tokio::test]
async fn what_was_delivered_after_the_backup_is_delivered_again_under_the_same_id() {
    let (host, receiver) = (TestHost::fleet().await, TestReceiver::start(Reply::Status(200)).await);
    let key = host.key("fleet", "acme").await;
    let acme = host.client_of(&key);
    let endpoint = acme.post("/v1/webhook-endpoints", json!({"url": receiver.url(), "events": []})).await;
    let endpoint = format!("/v1/webhook-endpoints/{}", endpoint.expect(201).text_at("/id"));
    acme.post(&format!("{endpoint}/disable"), json!({})).await.check(200);
    place(&acme).await;
    let backup = host.dir.path().join("backup");
    good(&host, &["backup", &words(&backup)]).await;
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
