use super::*;

fn scrape(metrics: &Metrics) -> String {
    metrics.render(CommitterReading::default()).unwrap()
}

#[test]
fn a_request_is_counted_under_its_operation_and_class() {
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
    assert!(text.contains(r#"tenon_request_seconds_count{generation="7",plugin="notes"} 2"#));
}

#[test]
fn the_series_of_a_generation_end_with_it() {
    let metrics = Metrics::new().unwrap();
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
fn faults_are_zero_before_the_first_one() {
    let metrics = Metrics::new().unwrap();
    let _generation = metrics.generation("notes", 1, []);
    assert!(scrape(&metrics).contains(r#"tenon_faults_total{generation="1",kind="trap",plugin="notes"} 0"#));
}

#[test]
fn calls_leave_the_gauges_however_they_end() {
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
fn counters_follow_the_committer_and_never_fall() {
    let metrics = Metrics::new().unwrap();
    metrics.render(CommitterReading { batches: 5, changes: 90, queue: 3, ..Default::default() }).unwrap();
    let text = metrics.render(CommitterReading { batches: 4, changes: 100, ..Default::default() }).unwrap();
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
