//! Runs the real `tenon` program and its commands.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use tenon_bench::program::sibling_binary;

use crate::support::{TestHost, eventually};

/// Returns the program that cargo built beside the tests.
pub fn tenon_binary() -> PathBuf {
    sibling_binary("tenon").expect("`cargo build -p tenon` comes first, as in `make test`")
}

/// Runs a command to its end, without inherited `TENON_…` settings. Returns its exit code, and its output followed by
/// its error output.
pub async fn run_to_end(mut command: Command) -> (i32, String) {
    for variable in ["TENON_CONFIG", "TENON_DATA_DIR", "TENON_ADMIN", "TENON_MASTER_KEY", "TENON_DATABASE"] {
        if !command.get_envs().any(|(name, _)| name == variable) {
            command.env_remove(variable);
        }
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the end of the program", async || child.try_wait().unwrap()).await;
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

/// Runs a command of `tenon` as an operator of this host. Returns its exit code and its output.
pub async fn run(host: &TestHost, line: &[&str]) -> (i32, String) {
    let mut command = Command::new(tenon_binary());
    command.args(line).env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    command.env("TENON_DATA_DIR", host.data_dir()).env("TENON_CONFIG", host.config_file());
    run_to_end(command).await
}

/// Runs a command that must succeed and returns its output.
pub async fn run_ok(host: &TestHost, line: &[&str]) -> String {
    let (code, text) = run(host, line).await;
    assert_eq!(code, 0, "{line:?}: {text}");
    text
}

/// Runs a command that must fail with exit code 1 and returns its output.
pub async fn run_err(host: &TestHost, line: &[&str]) -> String {
    let (code, text) = run(host, line).await;
    assert_eq!(code, 1, "{line:?}: {text}");
    text
}
