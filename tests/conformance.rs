//! Third-party programs against the real host: a released client of the fleet interface, and a generator of requests
//! from each OpenAPI document.
//!
//! `make conformance` fetches these programs into target/conformance. Tests whose program is missing print a line and
//! are skipped.

mod documents;
mod fleet_sdk;

use std::path::PathBuf;

use tenon_bench::guests::workspace_root;

/// Returns the folder of a fetched program, or `None` if it is missing and the test must be skipped.
fn fetched(name: &str) -> Option<PathBuf> {
    let folder = workspace_root().join("target/conformance").join(name);
    if !folder.join("fetched").is_file() {
        eprintln!("skipped: {} is missing; `make conformance` fetches it", folder.display());
        return None;
    }
    Some(folder)
}
