//! Runs shell lines of the documents with a real shell and a real curl against the host of a test.

use std::{path::Path, process::Command};

use tenon_bench::{guests::workspace_root, program::sibling_binary};

use super::markdown::blocks;
use crate::support::TestHost;

/// Redefines curl so that it fails if the status of the response is 400 or higher.
const STRICT_CURL: &str = "set -e\ncurl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n";

/// Returns every line that begins with `curl`. A backslash at its end continues the line.
pub fn curl_lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| line.starts_with("curl ")).map(str::to_owned).collect()
}

/// Runs a script and returns its output. Fails if a command fails.
///
/// Replaces {url} and port 8080 with the address of the host's interfaces, port 9090 with that of its operators'
/// listener, and {key} and "tk_test_…" with the key.
pub async fn paste(host: &TestHost, key: &str, script: &str) -> String {
    let (interfaces, operators) = ("http://127.0.0.1:8080", "http://127.0.0.1:9090");
    let script = script.replace("{url}", interfaces).replace("{key}", key).replace("tk_test_…", key);
    let script = script.replace(interfaces, host.base()).replace(operators, host.admin_base());
    let command = format!("{STRICT_CURL}{script}");
    let run = tokio::task::spawn_blocking(move || Command::new("sh").arg("-c").arg(command).output());
    let output = run.await.expect("a shell").expect("sh can be started");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{}\n{printed}{errors}", output.status);
    printed.into_owned()
}

/// Runs the `sh` blocks of a page in order, in an empty folder, with the built programs in `PATH`. Returns the output
/// followed by the errors. Fails if a command fails.
pub async fn paste_page(host: &TestHost, page: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    paste_page_in(folder.path(), host, page).await
}

/// Like [`paste_page`], in a folder that contains the files that the page needs.
pub async fn paste_page_in(folder: &Path, host: &TestHost, page: &str) -> String {
    let shell = blocks(&super::read(page)).into_iter().filter(|block| block.language == "sh");
    let script: Vec<String> = shell.map(|block| block.text).collect();
    // The page reads files of the repository and writes into the folder.
    let script = script.join("\n").replace("examples/", &format!("{}/examples/", workspace_root().display()));
    let program = sibling_binary("tenon").expect("the program");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut run = Command::new("bash");
    run.arg("-euc").arg(script).current_dir(folder);
    run.env("URL", host.base()).env("PORT", port.to_string()).env("PWD", folder);
    run.env("TENON_ADMIN", host.admin_base().trim_start_matches("http://")).env("TENON_DATA_DIR", host.data_dir());
    run.env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()));
    let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("bash");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{page}: {printed}{errors}");
    format!("{printed}{errors}")
}

#[test]
fn curl_lines_are_found() {
    let lines = curl_lines("text\n    curl -s \\\n  http://a/b\n```\n# curl\n");
    assert_eq!(lines, ["curl -s    http://a/b"]);
}
