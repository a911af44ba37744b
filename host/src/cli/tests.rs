//! Tests of the command line.
//!
//! - `arguments`: the accepted and rejected command lines. `requests`: commands that send requests.
//! - `tables`: text output. `canned_host`: a server with fixed responses, in place of a host.

mod arguments;
mod canned_host;
mod requests;
mod tables;

use std::path::Path;

use clap::Parser;

use super::{Cli, CliError, Outcome};

/// Runs a command with this data folder and this address of the operators' listener.
fn run(line: &str, folder: &Path, admin: &str) -> Result<Outcome, CliError> {
    let access = ["--admin", admin, "--data-dir", folder.to_str().unwrap()];
    Cli::try_parse_from(std::iter::once("tenon").chain(line.split(' ')).chain(access))
        .unwrap()
        .command
        .run(Default::default())
}
