//! Messages between the host and the process that compiles: one line of JSON in each direction.
//!
//! The request precedes the component on standard input, which stays open until the process has ended. The report is
//! written to standard output. The host chooses the paths of the files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompileRequest {
    /// Length of the component, which follows the line.
    pub component_bytes: u64,
    /// Path for the code. The file does not exist yet.
    pub code: PathBuf,
    /// Machine code of functions to reuse; may not exist.
    pub functions_before: PathBuf,
    /// Path for the machine code of this component's functions. The file does not exist yet.
    pub functions_after: PathBuf,
    /// Writable memory in addition to that of the program.
    pub memory_bytes: u64,
    /// Computing time of all threads together.
    pub cpu_seconds: u64,
    pub threads: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    Compiled {
        /// Hex SHA-256 of the code.
        digest: String,
        /// Number of functions whose machine code was reused.
        reused: u64,
        /// Number of functions that were compiled.
        compiled: u64,
    },
    /// The component cannot be compiled.
    Refused { reason: String },
    /// The code cannot be written.
    Failed { reason: String },
}
