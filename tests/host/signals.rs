//! Signals and output errors that do not stop the host, and the limits and settings of its process.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use tenon_bench::{
    program::{Program, ProgramPlan, free_address},
    wire::Client,
};

use super::command_line::{run_to_end, tenon_binary};
use crate::support::eventually;

/// Sends a signal to a process, by the name that `kill` accepts.
fn send(process: u32, signal: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {process}")]).status().unwrap();
    assert!(sent.success(), "{signal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_serves_after_ignored_signals() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().to_path_buf(), plugins: Vec::new() };
    let program = Program::start(plan).await.unwrap();
    for signal in ["USR1", "USR2", "HUP"] {
        send(program.process_id(), signal);
    }
    eventually("the line about SIGHUP", async || program.log().contains("ignored SIGHUP").then_some(())).await;
    assert_eq!(program.ready().await.unwrap().status, 200);
    program.stop().await.unwrap();
    let log = std::fs::read_to_string(folder.path().join("tenon.log")).unwrap();
    assert!(log.contains("stopped cleanly"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_disables_transparent_huge_pages() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().to_path_buf(), plugins: Vec::new() };
    let program = Program::start(plan).await.unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.process_id())).unwrap();
    assert!(status.contains("THP_enabled:\t0"), "{status}");
    program.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_serves_while_its_log_and_banner_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let admin = free_address().unwrap();
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let mut command = Command::new(tenon_binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", &admin.to_string()]);
    command.arg("--data-dir").arg(folder.path().join("data"));
    std::fs::write(folder.path().join("plugins.toml"), "").unwrap();
    command.arg("--config").arg(folder.path().join("plugins.toml"));
    let mut child = command.stdin(Stdio::null()).stdout(full()).stderr(full()).spawn().unwrap();
    let is_ready = async || {
        let ready = Client::new(admin, "").send("GET", "/readyz", &[], b"").await;
        ready.is_ok_and(|response| response.status == 200)
    };
    eventually("a ready host", async || is_ready().await.then_some(())).await;
    // The signal is logged, so a panic would occur before the next response.
    send(child.id(), "HUP");
    assert!(is_ready().await);
    send(child.id(), "TERM");
    let status = eventually("the end of the host", async || child.try_wait().unwrap()).await;
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn file_size_limit_ends_a_start_with_an_error_and_not_with_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plugins.toml"), "").unwrap();
    let start = format!(
        "ulimit -f 128; exec {} serve --config {} --data-dir {} --listen 127.0.0.1:0 --admin 127.0.0.1:0",
        tenon_binary().display(),
        folder.path().join("plugins.toml").display(),
        folder.path().join("data").display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &start]);
    let (code, printed) = run_to_end(command).await;
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("database"), "{printed}");
}
