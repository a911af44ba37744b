//! Deploys that arrive faster than they are compiled, and the compiler processes.

#![allow(clippy::disallowed_methods, reason = "concurrent deploys")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tenon_bench::{
    guests::{self, bombs},
    program::{self, PluginSection, Program, ProgramPlan, sibling_binary},
    soak,
};

use super::{
    chameleons::{chameleon, wait_until},
    traffic::Traffic,
};

const MIB: u64 = 1 << 20;

async fn start(folder: &Path) -> Program {
    let file = folder.join("chameleon.wasm");
    fs::write(&file, chameleon(1, &[])).unwrap();
    let binary = sibling_binary("tenon").expect("build tenon first: cargo build -p tenon");
    let plugins = vec![PluginSection::new("chameleon", &file, &["records", "events"])];
    Program::start(ProgramPlan { binary, folder: folder.to_path_buf(), plugins }).await.unwrap()
}

/// Returns a version that takes about a second to compile.
fn slow_to_compile(number: u64) -> Vec<u8> {
    bombs::looping_functions(&chameleon(number, &[]), 3_000, 10)
}

async fn serving_version(program: &Program) -> String {
    let listed = program.operator().unwrap().send("GET", "/v1/plugins", &[], b"").await.unwrap().json();
    listed[0]["serving"]["version"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deploys_faster_than_compilations_end_with_the_newest_version() {
    let folder = tempfile::tempdir().unwrap();
    let program = Arc::new(start(folder.path()).await);
    let key = program.create_key("chameleon", "acme").unwrap();
    let traffic = Traffic::at(program.public, &key, "", 4).await;
    let started = Instant::now();
    assert_eq!(program.deploy("chameleon", &slow_to_compile(2)).await.unwrap().status, 200);
    let one = started.elapsed();
    let before = program.resident_kib().unwrap() << 10;

    let count = soak::rounds(30, 200) as u64;
    let (mut deploys, mut most, mut pace) = (Vec::new(), 0, tokio::time::interval(Duration::from_millis(300)));
    for number in 3..3 + count {
        pace.tick().await;
        most = most.max(program.compiling().len());
        let (program, component) = (program.clone(), slow_to_compile(number));
        deploys.push(tokio::spawn(async move { program.deploy("chameleon", &component).await.unwrap() }));
    }
    let last = Instant::now();
    let newest = format!("1.{}.0", 2 + count);
    wait_until("the newest serves", async || {
        most = most.max(program.compiling().len());
        (serving_version(&program).await == newest).then_some(())
    })
    .await;
    println!("one deploy {one:?}, newest after {:?}, at most {most} processes", last.elapsed());
    assert!(last.elapsed() < 3 * one + Duration::from_secs(2), "{:?} for {one:?}", last.elapsed());
    assert!(most <= 2, "{most} processes at once");
    let after = program.resident_kib().unwrap() << 10;
    assert!(after < before + 300 * MIB, "{before} {after}");
    assert_eq!(program.compiling(), BTreeSet::new());

    let (mut published, mut overtaken) = (0, 0);
    for deploy in deploys {
        let response = deploy.await.unwrap();
        let text = String::from_utf8_lossy(&response.body).into_owned();
        match response.status {
            200 => published += 1,
            409 if text.contains("a newer change of the same plugin overtook this one") => overtaken += 1,
            // Two requests may arrive in reverse order.
            409 if text.contains("lower") => {}
            status => panic!("{status} {text}"),
        }
    }
    assert!(published >= 2, "some versions must be published while deploys arrive: {published}");
    let lines =
        program.operator().unwrap().send("GET", "/v1/plugins/journal?limit=1000", &[], b"").await.unwrap().json();
    let recorded = lines.as_array().unwrap().iter().filter(|line| line["outcome"] == "overtaken").count();
    assert_eq!(recorded, overtaken);
    let report = traffic.stop().await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewriting_the_file_repeatedly_ends_with_the_newest_version() {
    let folder = tempfile::tempdir().unwrap();
    let program = start(folder.path()).await;
    let started = Instant::now();
    assert_eq!(program.deploy("chameleon", &slow_to_compile(2)).await.unwrap().status, 200);
    let one = started.elapsed();
    let (file, component, newest) = (folder.path().join("chameleon.wasm"), slow_to_compile(3), slow_to_compile(4));
    for number in 0..1_000 {
        fs::write(&file, guests::stamped(&component, &number.to_string())).unwrap();
    }
    fs::write(&file, newest).unwrap();
    let (last, mut most) = (Instant::now(), 0);
    wait_until("the newest serves", async || {
        most = most.max(program.compiling().len());
        (serving_version(&program).await == "1.4.0").then_some(())
    })
    .await;
    assert!(last.elapsed() < 3 * one + Duration::from_secs(2), "{:?} for {one:?}", last.elapsed());
    assert!(most <= 2, "{most} processes at once");
}

/// Returns a version that compiles longer than the test runs.
fn endless() -> Vec<u8> {
    bombs::looping_functions(&chameleon(2, &[]), 90_000, 40)
}

/// Deploys the endless version and returns the process that compiles it.
async fn start_endless_compilation(program: &Arc<Program>) -> u32 {
    let deploying = program.clone();
    tokio::spawn(async move { drop(deploying.deploy("chameleon", &endless()).await) });
    wait_until("it is compiling", async || program.compiling().pop_first()).await
}

/// Returns the open files of a process other than its three pipes.
fn other_files(child: u32) -> Vec<(String, PathBuf)> {
    let open = fs::read_dir(format!("/proc/{child}/fd")).unwrap().flatten();
    open.filter_map(|file| Some((file.file_name().into_string().ok()?, fs::read_link(file.path()).ok()?)))
        .filter(|(number, link)| number.parse::<u32>().unwrap() > 2 || !link.to_string_lossy().starts_with("pipe:"))
        // The shell that started the tests may have left files open in every process below it.
        .filter(|(number, link)| fs::read_link(format!("/proc/self/fd/{number}")).ok().as_ref() != Some(link))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compiler_process_inherits_only_pipes_and_allocator_settings() {
    let folder = tempfile::tempdir().unwrap();
    let program = Arc::new(start(folder.path()).await);
    let child = start_endless_compilation(&program).await;
    // The dynamic loader has libraries open while the process starts.
    wait_until("it has only pipes open", async || other_files(child).is_empty().then_some(())).await;
    let environment = fs::read_to_string(format!("/proc/{child}/environ")).unwrap();
    assert!(
        environment.split('\0').filter(|pair| !pair.is_empty()).all(|pair| pair.starts_with("MIMALLOC_")),
        "{environment}"
    );
    wait_until("it has a low priority", async || {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        let nice = stat.rsplit(')').next().unwrap().split_whitespace().nth(16).unwrap().to_owned();
        (nice == "10").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overtaken_compilation_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let program = Arc::new(start(folder.path()).await);
    let child = start_endless_compilation(&program).await;
    assert_eq!(program.deploy("chameleon", &chameleon(3, &[])).await.unwrap().status, 200);
    assert!(!program::is_compiling(child));
    assert_eq!(program.compiling(), BTreeSet::new());
    assert_eq!(serving_version(&program).await, "1.3.0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_host_leaves_no_compiler_process() {
    let folder = tempfile::tempdir().unwrap();
    let program = Arc::new(start(folder.path()).await);
    let child = start_endless_compilation(&program).await;
    program.kill_handle().unwrap().kill();
    wait_until("it has ended", async || (!program::is_compiling(child)).then_some(())).await;
}
