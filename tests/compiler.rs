//! The program `tenon` under another name, built together with the test binary: see `support::host`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tenon::cli::run()
}
