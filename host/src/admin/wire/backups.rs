//! Backups, as operators and their programs read them.

use serde::{Deserialize, Serialize};

use super::Moment;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewBackup {
    /// Absolute, on the machine of the host.
    pub folder: String,
}

/// The backup that is being written, or was written last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupStatus {
    pub folder: String,
    pub state: BackupState,
    pub started_at: Moment,
    /// "copy", "components", "check", "books", "hash".
    pub step: String,
    /// Of the step; 0 where nobody can say.
    pub bytes_done: u64,
    pub bytes_total: u64,
    /// Once it is done.
    pub report: Option<BackupReport>,
    /// Why it failed.
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupState {
    Running,
    Done,
    Failed,
}

/// What a backup holds, and what was found when it was read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReport {
    /// Everything that was acknowledged before is in it.
    pub made_at: String,
    /// Version of the program that wrote it.
    pub tenon: String,
    pub schema: u64,
    pub bytes: u64,
    pub components: usize,
    /// Indexes were compared with their tables.
    pub thorough: bool,
    pub journal_lines: u64,
    pub ledger_sums: u64,
    /// What is not as it should be, in the database as in its copy.
    pub findings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreReport {
    pub database: String,
    /// Where the database is that was there before.
    pub replaced: Option<String>,
    pub backup: BackupReport,
}
