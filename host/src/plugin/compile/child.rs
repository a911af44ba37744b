//! The program of the child process that compiles: `tenon compile-component`, which only the host starts.
//!
//! Limits its resources before it reads a byte of the component. Opens no socket and no database, and writes only the
//! two files that the request names. Ends when its standard input is closed, so that it never outlives the host.

use std::{
    fs,
    io::{self, BufRead, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
};

use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};

use super::{
    functions::FunctionCache,
    message::{CompileRequest, Report},
};
use crate::{
    limits,
    plugin::{components, engine},
};

/// Hidden sub-command of `tenon`.
pub const COMMAND: &str = "compile-component";

const OWN_STATUS: &str = "/proc/self/status";

/// Reads the request and the component from standard input, compiles, and writes the report to standard output.
pub fn run() -> Result<String, String> {
    let mut input = io::stdin().lock();
    let mut line = String::new();
    let read = input.by_ref().take(limits::COMPILE_MESSAGE_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| format!("failed to read the request: {error}"))?;
    let request: CompileRequest =
        serde_json::from_str(&line).map_err(|error| format!("only the host may start this command: {error}"))?;
    limit(&request)?;
    let mut component = Vec::new();
    let read = input.by_ref().take(request.component_bytes).read_to_end(&mut component);
    read.map_err(|error| format!("failed to read the component: {error}"))?;
    drop(input);
    std::thread::spawn(end_with_host);
    let report = perform(&request, &component);
    serde_json::to_string(&report).map(|line| line + "\n").map_err(|error| error.to_string())
}

/// Lowers the priority, and limits memory, time and files to those of one compilation.
fn limit(request: &CompileRequest) -> Result<(), String> {
    if let Err(error) = setpriority_process(None, limits::COMPILE_NICE) {
        let _unread = writeln!(io::stderr(), "failed to lower the priority: {error}");
    }
    let memory = own_memory()?.saturating_add(request.memory_bytes);
    let resource_limits = [
        (Resource::Data, memory, memory),
        // The soft limit raises a signal that identifies the cause. The hard limit kills the process.
        (Resource::Cpu, request.cpu_seconds, request.cpu_seconds.saturating_add(1)),
        (Resource::Nofile, limits::COMPILE_FILES_MAX, limits::COMPILE_FILES_MAX),
        (Resource::Core, 0, 0),
    ];
    for (resource, current, maximum) in resource_limits {
        let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
        setrlimit(resource, limit).map_err(|error| format!("failed to limit {resource:?}: {error}"))?;
    }
    Ok(())
}

/// Returns the bytes of writable memory that the program has at its start.
fn own_memory() -> Result<u64, String> {
    let status = fs::read_to_string(OWN_STATUS).map_err(|error| format!("failed to read {OWN_STATUS}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib.saturating_mul(1_024)).ok_or_else(|| format!("{OWN_STATUS} has no VmData"))
}

/// Ends the process when standard input is closed. The host keeps the other end open while it waits for the report.
#[expect(clippy::disallowed_methods, reason = "the host has ended: there is nothing to finish")]
fn end_with_host() {
    let _closed = io::stdin().read(&mut [0]);
    std::process::exit(1);
}

/// Compiles the component and writes both files.
pub(super) fn perform(request: &CompileRequest, component: &[u8]) -> Report {
    let functions = Arc::new(FunctionCache::read(&request.functions_before));
    let code = match engine::precompile(component, request.threads, functions.clone()) {
        Ok(code) => code,
        // A report must fit into its pipe, and names within a component may be long.
        Err(error) => {
            let mut reason = error.to_string();
            reason.truncate(reason.floor_char_boundary(limits::REFUSAL_OUTPUT_BYTES_MAX));
            return Report::Refused { reason };
        }
    };
    match write_code(&request.code, &code) {
        Err(error) => Report::Failed { reason: format!("failed to write its code: {error}") },
        Ok(digest) => {
            if let Err(error) = functions.write(&request.functions_after) {
                let _unread = writeln!(io::stderr(), "failed to write the machine code of functions: {error}");
            }
            let (reused, compiled) = functions.counts();
            Report::Compiled { digest, reused, compiled }
        }
    }
}

/// Writes the code and returns its digest once the file is durable.
fn write_code(path: &Path, code: &[u8]) -> io::Result<String> {
    let mut file = create(path)?;
    file.write_all(code)?;
    file.sync_all()?;
    Ok(components::hash(code).to_string())
}

pub(super) fn create(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::guest::Guest;

    fn counts(request: &CompileRequest, component: &[u8]) -> (u64, u64) {
        match perform(request, component) {
            Report::Compiled { reused, compiled, .. } => (reused, compiled),
            Report::Refused { reason } | Report::Failed { reason } => panic!("{reason}"),
        }
    }

    fn request_in(folder: &Path, code: &str) -> CompileRequest {
        CompileRequest {
            component_bytes: 0,
            code: folder.join(code),
            functions_before: folder.join("before"),
            functions_after: folder.join("after"),
            memory_bytes: 0,
            cpu_seconds: 0,
            threads: 1,
        }
    }

    #[test]
    fn reason_with_a_name_of_the_component_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let request = request_in(folder.path(), "code");
        let name = "n".repeat(90_000);
        let twice = format!(
            r#"(component (core module $m (func (export "f")) ) (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f"))) (export "{name}" (func $f)) (export "{name}" (func $f)))"#
        );
        let component = wat::parse_str(twice).unwrap();
        let Report::Refused { reason } = perform(&request, &component) else { panic!("it compiles") };
        assert!(reason.len() <= limits::REFUSAL_OUTPUT_BYTES_MAX, "{}", reason.len());
    }

    #[test]
    fn code_that_cannot_be_written_is_not_an_error_of_the_component() {
        let folder = tempfile::tempdir().unwrap();
        let request = request_in(folder.path(), "missing/code");
        let report = perform(&request, &Guest::notes("0.1.0").build());
        assert!(matches!(report, Report::Failed { .. }), "{report:?}");
    }

    #[test]
    fn next_compilation_compiles_only_changed_functions() {
        let folder = tempfile::tempdir().unwrap();
        let request = |before: &str, after: &str| CompileRequest {
            component_bytes: 0,
            code: folder.path().join(format!("code-{after}")),
            functions_before: folder.path().join(before),
            functions_after: folder.path().join(after),
            memory_bytes: 0,
            cpu_seconds: 0,
            threads: 1,
        };
        let (none, all) = counts(&request("none", "first"), &Guest::notes("0.1.0").build());
        assert_eq!(none, 0);
        let changed = Guest::notes("0.1.1").with_describe("i32.const 0 i32.const 0 i32.add").build();
        let (reused, compiled) = counts(&request("first", "second"), &changed);
        assert!(reused > 0 && compiled > 0 && compiled < all, "{reused} reused, {compiled} of {all} compiled");
    }
}
