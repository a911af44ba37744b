//! The current program on data of an older version.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tenon_bench::guests;

use super::command_line::{run_to_end, tenon_binary};
use crate::support::{TestHost, component};

const FIRST: &str = include_str!("../../host/src/db/migrations/0001_first.sql");
/// Tables of the first version whose columns all exist in the current version.
const TABLES: [&str; 10] = [
    "batches",
    "guards",
    "answers",
    "accounts",
    "balances",
    "transfers",
    "journal",
    "counters",
    "swaps",
    "collections",
];

async fn run(file: &mut SqliteConnection, sql: String) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(file).await.unwrap();
}

/// Rewrites the database as the first version would have written the same data.
async fn write_as_first_version(database: &Path, plugin: &str) {
    let newer = database.with_extension("newer");
    std::fs::rename(database, &newer).unwrap();
    // The marker file describes the newer database.
    std::fs::remove_file(database.with_extension("db.id")).unwrap();
    let options = SqliteConnectOptions::new().filename(database).create_if_missing(true);
    let mut file = SqliteConnection::connect_with(&options).await.unwrap();
    run(&mut file, format!("{FIRST}; PRAGMA user_version = 1; PRAGMA application_id = {}", 0x746e_6f6e)).await;
    run(&mut file, format!("ATTACH '{}' AS newer", newer.display())).await;
    let query = "SELECT name, sql FROM newer.sqlite_schema WHERE name LIKE ? || '!_%' ESCAPE '!' AND sql IS NOT NULL ORDER BY type DESC";
    let definitions: Vec<(String, String)> = sqlx::query_as(query).bind(plugin).fetch_all(&mut file).await.unwrap();
    for (_, sql) in &definitions {
        run(&mut file, sql.clone()).await;
    }
    let tables = definitions.iter().filter(|(_, sql)| sql.starts_with("CREATE TABLE")).map(|(name, _)| name.as_str());
    for table in TABLES.into_iter().chain(tables) {
        // The columns of the first version.
        let columns = format!("SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('{table}', 'main')");
        let columns: String = sqlx::query_scalar(AssertSqlSafe(columns)).fetch_one(&mut file).await.unwrap();
        run(&mut file, format!("INSERT INTO main.\"{table}\" ({columns}) SELECT {columns} FROM newer.\"{table}\""))
            .await;
    }
    let events =
        "INSERT INTO main.events SELECT seq, id, plugin, tenant, type, subject, body, version, at FROM newer.events";
    run(&mut file, events.to_owned()).await;
    let keys = "INSERT INTO main.keys SELECT id, hash, plugin, organization, environment, owner, scopes, attributes, \
                created_at, expires_at, last_used_at, revoked_at FROM newer.keys";
    run(&mut file, keys.to_owned()).await;
    file.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_the_first_version_is_served_and_updated() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    let created = host.client_of(&key).post_once("/v1/orders", "once", order.clone()).await.expect(201).json();
    let path = format!("/v1/orders/{}", created["id"].as_str().unwrap());
    let database = host.database();
    let runtime = tokio::runtime::Handle::current();
    let older = move || tokio::task::block_in_place(|| runtime.block_on(write_as_first_version(&database, "fleet")));
    let host = host.restart_after(older).await;
    let acme = host.client_of(&key);
    assert_eq!(acme.get(&path).await.expect(200).json(), created);
    assert_eq!(acme.post_once("/v1/orders", "once", order).await.expect(201).json(), created, "the idempotency record");
    acme.put(&path, json!({"notes": "ring twice"})).await.check(200);
    let events = host.events().await.into_iter().filter(|event| event.event_type == "order.created");
    assert_eq!(events.count(), 1);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_with_an_invalid_master_key_leaves_older_data_unchanged() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    host.client_of(&key).post_once("/v1/orders", "once", order).await.check(201);
    let (dir, database) = (host.dir.clone(), host.database());
    let (config, data) = (host.config_file().to_owned(), host.data_dir());
    host.stop().await;
    write_as_first_version(&database, "fleet").await;
    let older = fs::read(&database).unwrap();
    let failed_start = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"]).arg(&config);
        command.arg("--data-dir").arg(&data);
        let (code, printed) = run_to_end(command).await;
        assert_eq!(code, 1, "{printed}");
        assert!(fs::read(&database).unwrap() == older, "the database was changed: {printed}");
        printed
    };
    fs::write(data.join("master.key"), "no key").unwrap();
    fs::set_permissions(data.join("master.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let printed = failed_start().await;
    assert!(printed.contains("master.key") && printed.contains("key 1"), "{printed}");
    fs::remove_file(data.join("master.key")).unwrap();
    let printed = failed_start().await;
    assert!(printed.contains("master.key is missing") && !data.join("master.key").exists(), "{printed}");
    drop(dir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plugin_check_compares_with_older_data_and_fails_on_unreadable_data() {
    let lines = "grants = [\"records\", \"events\"]";
    let host = TestHost::builder().plugin("chameleon", component("chameleon"), lines).start().await;
    let client = host.client("chameleon", "acme").await;
    client.post("/v1/things/a/count", json!({})).await.check(200);
    let (dir, database) = (host.dir.clone(), host.database());
    let (config, data) = (host.config_file().to_owned(), host.data_dir());
    host.stop().await;
    write_as_first_version(&database, "chameleon").await;
    let mut manifest = guests::chameleon_manifest();
    manifest["data-version"] = json!(2);
    let file = dir.path().join("second.wasm");
    fs::write(&file, guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    let check = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["plugin", "check", "--plugin", "chameleon", "--config"]).arg(&config);
        command.arg("--data-dir").arg(&data).arg(&file);
        run_to_end(command).await
    };
    // Without the published component, only the records conflict with the new version.
    for component in fs::read_dir(data.join("components")).unwrap() {
        fs::remove_file(component.unwrap().path()).unwrap();
    }
    let (code, printed) = check().await;
    assert!(code == 1 && printed.contains("things: data version 1 has been written"), "{printed}");
    fs::write(&database, "no database").unwrap();
    let (code, printed) = check().await;
    assert!(code == 1 && printed.contains(&database.display().to_string()), "{printed}");
    assert!(!printed.contains("passed"), "{printed}");
}
