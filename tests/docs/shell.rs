//! Lines that people paste into a shell: run by a shell, with the real curl, against the host of a test.

use std::process::Command;

use tenon_bench::{guests::workspace_root, program::sibling_binary};

use super::markdown::blocks;
use crate::support::TestHost;

/// A curl that fails where the answer is no 2xx; otherwise as it is.
const STRICT_CURL: &str = "set -e\ncurl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n";

/// Every line that begins with `curl`; a backslash at its end continues it. Comments at their ends fall away.
pub fn curl_lines(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| line.starts_with("curl ")).map(str::to_owned).collect()
}

/// Runs the script as it was pasted: 8080 are the interfaces, 9090 the operators, "tk_test_…" and {key} the key. Gives
/// what it printed; fails where a command of it fails.
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

/// Runs the blocks of `sh` on a page one after the other, in an empty folder, with the programs beside this one. Gives what
/// was printed, errors last; fails where a command fails.
pub async fn paste_page(host: &TestHost, page: &str) -> String {
    let shell = blocks(&super::read(page)).into_iter().filter(|block| block.language == "sh");
    let script: Vec<String> = shell.map(|block| block.text).collect();
    // The files of the page lie in the repository; what it writes does not.
    let script = script.join("\n").replace("examples/", &format!("{}/examples/", workspace_root().display()));
    let program = sibling_binary("tenon").expect("the program");
    let folder = tempfile::tempdir().expect("a folder");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut run = Command::new("bash");
    run.arg("-euc").arg(script).current_dir(folder.path());
    run.env("URL", host.base()).env("PORT", port.to_string()).env("PWD", folder.path());
    run.env("TENON_ADMIN", host.admin_base().trim_start_matches("http://")).env("TENON_DATA_DIR", host.data_dir());
    run.env("PATH", format!("{}:{path}", program.parent().expect("a folder").display()));
    let output = tokio::task::spawn_blocking(move || run.output()).await.expect("a thread").expect("bash");
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{page}: {printed}{errors}");
    format!("{printed}{errors}")
}

#[test]
fn lines_of_curl_are_found() {
    let lines = curl_lines("text\n    curl -s \\\n  http://a/b\n```\n# curl\n");
    assert_eq!(lines, ["curl -s    http://a/b"]);
}
