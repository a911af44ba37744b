//! Components that are made to be expensive to compile: refused within their limits, and no other plugin waits for them.

use std::time::{Duration, Instant};

use tenon_bench::guests::bombs;

use super::chameleons::{GRANTS, Shelf, chameleon, deploy, namesake, plan, status, version};
use crate::support::{Response, TestHost};

/// `head`: lines before the first section; `limits`: those of the plugin that gets the bomb.
async fn host_with_two(head: &str, limits: &str) -> TestHost {
    let shelf = Shelf::new();
    let lines = format!("{GRANTS}\n[plugins.chameleon.limits]\n{limits}");
    plan(&shelf, 1, &lines)
        .head(head)
        .plugin("second", shelf.put("second", &namesake("second", 1)), GRANTS)
        .start()
        .await
}

/// Deploys the bomb, and a version of the other plugin beside it.
async fn deploy_both(host: &TestHost, bomb: Vec<u8>) -> (Response, Response) {
    let began = Instant::now();
    let both = tokio::join!(deploy(host, "chameleon", bomb), deploy(host, "second", namesake("second", 2)));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    both
}

fn reasons(refused: Response) -> String {
    refused.expect(409).json()["reasons"].to_string()
}

/// Compilations that were started, however they ended.
async fn compilations(host: &TestHost) -> f64 {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let of_all = metrics.lines().filter_map(|line| line.strip_prefix("tenon_compilations_total{")?.rsplit(' ').next());
    of_all.filter_map(|count| count.parse::<f64>().ok()).sum()
}

#[tokio::test]
async fn component_with_a_million_functions_is_refused_before_it_is_compiled() {
    let host = host_with_two("", "").await;
    let before = compilations(&host).await;
    let bomb = bombs::empty_functions(&chameleon(2, &[]), 1_000_000);
    let refused = reasons(deploy(&host, "chameleon", bomb).await);
    assert!(refused.contains("functions, chameleon may have 100000 (limits.component-functions)"), "{refused}");
    assert_eq!(compilations(&host).await, before);
    assert_eq!(version(&host.client("chameleon", "acme").await).await, 1);
}

#[tokio::test]
async fn function_of_three_megabytes_is_refused_while_another_plugin_deploys() {
    let host = host_with_two("", "").await;
    let before = compilations(&host).await;
    let (bomb, other) = deploy_both(&host, bombs::large_function(&chameleon(2, &[]), 3 << 20)).await;
    let refused = reasons(bomb);
    assert!(refused.contains("in chameleon one may have 524288 (limits.function-bytes)"), "{refused}");
    other.check(200);
    assert_eq!(compilations(&host).await, before + 1.0, "that of the other plugin");
}

#[tokio::test]
async fn compilation_that_needs_too_much_memory_is_refused_while_another_plugin_deploys() {
    let host = host_with_two("[compile]\nmemory-bytes = 134217728", "function-bytes = 67108864").await;
    let (bomb, other) = deploy_both(&host, bombs::large_function(&chameleon(2, &[]), 3 << 20)).await;
    let refused = reasons(bomb);
    assert!(refused.contains("more than 134217728 bytes of memory (compile.memory-bytes)"), "{refused}");
    other.check(200);
}

#[tokio::test]
async fn compilation_that_takes_too_long_is_refused_while_another_plugin_deploys() {
    let host = host_with_two("[compile]\ntime-ms = 20000", "").await;
    let (bomb, other) = deploy_both(&host, bombs::looping_functions(&chameleon(2, &[]), 90_000, 20)).await;
    let refused = reasons(bomb);
    // By the clock where the machine has other work, else by what it computes.
    assert!(refused.contains("longer than") && refused.contains("compile.time-ms"), "{refused}");
    other.check(200);
    assert_eq!(status(&host, "second").await["serving"]["version"], "1.2.0");
}
