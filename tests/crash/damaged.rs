//! Random damage to a real data folder: the program serves exactly what was acknowledged, or names the damaged file.
//!
//! A file is deleted, truncated, or changed in one bit. `tenon.db` loses a whole page instead of one bit: a single
//! changed byte inside a value cannot be detected, because SQLite has no page checksums.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tenon_bench::{crash, program::Program, soak};

use super::plan;
use crate::support::{Random, compiled_code};

const PAGE_BYTES: u64 = 4_096;

/// The acknowledged orders and the key that reads them.
struct Acknowledged {
    key: String,
    orders: Vec<Value>,
}

/// Creates orders in three runs. The first two end with a kill, so that commits are in the database file, in its log,
/// and in both. The last run ends with a stop unless `last_is_killed`.
async fn fill(folder: &Path, last_is_killed: bool) -> Acknowledged {
    compiled_code::restore(&folder.join("data"));
    let mut program = Program::start(plan(folder, crash::fleet())).await.unwrap();
    compiled_code::save(&folder.join("data"));
    let key = program.create_key("fleet", "acme").unwrap();
    let mut orders = Vec::new();
    for run in 0..3 {
        let mut client = program.client(&key);
        for number in 0..60 {
            let note = format!("{run}-{number} {}", "x".repeat(200));
            let body = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd", "metadata": {"note": note}});
            let made = client.call("POST", "/v1/orders", &body).await.unwrap();
            let path = format!("/v1/orders/{}", made["id"].as_str().unwrap());
            orders.push(client.call("GET", &path, &Value::Null).await.unwrap());
        }
        let ended = if run == 2 && !last_is_killed { program.stop().await } else { program.kill() };
        let ended = ended.unwrap();
        if run == 2 {
            break;
        }
        program = Program::start(ended).await.unwrap();
    }
    Acknowledged { key, orders }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy_folder(&entry.path(), &target) } else { drop(fs::copy(entry.path(), target)) }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() { files.extend(files_below(&entry.path())) } else { files.push(entry.path()) }
    }
    files.sort();
    files
}

/// Damages one file. Returns a description of the damage.
fn damage(data: &Path, random: &Random) -> String {
    let files = files_below(data);
    // At least half of the rounds damage the database or its log.
    let database_files: Vec<&PathBuf> =
        files.iter().filter(|file| file.ends_with("tenon.db") || file.ends_with("tenon.db-wal")).collect();
    let file = match random.next() % 2 {
        0 => database_files[random.next() as usize % database_files.len()].clone(),
        _ => files[random.next() as usize % files.len()].clone(),
    };
    let bytes = fs::metadata(&file).unwrap().len();
    let name = file.strip_prefix(data).unwrap().display().to_string();
    let offset = random.next() % bytes.max(1);
    match random.next() % 3 {
        0 => {
            fs::remove_file(&file).unwrap();
            format!("{name} is deleted")
        }
        1 => {
            fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(offset).unwrap();
            format!("{name} is cut to {offset} of {bytes} bytes")
        }
        _ if file.ends_with("tenon.db") => {
            let page = offset / PAGE_BYTES;
            let target = fs::OpenOptions::new().write(true).open(&file).unwrap();
            target.write_all_at(&[0; PAGE_BYTES as usize], page * PAGE_BYTES).unwrap();
            format!("page {page} of {name} is zeroed")
        }
        _ => {
            let mut content = fs::read(&file).unwrap();
            if let Some(byte) = content.get_mut(offset as usize) {
                *byte ^= 1 << (random.next() % 8);
            }
            fs::write(&file, content).unwrap();
            format!("byte {offset} of {name} is changed")
        }
    }
}

/// Starts the program on a damaged folder. Returns the outcome, or an error if damage was neither named nor harmless.
async fn check_damaged(folder: &Path, acknowledged: &Acknowledged) -> Result<&'static str, String> {
    let data = folder.join("data").display().to_string();
    let program = match Program::start(plan(folder, crash::fleet())).await {
        Ok(program) => program,
        Err(error) => {
            let message = error.to_string();
            let names_it = message.contains("instead of serving") && message.contains(&data);
            return if names_it { Ok("refused") } else { Err(format!("refused without a file: {message}")) };
        }
    };
    let mut client = program.client(&acknowledged.key);
    for order in &acknowledged.orders {
        let path = format!("/v1/orders/{}", order["id"].as_str().unwrap());
        let found = client.send("GET", &path, &[], b"").await.map_err(|error| error.to_string())?;
        let body: Value = serde_json::from_slice(&found.body).unwrap_or_default();
        if found.status == 200 && body == *order {
            continue;
        }
        let ready = program.ready().await.map_err(|error| error.to_string())?;
        let reasons = String::from_utf8_lossy(&ready.body).into_owned();
        let names_it = ready.status == 503 && reasons.contains("is damaged") && reasons.contains(&data);
        return if found.status >= 500 && names_it {
            Ok("noticed while serving")
        } else {
            Err(format!("{path}: {} {body} instead of {order}; ready: {reasons}", found.status))
        };
    }
    program.stop().await.map_err(|error| format!("it does not stop: {error}"))?;
    Ok("served")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_damage_is_named_or_harmless() {
    let rounds = soak::rounds(8, 500);
    let first = crash::seed_or(1);
    let root = tempfile::tempdir().unwrap();
    let mut folders = Vec::new();
    for (name, last_is_killed) in [("stopped", false), ("killed", true)] {
        let folder = root.path().join(name);
        let acknowledged = fill(&folder, last_is_killed).await;
        folders.push((folder, acknowledged));
    }
    let mut outcomes = std::collections::BTreeMap::new();
    for seed in first..first + rounds as u64 {
        let random = Random::new(seed);
        let (folder, acknowledged) = &folders[random.next() as usize % folders.len()];
        let copy = tempfile::tempdir().unwrap();
        copy_folder(&folder.join("data"), &copy.path().join("data"));
        let damage = damage(&copy.path().join("data"), &random);
        match check_damaged(copy.path(), acknowledged).await {
            Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
            Err(why) => panic!("seed {seed} (TENON_SEED={seed}), {}: {damage}: {why}", folder.display()),
        }
    }
    println!("seeds from {first}: {outcomes:?}");
}
