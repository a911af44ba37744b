//! One child process that compiles: started, fed, and waited for.
//!
//! Invariants: the process has ended and was reaped when `run` returns; it inherits three pipes and nothing else, and an
//! empty environment but for a setting of its allocator.

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

/// Texts of a failed allocation: from Rust's allocation error handler before it aborts, of ENOMEM (a mapping or a
/// thread), and from wasmtime's collections.
const OUT_OF_MEMORY: [&str; 3] =
    ["memory allocation of", "Cannot allocate memory", "out of memory (failed to allocate"];

/// The text of EAGAIN: the machine has no thread left.
const OUT_OF_THREADS: &str = "Resource temporarily unavailable";

/// Signals that a process raises by its own fault. Any other one comes from outside, as SIGKILL where the machine has no memory left.
const CRASHES: [Signal; 6] = [Signal::SEGV, Signal::BUS, Signal::ILL, Signal::ABORT, Signal::FPE, Signal::TRAP];

/// The exit code of a Rust program that panics.
const PANICKED: i32 = 101;

/// How a compilation ended.
#[derive(Debug)]
pub enum Ended {
    Reported(Report),
    /// It went over its limit of memory.
    Memory,
    /// It went over its limit of time.
    Time,
    /// It computed for longer than it may.
    Computing,
    /// The caller is gone.
    Abandoned,
    /// The compiler panicked or crashed: a sentence.
    Crashed(String),
    /// Anything else: a sentence.
    Failed(String),
}

/// Runs `program` to its end; kills it after `time`, or when the sender of `abandoned` is dropped.
pub async fn run(
    program: &Path,
    request: &CompileRequest,
    component: &Bytes,
    (time, abandoned): (Duration, oneshot::Receiver<()>),
) -> Ended {
    let line = match serde_json::to_vec(request) {
        Ok(line) => [line.as_slice(), b"\n"].concat(),
        Err(error) => return Ended::Failed(error.to_string()),
    };
    let mut child = match start(program) {
        Ok(child) => child,
        Err(error) => return Ended::Failed(format!("{} does not start: {error}", program.display())),
    };
    let ended = tokio::select! {
        ended = converse(&mut child, &line, component) => return ended,
        () = tokio::time::sleep(time) => Ended::Time,
        _ = abandoned => Ended::Abandoned,
    };
    if let Err(error) = child.kill().await {
        tracing::warn!(%error, "failed to end a process that compiles");
    }
    ended
}

fn start(program: &Path) -> std::io::Result<Child> {
    Command::new(program)
        .arg0("tenon")
        .arg(COMMAND)
        .env_clear()
        // What the allocator reserves and does not use would count towards the limit of memory.
        .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals of a terminal reach the host's group: the host decides what ends with it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn converse(child: &mut Child, line: &[u8], component: &Bytes) -> Ended {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Open until the process has ended: that it is closed tells the process that the host is gone.
    let (_input, report, printed) = tokio::join!(feed(input, line, component), read(output), read(errors));
    match child.wait().await {
        Ok(status) => judge(status, &report, &printed),
        Err(error) => Ended::Failed(error.to_string()),
    }
}

/// Fails where the process ends before it has read everything; its status says why.
async fn feed(input: Option<ChildStdin>, line: &[u8], component: &Bytes) -> Option<ChildStdin> {
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

fn judge(status: ExitStatus, report: &str, printed: &str) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    let names_memory = |text: &str| OUT_OF_MEMORY.iter().any(|sign| text.contains(sign));
    if status.success() {
        return match serde_json::from_str(report) {
            Ok(Report::Refused { reason }) if names_memory(&reason) => Ended::Memory,
            Ok(report) => Ended::Reported(report),
            Err(error) => Ended::Failed(format!("its report cannot be read: {error}")),
        };
    }
    if names_memory(printed) {
        return Ended::Memory;
    }
    if status.signal() == Some(Signal::XCPU.as_raw()) {
        return Ended::Computing;
    }
    let reason = format!("{status}. {}", last_sentence(printed)).trim().to_owned();
    let is_crash = CRASHES.iter().any(|signal| status.signal() == Some(signal.as_raw()));
    if (is_crash || status.code() == Some(PANICKED)) && !printed.contains(OUT_OF_THREADS) {
        return Ended::Crashed(reason);
    }
    Ended::Failed(reason)
}

/// Returns the last line that says something of this run: after a panic Rust prints a note on backtraces.
fn last_sentence(printed: &str) -> &str {
    printed.lines().rfind(|line| !line.is_empty() && !line.starts_with("note: ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_that_the_limit_refuses_is_a_lack_of_memory() {
        let refused = |reason: &str| {
            let report = serde_json::to_string(&Report::Refused { reason: reason.to_owned() }).unwrap();
            judge(ExitStatus::default(), &report, "")
        };
        assert!(matches!(refused("mmap failed: Cannot allocate memory (os error 12)"), Ended::Memory));
        assert!(matches!(refused("unknown opcode"), Ended::Reported(_)));
    }

    #[test]
    fn reason_of_a_crash_is_the_message_of_the_panic() {
        use std::os::unix::process::ExitStatusExt;
        let printed = "thread panicked at x.rs:1:1:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n\n";
        let Ended::Crashed(reason) = judge(ExitStatus::from_raw(PANICKED << 8), "", printed) else { panic!() };
        assert!(reason.ends_with("index out of bounds"), "{reason}");
    }

    #[test]
    fn crash_of_the_compiler_is_distinguished_from_causes_outside_of_the_component() {
        use std::os::unix::process::ExitStatusExt;
        let killed = |signal: Signal, printed: &str| judge(ExitStatus::from_raw(signal.as_raw()), "", printed);
        let panicked = |printed: &str| judge(ExitStatus::from_raw(PANICKED << 8), "", printed);
        for signal in CRASHES {
            assert!(matches!(killed(signal, ""), Ended::Crashed(_)), "{signal:?}");
        }
        assert!(matches!(panicked("assertion failed"), Ended::Crashed(_)));
        assert!(matches!(panicked("failed to spawn a thread: Resource temporarily unavailable"), Ended::Failed(_)));
        assert!(matches!(killed(Signal::ABORT, "memory allocation of 8 bytes failed"), Ended::Memory));
        let of_wasmtime = "unhandled out-of-memory error: out of memory (failed to allocate 4194400 bytes)";
        assert!(matches!(panicked(of_wasmtime), Ended::Memory));
        assert!(matches!(killed(Signal::XCPU, ""), Ended::Computing));
        assert!(matches!(killed(Signal::KILL, ""), Ended::Failed(_)));
        assert!(matches!(killed(Signal::TERM, ""), Ended::Failed(_)));
    }
}
