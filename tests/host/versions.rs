//! `tenon plugin versions`, and rollbacks to any stored version.

use std::fs;

use serde_json::{Value, json};
use tenon_bench::guests;

use super::command_line::{run_err, run_ok};
use crate::support::{TestHost, component};

const SECTION: &str = r#"grants = ["records", "events"]
limits = { compute-ms = 300 }"#;

/// Returns a host on which the versions 1.0.0, 2.0.0 and 3.0.0 were published, in this order.
async fn host_with_three_versions() -> TestHost {
    host_with_section(SECTION).await
}

/// Returns a host with the same three versions and with these settings of the plugin.
async fn host_with_section(section: &str) -> TestHost {
    let host = TestHost::builder().plugin("chameleon", component("chameleon"), section).start().await;
    for version in ["2.0.0", "3.0.0"] {
        let file = host.dir.path().join(version);
        fs::write(&file, guests::chameleon_version(version).unwrap()).unwrap();
        let file = file.display().to_string();
        run_ok(&host, &["plugin", "deploy", &file, "--plugin", "chameleon", "--as", "ada"]).await;
    }
    host
}

async fn versions(host: &TestHost) -> Vec<Value> {
    serde_json::from_str(&run_ok(host, &["plugin", "versions", "chameleon", "--json"]).await).unwrap()
}

async fn serving(host: &TestHost) -> String {
    host.client("chameleon", "acme").await.get("/v1/version").await.expect(200).text_at("/version")
}

#[tokio::test]
async fn stored_versions_are_listed_with_their_publication_and_end() {
    let host = host_with_three_versions().await;
    let listed = versions(&host).await;
    let summary: Vec<Value> = listed
        .iter()
        .map(|line| {
            json!([line["version"], line["published"]["who"], line["published"]["action"], line["ended"]["action"]])
        })
        .collect();
    let expected = [
        json!(["3.0.0", "ada", "deploy", null]),
        json!(["2.0.0", "ada", "deploy", "deploy"]),
        json!(["1.0.0", "file watch", "file", "deploy"]),
    ];
    assert_eq!(summary, expected);
    let table = run_ok(&host, &["plugin", "versions", "chameleon"]).await;
    assert!(table.starts_with("HASH") && table.contains("2.0.0") && table.contains("serving"), "{table}");
    host.stop().await;
}

#[tokio::test]
async fn rollback_publishes_any_stored_version_by_the_beginning_of_its_hash() {
    let host = host_with_three_versions().await;
    let oldest = versions(&host).await[2]["hash"].as_str().unwrap().to_owned();
    let output = run_ok(&host, &["plugin", "rollback", "chameleon", "--to", &oldest[..12]]).await;
    assert!(output.contains("chameleon 1.0.0") && output.contains("previously 3.0.0"), "{output}");
    assert_eq!(serving(&host).await, "1.0.0");
    let listed = versions(&host).await;
    assert_eq!((&listed[0]["hash"], &listed[0]["published"]["action"]), (&json!(oldest), &json!("rollback")));
    assert_eq!(listed.len(), 3, "each component is listed once");
    host.stop().await;
}

#[tokio::test]
async fn rollback_to_an_unknown_or_serving_version_is_rejected_with_the_next_step() {
    let host = host_with_three_versions().await;
    let current = versions(&host).await[0]["hash"].as_str().unwrap().to_owned();
    for (to, reason) in [
        ("ffffffff", "No stored component of chameleon has a hash that begins with ffffffff."),
        (&current[..8], "this component serves already"),
        ("xyz1", "to must be 4 to 64 hexadecimal digits."),
        ("abc", "to must be 4 to 64 hexadecimal digits."),
    ] {
        let error = run_err(&host, &["plugin", "rollback", "chameleon", "--to", to]).await;
        assert!(error.contains(reason) && error.contains("tenon plugin versions"), "{to}: {error}");
    }
    assert_eq!(serving(&host).await, "3.0.0");
    assert!(run_err(&host, &["plugin", "versions", "chamelion"]).await.contains("Known plugins: chameleon."));
    host.stop().await;
}

#[tokio::test]
async fn component_that_is_no_longer_stored_is_neither_listed_nor_published() {
    let host = host_with_three_versions().await;
    let oldest = versions(&host).await[2]["hash"].as_str().unwrap().to_owned();
    fs::remove_file(host.data_dir().join("components").join(format!("{oldest}.wasm"))).unwrap();
    assert_eq!(versions(&host).await.len(), 2);
    let error = run_err(&host, &["plugin", "rollback", "chameleon", "--to", &oldest]).await;
    assert!(error.contains("No stored component"), "{error}");
    assert_eq!(serving(&host).await, "3.0.0");
    host.stop().await;
}

#[tokio::test]
async fn stored_version_can_be_published_after_a_restart() {
    let host = host_with_three_versions().await.restart().await;
    let listed = versions(&host).await;
    assert_eq!(listed.len(), 3, "{listed:?}");
    let oldest = listed[2]["hash"].as_str().unwrap();
    run_ok(&host, &["plugin", "rollback", "chameleon", "--to", oldest]).await;
    assert_eq!(serving(&host).await, "1.0.0");
    host.stop().await;
}

#[tokio::test]
async fn stored_version_can_be_published_if_none_serves() {
    let host = host_with_three_versions().await;
    let listed = versions(&host).await;
    let hash = |index: usize| listed[index]["hash"].as_str().unwrap().to_owned();
    let (current, oldest) = (hash(0), hash(2));
    let lost = host.data_dir().join("components").join(format!("{current}.wasm"));
    let host = host.restart_after(|| fs::remove_file(lost).unwrap()).await;
    let down = versions(&host).await;
    assert!(down.iter().all(|version| version["serving"] == json!(false)), "{down:?}");
    run_ok(&host, &["plugin", "rollback", "chameleon", "--to", &oldest]).await;
    assert_eq!(serving(&host).await, "1.0.0");
    host.stop().await;
}

#[tokio::test]
async fn last_ten_published_components_are_listed() {
    let host = host_with_three_versions().await;
    for number in 4..=12 {
        let version = format!("{number}.0.0");
        let file = host.dir.path().join(&version);
        fs::write(&file, guests::chameleon_version(&version).unwrap()).unwrap();
        run_ok(&host, &["plugin", "deploy", &file.display().to_string(), "--plugin", "chameleon"]).await;
    }
    let listed: Vec<String> =
        versions(&host).await.iter().map(|version| version["version"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<String> = (3..=12).rev().map(|number| format!("{number}.0.0")).collect();
    assert_eq!(listed, expected);
    host.stop().await;
}

#[tokio::test]
async fn host_stores_as_many_components_as_the_setting_allows() {
    let section = SECTION.replace("compute-ms = 300", "compute-ms = 300, components-kept = 2");
    let host = host_with_section(&section).await;
    let listed = versions(&host).await;
    let listed: Vec<&Value> = listed.iter().map(|line| &line["version"]).collect();
    assert_eq!(listed, ["3.0.0", "2.0.0"]);
    assert_eq!(fs::read_dir(host.data_dir().join("components")).unwrap().count(), 2);
    host.stop().await;
}
