//! The program `tenon` with the fleet plugin compiled in: the same command line and behaviour, without the sandbox.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenon::cli::run_with(tenon_native::natives())
}
