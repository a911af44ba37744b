//! Many swaps of the real program under load: memory, threads, files, mappings and metrics do not grow.

use std::{collections::BTreeSet, fs, ops::Range, path::Path, time::Instant};

use tenon::config::PluginLimits;
use tenon_bench::{
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    soak,
};

use super::{
    chameleons::{ComponentFiles, chameleon, wait_until},
    traffic::Traffic,
};

/// Resources that must not grow with the number of swaps.
#[derive(Debug)]
struct Footprint {
    resident_kib: u64,
    threads: usize,
    open_files: usize,
    /// Compiled components that are mapped into memory.
    mapped: usize,
    /// Mappings of compiled components and of the memory images of instances. Slots of the pool have their own
    /// mappings.
    mappings: usize,
    /// Distinct memory images.
    images: usize,
    /// Generations in memory, from the metrics.
    generations: u64,
    components: usize,
    compiled: usize,
    /// Generations that have series in the metrics.
    generations_with_series: usize,
    /// Series of the metrics without those of single generations.
    series: usize,
}

async fn footprint(program: &Program) -> Footprint {
    let process = format!("/proc/{}", program.process_id());
    let count = |folder: &Path| fs::read_dir(folder).unwrap().count();
    let maps = fs::read_to_string(format!("{process}/maps")).unwrap();
    let mapped: BTreeSet<&str> = maps.lines().filter_map(|line| line.split("/compiled/").nth(1)).collect();
    let is_image = |line: &&str| line.contains("/memfd:");
    let images: BTreeSet<&str> =
        maps.lines().filter(is_image).filter_map(|line| line.split_whitespace().nth(4)).collect();
    let mappings = maps.lines().filter(|line| line.contains("/compiled/") || is_image(line)).count();
    let metrics = program.operator().unwrap().send("GET", "/metrics", &[], b"").await.unwrap();
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    let generations = text.lines().find_map(|line| line.strip_prefix("tenon_generations{plugin=\"chameleon\"} "));
    let generations_with_series: BTreeSet<&str> = text.lines().filter_map(generation_of).collect();
    Footprint {
        resident_kib: program.resident_kib().unwrap(),
        threads: count(Path::new(&format!("{process}/task"))),
        open_files: count(Path::new(&format!("{process}/fd"))),
        mapped: mapped.len(),
        mappings,
        images: images.len(),
        generations: generations.and_then(|count| count.parse().ok()).unwrap(),
        components: count(&program.data_dir().join("components")),
        compiled: count(&program.data_dir().join("compiled")),
        generations_with_series: generations_with_series.len(),
        series: text.lines().filter(|line| !line.starts_with('#') && generation_of(line).is_none()).count(),
    }
}

fn generation_of(series: &str) -> Option<&str> {
    series.split("generation=\"").nth(1)?.split('"').next()
}

async fn start(folder: &Path) -> Program {
    let component = ComponentFiles::new();
    let file = folder.join("chameleon.wasm");
    fs::copy(component.put("chameleon", &chameleon(1, &[])), &file).unwrap();
    let binary = sibling_binary("tenon").expect("build tenon first: cargo build -p tenon");
    let plugins = vec![PluginSection::new("chameleon", &file, &["records", "events"])];
    Program::start(ProgramPlan { binary, folder: folder.to_path_buf(), plugins }).await.unwrap()
}

/// Deploys versions. Most served a few swaps ago. Every tenth is new and must be compiled.
async fn swap(program: &Program, numbers: Range<usize>) {
    let component = chameleon(1, &[]);
    for number in numbers {
        let stamp = if number % 10 == 0 { format!("new {number}") } else { format!("old {}", number % 4) };
        let answer = program.deploy("chameleon", &guests::stamped(&component, &stamp)).await.unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_swaps_under_load_leak_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = start(folder.path()).await;
    let key = program.create_key("chameleon", "acme").unwrap();
    let swaps = soak::rounds(200, 1_000);
    // Swaps until caches and pools have reached their size.
    let warm_up = swaps / 4;
    let traffic = Traffic::at(program.public, &key, "", 4).await;
    swap(&program, 0..warm_up).await;
    let before = footprint(&program).await;
    let started = Instant::now();
    swap(&program, warm_up..swaps).await;
    let after = footprint(&program).await;
    println!(
        "{:.1} swaps per second under load\n  {before:?}\n  {after:?}",
        (swaps - warm_up) as f64 / started.elapsed().as_secs_f64()
    );
    traffic.wait_for_responses().await;
    let report = traffic.stop().await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);

    assert!(after.resident_kib < before.resident_kib + 16 * 1024, "memory grows: {before:?} {after:?}");
    assert!(after.threads <= before.threads + 8, "threads: {before:?} {after:?}");
    assert!(after.open_files <= before.open_files + 8, "open files: {before:?} {after:?}");
    assert!(after.mapped <= 4, "replaced components stay mapped: {after:?}");
    assert!(after.mappings <= before.mappings + 32, "mappings: {before:?} {after:?}");
    assert!(after.images <= before.images + 4, "memory images: {before:?} {after:?}");
    assert!(after.generations <= 4, "generations: {after:?}");
    assert!(after.generations_with_series <= 4, "series of generations: {after:?}");
    let kept = PluginLimits::default().components_kept;
    assert!(after.components <= kept + 2, "components: {after:?}");
    assert!(after.compiled <= 2 * (kept + 2), "code and its digest for each: {after:?}");
    assert!(after.series <= before.series + 8, "series: {before:?} {after:?}");
}

/// Prints the latency. `make bench` checks it against its target, because this build is not optimized.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_file_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let program = start(folder.path()).await;
    let mut client = program.client(&program.create_key("chameleon", "acme").unwrap());
    fs::write(folder.path().join("temporary"), chameleon(2, &[])).unwrap();
    let started = Instant::now();
    fs::rename(folder.path().join("temporary"), folder.path().join("chameleon.wasm")).unwrap();
    wait_until("1.2.0 answers", async || {
        let answer = client.send("GET", "/v1/version", &[], b"").await.unwrap();
        (answer.json()["version"] == "1.2.0").then_some(())
    })
    .await;
    println!("from the new file to its first request: {:.0} ms", started.elapsed().as_secs_f64() * 1_000.0);
}
