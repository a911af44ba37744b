//! Programs of others against the real host: a released client of the fleet interface goes through a working day, and every
//! document of an interface is tried with requests that are made from it.
//!
//! Nothing of these programs is part of the tree: `make conformance` fetches them into target/conformance. Where they are
//! missing, the tests say so and are skipped.

mod documents;
mod fleet_sdk;

use std::path::PathBuf;

use tenon_bench::guests::workspace_root;

/// Where it was fetched to. `None`: it was not, and the test is over.
fn fetched(what: &str) -> Option<PathBuf> {
    let folder = workspace_root().join("target/conformance").join(what);
    if !folder.join("fetched").is_file() {
        eprintln!("skipped: there is no {}; `make conformance` fetches it", folder.display());
        return None;
    }
    Some(folder)
}
