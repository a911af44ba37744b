//! The program `tenon`, with the fleet plugin compiled in: the same command line, the same everything but the sandbox.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenon::cli::run_with(tenon_native::natives())
}
