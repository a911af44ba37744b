//! Runs one child process that compiles: starts it, writes its input, and waits for its end.
//!
//! Invariants: the process has ended and was reaped when `run` returns. It inherits three pipes and nothing else. Its
//! environment is empty except for a setting of its allocator.

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use bytes::Bytes;
use rustix::process::Signal;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, Command},
    sync::oneshot,
};

use super::{
    child::COMMAND,
    message::{CompileRequest, Report},
};
use crate::limits::COMPILE_MESSAGE_BYTES_MAX;

/// Messages of a failed allocation: from Rust's allocation error handler before it aborts, of ENOMEM (a mapping or a
/// thread), and from wasmtime's collections.
const OUT_OF_MEMORY: [&str; 3] =
    ["memory allocation of", "Cannot allocate memory", "out of memory (failed to allocate"];

/// Message of EAGAIN: the machine has no thread left.
const OUT_OF_THREADS: &str = "Resource temporarily unavailable";

/// Signals of a crash. Any other signal comes from outside, such as SIGKILL if the machine has no memory left.
const CRASHES: [Signal; 6] = [Signal::SEGV, Signal::BUS, Signal::ILL, Signal::ABORT, Signal::FPE, Signal::TRAP];

/// The exit code of a Rust program that panics.
const PANICKED: i32 = 101;

/// Result of the process of a compilation.
#[derive(Debug)]
pub enum ProcessResult {
    Reported(Report),
    /// It exceeded its memory limit.
    Memory,
    /// It exceeded its time limit.
    Time,
    /// It exceeded its limit of processor time.
    Computing,
    /// The caller has cancelled the compilation.
    Abandoned,
    /// The compiler panicked or crashed: a sentence.
    Crashed(String),
    /// Any other error: a sentence.
    Failed(String),
}

/// Runs `program` to its end; kills it after `time`, or when the sender of `abandoned` is dropped.
pub async fn run(
    program: &Path,
    request: &CompileRequest,
    component: &Bytes,
    (time, abandoned): (Duration, oneshot::Receiver<()>),
) -> ProcessResult {
    let line = match serde_json::to_vec(request) {
        Ok(line) => [line.as_slice(), b"\n"].concat(),
        Err(error) => return ProcessResult::Failed(error.to_string()),
    };
    let mut child = match start(program) {
        Ok(child) => child,
        Err(error) => return ProcessResult::Failed(format!("{} does not start: {error}", program.display())),
    };
    let result = tokio::select! {
        result = communicate(&mut child, &line, component) => return result,
        () = tokio::time::sleep(time) => ProcessResult::Time,
        _ = abandoned => ProcessResult::Abandoned,
    };
    if let Err(error) = child.kill().await {
        tracing::warn!(%error, "failed to kill a process that compiles");
    }
    result
}

fn start(program: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .arg0("tenon")
        .arg(COMMAND)
        .env_clear()
        // Memory that the allocator reserves and does not use would count towards the limit.
        .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals of a terminal reach the host's group. The host ends its child processes itself.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn communicate(child: &mut Child, line: &[u8], component: &Bytes) -> ProcessResult {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Standard input stays open until the process has ended. It is closed earlier only if the host ends, and then the
    // process exits.
    let (_input, report, stderr_text) = tokio::join!(write_input(input, line, component), read(output), read(errors));
    match child.wait().await {
        Ok(status) => interpret_exit(status, &report, &stderr_text),
        Err(error) => ProcessResult::Failed(error.to_string()),
    }
}

/// Writes the request and the component. Returns `None` if the process ends before it has read everything. Its exit
/// status and standard error contain the reason.
async fn write_input(input: Option<ChildStdin>, line: &[u8], component: &Bytes) -> Option<ChildStdin> {
    let mut input = input?;
    input.write_all(line).await.ok()?;
    input.write_all(component).await.ok()?;
    Some(input)
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _broken = pipe.take(COMPILE_MESSAGE_BYTES_MAX).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn interpret_exit(status: ExitStatus, report: &str, stderr_text: &str) -> ProcessResult {
    use std::os::unix::process::ExitStatusExt;
    let names_memory = |text: &str| OUT_OF_MEMORY.iter().any(|sign| text.contains(sign));
    if status.success() {
        return match serde_json::from_str(report) {
            Ok(Report::Refused { reason }) if names_memory(&reason) => ProcessResult::Memory,
            Ok(report) => ProcessResult::Reported(report),
            Err(error) => ProcessResult::Failed(format!("its report cannot be read: {error}")),
        };
    }
    if names_memory(stderr_text) {
        return ProcessResult::Memory;
    }
    if status.signal() == Some(Signal::XCPU.as_raw()) {
        return ProcessResult::Computing;
    }
    let reason = format!("{status}. {}", last_sentence(stderr_text)).trim().to_owned();
    let is_crash = CRASHES.iter().any(|signal| status.signal() == Some(signal.as_raw()));
    if (is_crash || status.code() == Some(PANICKED)) && !stderr_text.contains(OUT_OF_THREADS) {
        return ProcessResult::Crashed(reason);
    }
    ProcessResult::Failed(reason)
}

/// Returns the last line about the run itself: after a panic Rust prints a note on backtraces.
fn last_sentence(stderr_text: &str) -> &str {
    stderr_text.lines().rfind(|line| !line.is_empty() && !line.starts_with("note: ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_beyond_the_limit_is_a_lack_of_memory() {
        let reported = |reason: &str| {
            let report = serde_json::to_string(&Report::Refused { reason: reason.to_owned() }).unwrap();
            interpret_exit(ExitStatus::default(), &report, "")
        };
        assert!(matches!(reported("mmap failed: Cannot allocate memory (os error 12)"), ProcessResult::Memory));
        assert!(matches!(reported("unknown opcode"), ProcessResult::Reported(_)));
    }

    #[test]
    fn reason_of_a_crash_is_the_message_of_the_panic() {
        use std::os::unix::process::ExitStatusExt;
        let stderr_text = "thread panicked at x.rs:1:1:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n\n";
        let ProcessResult::Crashed(reason) = interpret_exit(ExitStatus::from_raw(PANICKED << 8), "", stderr_text)
        else {
            panic!()
        };
        assert!(reason.ends_with("index out of bounds"), "{reason}");
    }

    #[test]
    fn crash_of_the_compiler_is_distinguished_from_causes_outside_of_the_component() {
        use std::os::unix::process::ExitStatusExt;
        let killed =
            |signal: Signal, stderr_text: &str| interpret_exit(ExitStatus::from_raw(signal.as_raw()), "", stderr_text);
        let panicked = |stderr_text: &str| interpret_exit(ExitStatus::from_raw(PANICKED << 8), "", stderr_text);
        for signal in CRASHES {
            assert!(matches!(killed(signal, ""), ProcessResult::Crashed(_)), "{signal:?}");
        }
        assert!(matches!(panicked("assertion failed"), ProcessResult::Crashed(_)));
        assert!(matches!(
            panicked("failed to spawn a thread: Resource temporarily unavailable"),
            ProcessResult::Failed(_)
        ));
        assert!(matches!(killed(Signal::ABORT, "memory allocation of 8 bytes failed"), ProcessResult::Memory));
        let of_wasmtime = "unhandled out-of-memory error: out of memory (failed to allocate 4194400 bytes)";
        assert!(matches!(panicked(of_wasmtime), ProcessResult::Memory));
        assert!(matches!(killed(Signal::XCPU, ""), ProcessResult::Computing));
        assert!(matches!(killed(Signal::KILL, ""), ProcessResult::Failed(_)));
        assert!(matches!(killed(Signal::TERM, ""), ProcessResult::Failed(_)));
    }
}
