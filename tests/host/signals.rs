//! Signals that do not stop the host.

use std::process::Command;

use tenon_bench::program::{Program, ProgramPlan};

use super::starting::tenon;
use crate::support::eventually;

/// Sends a signal to a process, by the name that `kill` takes.
fn send(process: u32, signal: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {process}")]).status().unwrap();
    assert!(sent.success(), "{signal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_serves_after_signals_that_do_not_stop_it() {
    let folder = tempfile::tempdir().unwrap();
    let plan = ProgramPlan { binary: tenon(), folder: folder.path().to_path_buf(), plugins: Vec::new() };
    let program = Program::start(plan).await.unwrap();
    for signal in ["USR1", "USR2", "HUP"] {
        send(program.process_id(), signal);
    }
    eventually("the line about SIGHUP", async || program.log().contains("SIGHUP has no effect").then_some(())).await;
    assert_eq!(program.ready().await.unwrap().status, 200);
    program.stop().await.unwrap();
    let log = std::fs::read_to_string(folder.path().join("tenon.log")).unwrap();
    assert!(log.contains("stopped cleanly"), "{log}");
}
