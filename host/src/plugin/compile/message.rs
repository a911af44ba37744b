//! What passes between the host and the process that compiles: one line of JSON each way.
//!
//! The request goes in front of the component on standard input, which stays open until the process has ended. The
//! report comes on standard output. Files are named by the host.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompileRequest {
    /// Length of the component, which follows the line.
    pub component_bytes: u64,
    /// Where the code goes; does not exist yet.
    pub code: PathBuf,
    /// Machine code of functions to reuse; may not exist.
    pub functions_before: PathBuf,
    /// Path for the machine code of this component's functions. The file does not exist yet.
    pub functions_after: PathBuf,
    /// Writable memory besides what the program itself has.
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
        /// Functions whose machine code was there already, and all others.
        reused: u64,
        compiled: u64,
    },
    /// The component cannot be compiled.
    Refused { reason: String },
    /// The code cannot be written.
    Failed { reason: String },
}
