use super::*;

fn scrape(metrics: &Metrics) -> String {
    metrics.render(HostReading::default()).unwrap()
}

#[test]
fn request_is_counted_by_operation_and_class() {
    let metrics = Metrics::new().unwrap();
    let generation = metrics.generation("notes", 7, ["create-note"]);
    generation.observe(Some("create-note"), 201, 0.004);
    generation.observe(Some("made-up-by-a-caller"), 404, 0.001);
    let text = scrape(&metrics);
    assert!(
        text.contains(r#"tenon_requests_total{class="2xx",generation="7",operation="create-note",plugin="notes"} 1"#)
    );
    assert!(text.contains(r#"operation="none""#));
    assert!(!text.contains("made-up-by-a-caller"));
    assert!(text.contains(r#"tenon_request_seconds_count{class="2xx",generation="7",plugin="notes"} 1"#));
}

#[test]
fn series_of_a_generation_end_with_it() {
    let metrics = Metrics::new().unwrap();
    drop(metrics.generation("notes", 0, []));
    let before = scrape(&metrics).lines().count();
    for number in 0..200 {
        let generation = metrics.generation("notes", number, ["create-note"]);
        generation.observe(Some("create-note"), 500, 0.1);
        generation.observe(None, 404, 0.1);
        generation.count_fault(FaultKind::Trap);
        generation.count_rerun();
        generation.count_commit();
    }
    assert_eq!(scrape(&metrics).lines().count(), before);
}

#[test]
fn faults_are_zero_before_the_first_fault() {
    let metrics = Metrics::new().unwrap();
    let _generation = metrics.generation("notes", 1, []);
    assert!(scrape(&metrics).contains(r#"tenon_faults_total{generation="1",kind="trap",plugin="notes"} 0"#));
}

#[test]
fn ended_calls_leave_the_gauges() {
    let metrics = Metrics::new().unwrap();
    let generation = metrics.generation("notes", 1, []);
    let running = generation.enter();
    let _waiting = generation.wait();
    assert!(scrape(&metrics).contains(r#"tenon_calls_in_flight{generation="1",plugin="notes"} 1"#));
    drop(running);
    let text = scrape(&metrics);
    assert!(text.contains(r#"tenon_calls_in_flight{generation="1",plugin="notes"} 0"#));
    assert!(text.contains(r#"tenon_calls_waiting{generation="1",plugin="notes"} 1"#));
}

#[test]
fn counters_follow_the_committer_and_never_decrease() {
    let metrics = Metrics::new().unwrap();
    let render = |committer| metrics.render(HostReading { committer, ..Default::default() }).unwrap();
    render(CommitterReading { batches: 5, changes: 90, queue: 3, ..Default::default() });
    let text = render(CommitterReading { batches: 4, changes: 100, ..Default::default() });
    assert!(text.contains("tenon_committer_batches_total 5"));
    assert!(text.contains("tenon_committer_changes_total 100"));
    assert!(text.contains("tenon_committer_queue 0"));
}

#[test]
fn swaps_are_counted_by_outcome() {
    let metrics = Metrics::new().unwrap();
    metrics.count_swap("notes", SwapOutcome::Published);
    metrics.count_swap("notes", SwapOutcome::Refused);
    let text = scrape(&metrics);
    assert!(text.contains(r#"tenon_swaps_total{outcome="published",plugin="notes"} 1"#));
    assert!(text.contains(r#"tenon_swaps_total{outcome="refused",plugin="notes"} 1"#));
}

#[test]
fn metric_names_follow_prometheus_conventions() {
    let metrics = Metrics::new().unwrap();
    let generation = metrics.generation("notes", 1, ["create-note"]);
    generation.observe(Some("create-note"), 200, 0.1);
    metrics.count_swap("notes", SwapOutcome::Published);
    metrics.tasks().count_run("done");
    metrics.tasks().count_attempt("answered");
    metrics.tasks().set_counts("timer", TaskReading::default());
    for line in scrape(&metrics).lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
        assert!(name.starts_with("tenon_") || name.starts_with("process_"), "{line}");
        for unit in ["milli", "micro", "nano", "_ms", "_minutes", "_kb", "_mb", "_kib", "_mib"] {
            assert!(!name.contains(unit), "{line}: seconds and bytes are the units");
        }
    }
}

#[test]
fn batches_files_and_certificate_are_rendered() {
    let metrics = Metrics::new().unwrap();
    metrics.batches().observe(3, 0.002);
    let database = DatabaseReading { file_bytes: 4_096, log_bytes: 32, free_disk_bytes: 7 };
    let reading = HostReading { database, certificate_expires_at: Some(1_900_000_000), ..Default::default() };
    let text = metrics.render(reading).unwrap();
    for line in [
        "tenon_committer_batch_seconds_count 1",
        "tenon_committer_batch_changes_sum 3",
        "tenon_database_file_bytes 4096",
        "tenon_database_wal_bytes 32",
        "tenon_database_disk_free_bytes 7",
        "tenon_tls_certificate_expiry_timestamp_seconds{listener=\"interfaces\"} 1900000000",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}
