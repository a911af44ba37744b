//! The program `tenon`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenon::cli::run()
}
