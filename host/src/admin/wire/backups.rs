//! JSON types of backups.

use serde::{Deserialize, Serialize};

use super::TimestampText;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBackup {
    /// Absolute path on the machine of the host.
    pub folder: String,
}

/// Status of the running backup, or of the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupStatus {
    pub folder: String,
    pub state: BackupState,
    pub started_at: TimestampText,
    /// "copy", "components", "check", "books", "hash".
    pub step: String,
    /// Bytes that the current step has processed. 0 if unknown.
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// Present when the backup is done.
    pub report: Option<BackupReport>,
    /// Reason of a failure.
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupState {
    Running,
    Done,
    Failed,
}

/// Content of a backup and the findings of its verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// Time of the backup. It contains everything that was acknowledged before.
    pub made_at: String,
    /// Version of the program that wrote it.
    pub tenon: String,
    pub schema: u64,
    pub bytes: u64,
    pub components: usize,
    /// True if indexes were compared with their tables.
    pub thorough: bool,
    pub journal_lines: u64,
    pub ledger_sums: u64,
    /// Inconsistencies in the copy. The original database has them as well.
    pub findings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    pub database: String,
    /// New path of the database that was replaced.
    pub replaced: Option<String>,
    pub backup: BackupReport,
}
