//! Components that are expensive to compile: they are rejected within their limits and delay no other plugin.

use std::time::{Duration, Instant};

use tenon_bench::guests::bombs;

use super::chameleons::{ComponentFiles, GRANTS, chameleon, chameleon_named, deploy, host_builder, status, version};
use crate::support::{Response, TestHost};

/// Starts a host with two plugins. `head` is put before the first section. `limits` apply to the plugin that gets the
/// bomb.
async fn host_with_two(head: &str, limits: &str) -> TestHost {
    let files = ComponentFiles::new();
    let lines = format!("{GRANTS}\n[plugins.chameleon.limits]\n{limits}");
    host_builder(&files, 1, &lines)
        .head(head)
        .plugin("second", files.put("second", &chameleon_named("second", 1)), GRANTS)
        .start()
        .await
}

/// Deploys the bomb and concurrently a version of the other plugin.
async fn deploy_both(host: &TestHost, bomb: Vec<u8>) -> (Response, Response) {
    let started = Instant::now();
    let both = tokio::join!(deploy(host, "chameleon", bomb), deploy(host, "second", chameleon_named("second", 2)));
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    both
}

fn reasons(rejected: Response) -> String {
    rejected.expect(409).json()["reasons"].to_string()
}

/// Returns the number of started compilations.
async fn compilations(host: &TestHost) -> f64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let counts = metrics.lines().filter_map(|line| line.strip_prefix("tenon_compilations_total{")?.rsplit(' ').next());
    counts.filter_map(|count| count.parse::<f64>().ok()).sum()
}

#[tokio::test]
async fn component_with_a_million_functions_is_rejected_before_compilation() {
    let host = host_with_two("", "").await;
    let before = compilations(&host).await;
    let bomb = bombs::empty_functions(&chameleon(2, &[]), 1_000_000);
    let reasons = reasons(deploy(&host, "chameleon", bomb).await);
    assert!(reasons.contains("functions, chameleon may have 100000 (limits.component-functions)"), "{reasons}");
    assert_eq!(compilations(&host).await, before);
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 1);
}

#[tokio::test]
async fn function_of_three_megabytes_is_rejected_while_another_plugin_deploys() {
    let host = host_with_two("", "").await;
    let before = compilations(&host).await;
    let (bomb, other) = deploy_both(&host, bombs::large_function(&chameleon(2, &[]), 3 << 20)).await;
    let reasons = reasons(bomb);
    assert!(reasons.contains("in chameleon one may have 524288 (limits.function-bytes)"), "{reasons}");
    other.check(200);
    assert_eq!(compilations(&host).await, before + 1.0, "only the other plugin was compiled");
}

#[tokio::test]
async fn compilation_over_its_memory_limit_is_rejected_while_another_plugin_deploys() {
    let host = host_with_two("[compile]\nmemory-bytes = 134217728", "function-bytes = 67108864").await;
    let (bomb, other) = deploy_both(&host, bombs::large_function(&chameleon(2, &[]), 3 << 20)).await;
    let reasons = reasons(bomb);
    assert!(reasons.contains("more than 134217728 bytes of memory (compile.memory-bytes)"), "{reasons}");
    other.check(200);
}

#[tokio::test]
async fn compilation_over_its_time_limit_is_rejected_while_another_plugin_deploys() {
    let host = host_with_two("[compile]\ntime-ms = 20000", "").await;
    let (bomb, other) = deploy_both(&host, bombs::looping_functions(&chameleon(2, &[]), 90_000, 20)).await;
    let reasons = reasons(bomb);
    // On a busy machine elapsed time reaches the limit first, otherwise CPU time does.
    assert!(reasons.contains("longer than") && reasons.contains("compile.time-ms"), "{reasons}");
    other.check(200);
    assert_eq!(status(&host, "second").await["serving"]["version"], "1.2.0");
}
