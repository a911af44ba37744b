//! `kill -9`: acknowledged changes survive, changes happen once, and the next start serves.

#![allow(clippy::disallowed_methods, reason = "load that runs beside the test")]

mod damaged;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::json;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use tenon_bench::{
    crash::{self, CrashPlan},
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    soak,
    wire::Client,
};

use crate::support::RawConnection;

fn plan(folder: &Path, plugin: PluginSection) -> ProgramPlan {
    let binary = sibling_binary("tenon").expect("build tenon first: cargo build -p tenon");
    ProgramPlan { binary, folder: folder.to_path_buf(), plugins: vec![plugin] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_changes_survive_kills_and_happen_once() {
    let folder = tempfile::tempdir().unwrap();
    let rounds = soak::rounds(3, 100);
    let program = plan(folder.path(), crash::fleet());
    let report = crash::run(&CrashPlan { program, rounds, actors: 32, kill_after_ms: (100, 1_000), first_round: 0 })
        .await
        .unwrap();
    assert_eq!(report.rounds, rounds);
    assert!(report.acknowledged > 0 && report.repeated > 0, "it was not killed under load: {report:?}");
    assert_eq!(report.delivered, report.acknowledged, "one webhook for each change: {report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_and_outgoing_calls_survive_kills_and_happen_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = ProgramPlan { plugins: Vec::new(), ..plan(folder.path(), crash::fleet()) };
    let rounds = soak::rounds(3, 100);
    let plan = CrashPlan { program, rounds, actors: 32, kill_after_ms: (200, 1_000), first_round: 0 };
    let report = crash::run_effects(&plan).await.unwrap();
    assert!(report.acknowledged > 0 && report.repeated > 0, "it was not killed under load: {report:?}");
    let outcomes = &report.outcomes;
    let delivered = outcomes.answered + outcomes.unknown + outcomes.not_sent;
    assert_eq!(delivered, report.acknowledged, "one outcome for each: {report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_agree_on_both_sides_when_platform_and_partner_are_killed_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let program = ProgramPlan { plugins: Vec::new(), ..plan(folder.path(), crash::fleet()) };
    let rounds = soak::rounds(4, 100);
    let plan = CrashPlan { program, rounds, actors: 16, kill_after_ms: (200, 1_000), first_round: 0 };
    let report = crash::run_payments(&plan).await.unwrap();
    assert!(report.results.completed > 0 && report.repeated > 0, "it was not killed under load: {report:?}");
    let results = &report.results;
    let ended = results.completed + results.rejected + results.timed_out;
    assert_eq!(ended, report.acknowledged, "one result for each: {report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallet_balances_and_payments_survive_kills_and_faulty_blockchains() {
    let folder = tempfile::tempdir().unwrap();
    let program = ProgramPlan { plugins: Vec::new(), ..plan(folder.path(), crash::fleet()) };
    let rounds = soak::rounds(3, 100);
    let plan = CrashPlan { program, rounds, actors: 8, kill_after_ms: (300, 2_000), first_round: 0 };
    let report = crash::run_wallets(&plan, crash::seed_or(1)).await.unwrap_or_else(|error| panic!("{error:#}"));
    assert!(report.acknowledged > 0 && report.repeated > 0, "it was not killed under load: {report:?}");
    for end in ["DEPOSIT success", "WITHDRAW success", "WITHDRAW failed", "SWAP success"] {
        assert!(report.results.contains_key(end), "no {end}: {report:?}");
    }
}

/// Deploys one version after another until the process is killed. Returns the last confirmed version.
async fn deploy_until_killed(program: &Program, first: u32) -> u32 {
    let mut number = first;
    loop {
        let component = guests::chameleon_version(&format!("1.{number}.0")).unwrap();
        match program.deploy("chameleon", &component).await {
            Ok(answer) if answer.status == 200 => number += 1,
            Ok(answer) => panic!("{}", String::from_utf8_lossy(&answer.body)),
            Err(_) => return number - 1,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_deploy_survives_a_kill_during_the_next_deploy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chameleon.wasm");
    fs::write(&file, guests::chameleon_version("1.0.0").unwrap()).unwrap();
    let section = PluginSection::new("chameleon", &file, &["records", "events"]);
    let mut program = Program::start(plan(folder.path(), section)).await.unwrap();
    let key = program.create_key("chameleon", "acme").unwrap();
    let mut confirmed = 0;
    for round in 0..soak::rounds(4, 100) as u64 {
        let kill_handle = program.kill_handle().unwrap();
        let killed = tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(150 + (round * 137) % 700)).await;
            kill_handle.kill();
        });
        confirmed = deploy_until_killed(&program, confirmed + 1).await;
        killed.await.unwrap();
        program = Program::start(program.kill().unwrap()).await.unwrap();
        let version = program.client(&key).call("GET", "/v1/version", &serde_json::Value::Null).await.unwrap();
        let serves = version["version"].as_str().unwrap().to_owned();
        // The next deploy may have been committed without a response.
        let allowed = [confirmed, confirmed + 1].map(|number| format!("1.{number}.0"));
        assert!(allowed.contains(&serves), "{serves} serves, {confirmed} was confirmed");
        confirmed = if serves == allowed[1] { confirmed + 1 } else { confirmed };
    }
}

/// Creates orders until `running` is false or a call fails.
async fn create_orders(mut client: Client, running: Arc<AtomicBool>) {
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    while running.load(Relaxed) && client.call("POST", "/v1/orders", &order).await.is_ok() {}
}

async fn open_stream(program: &Program, key: &str, last: Option<&String>) -> RawConnection {
    let mut stream = RawConnection::open(&program.public.to_string()).await;
    let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
    let head = format!("GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{last}\r\n");
    stream.send(&head).await;
    stream.read_until("retry: ").await;
    stream
}

/// Returns the ids of the complete events. A reader ignores a truncated event.
fn whole_events(text: &str) -> Vec<String> {
    let (whole, _) = text.rsplit_once("\n\n").unwrap_or_default();
    whole.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

async fn stored_events(program: &Program) -> Vec<String> {
    let options = SqliteConnectOptions::new().filename(program.database_file()).read_only(true);
    let mut file = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query_scalar("SELECT id FROM events ORDER BY seq").fetch_all(&mut file).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_reader_receives_every_event_once_and_in_order_across_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(plan(folder.path(), crash::fleet())).await.unwrap();
    let key = program.create_key("fleet", "acme").unwrap();
    let mut seen: Vec<String> = Vec::new();
    for round in 0..soak::rounds(3, 50) as u64 {
        let stream = open_stream(&program, &key, seen.last()).await;
        let running = Arc::new(AtomicBool::new(true));
        let writers: Vec<_> =
            (0..16).map(|_| tokio::spawn(create_orders(program.client(&key), running.clone()))).collect();
        let reader = tokio::spawn(stream.read_to_end());
        tokio::time::sleep(Duration::from_millis(200 + (round * 137) % 700)).await;
        let stopped = program.kill().unwrap();
        running.store(false, Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        let received = whole_events(&reader.await.unwrap());
        assert!(!received.is_empty(), "it was not killed under load");
        seen.extend(received);
        program = Program::start(stopped).await.unwrap();
    }
    let stored = stored_events(&program).await;
    let mut stream = open_stream(&program, &key, seen.last()).await;
    if seen.last() != stored.last() {
        stream.read_until(&format!("id: {}\n", stored.last().unwrap())).await;
    }
    program.stop().await.unwrap();
    seen.extend(whole_events(&stream.read_to_end().await));
    assert_eq!(seen, stored);
}
