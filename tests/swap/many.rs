//! Many swaps of the real program under load: memory, threads, files, mappings and metrics stay where they are.

use std::{collections::BTreeSet, fs, ops::Range, path::Path, time::Instant};

use tenon::limits::COMPONENTS_KEPT;
use tenon_bench::{
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    soak,
};

use super::{
    chameleons::{Shelf, chameleon, until},
    traffic::Traffic,
};

/// What must not grow with the number of swaps.
#[derive(Debug)]
struct Footprint {
    resident_kib: u64,
    threads: usize,
    open_files: usize,
    /// Compiled components that are mapped into memory.
    mapped: usize,
    /// Mappings of them, and of the memory images that instances start with: slots of the pool have some of their own.
    mappings: usize,
    /// Different memory images.
    images: usize,
    /// Generations in memory, by the metrics.
    generations: u64,
    components: usize,
    compiled: usize,
    /// Generations that have series in the metrics.
    shown_generations: usize,
    /// Series of the metrics beside those of single generations.
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
    let shown_generations: BTreeSet<&str> = text.lines().filter_map(generation_of).collect();
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
        shown_generations: shown_generations.len(),
        series: text.lines().filter(|line| !line.starts_with('#') && generation_of(line).is_none()).count(),
    }
}

fn generation_of(series: &str) -> Option<&str> {
    series.split("generation=\"").nth(1)?.split('"').next()
}

async fn start(folder: &Path) -> Program {
    let component = Shelf::new();
    let file = folder.join("chameleon.wasm");
    fs::copy(component.put("chameleon", &chameleon(1, &[])), &file).unwrap();
    let binary = sibling_binary("tenon").expect("build tenon first: cargo build -p tenon");
    let plugins = vec![PluginSection::new("chameleon", &file, &["records", "events"])];
    Program::start(ProgramPlan { binary, folder: folder.to_path_buf(), plugins }).await.unwrap()
}

/// Most are a component that was there a few swaps ago, every tenth is a new one, which has to be compiled.
async fn swap(program: &Program, numbers: Range<usize>) {
    let component = chameleon(1, &[]);
    for number in numbers {
        let stamp = if number % 10 == 0 { format!("new {number}") } else { format!("old {}", number % 4) };
        let answer = program.deploy("chameleon", &guests::stamped(&component, &stamp)).await.unwrap();
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_swaps_under_load_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let program = start(folder.path()).await;
    let key = program.create_key("chameleon", "acme").unwrap();
    let swaps = soak::rounds(200, 1_000);
    // Until caches and pools have their size.
    let warm = swaps / 4;
    let traffic = Traffic::at(program.public, &key, "", 4).await;
    swap(&program, 0..warm).await;
    let before = footprint(&program).await;
    let begun = Instant::now();
    swap(&program, warm..swaps).await;
    let after = footprint(&program).await;
    println!(
        "{:.1} swaps per second under load\n  {before:?}\n  {after:?}",
        (swaps - warm) as f64 / begun.elapsed().as_secs_f64()
    );
    traffic.flow().await;
    let seen = traffic.stop().await;
    assert!(seen.complaints.is_empty(), "{:?}", seen.complaints);

    assert!(after.resident_kib < before.resident_kib + 16 * 1024, "memory grows: {before:?} {after:?}");
    assert!(after.threads <= before.threads + 8, "threads: {before:?} {after:?}");
    assert!(after.open_files <= before.open_files + 8, "open files: {before:?} {after:?}");
    assert!(after.mapped <= 4, "what is replaced stays mapped: {after:?}");
    assert!(after.mappings <= before.mappings + 32, "mappings: {before:?} {after:?}");
    assert!(after.images <= before.images + 4, "memory images: {before:?} {after:?}");
    assert!(after.generations <= 4, "generations: {after:?}");
    assert!(after.shown_generations <= 4, "series of generations: {after:?}");
    assert!(after.components <= COMPONENTS_KEPT + 2, "components: {after:?}");
    assert!(after.compiled <= 2 * (COMPONENTS_KEPT + 2), "code and its digest for each: {after:?}");
    assert!(after.series <= before.series + 8, "series: {before:?} {after:?}");
}

/// No target for a build without optimisation: the figure is printed, `make bench` judges the real one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_file_is_served_soon_after_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = start(folder.path()).await;
    let mut client = program.client(&program.create_key("chameleon", "acme").unwrap());
    fs::write(folder.path().join("aside"), chameleon(2, &[])).unwrap();
    let begun = Instant::now();
    fs::rename(folder.path().join("aside"), folder.path().join("chameleon.wasm")).unwrap();
    until("1.2.0 answers", async || {
        let answer = client.send("GET", "/v1/version", &[], b"").await.unwrap();
        (answer.json()["version"] == "1.2.0").then_some(())
    })
    .await;
    println!("from the new file to its first request: {:.0} ms", begun.elapsed().as_secs_f64() * 1_000.0);
}
