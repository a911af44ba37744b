//! The program `tenon` under another name. Hosts inside the test binary compile components with it (see
//! `support::host`).

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tenon::cli::run()
}
