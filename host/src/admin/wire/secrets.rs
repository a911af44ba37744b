//! JSON types of the rotation of secrets.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotationReport {
    /// Id of the current master key.
    pub key: String,
    pub sealed_again: usize,
    pub current: usize,
    /// Names of secrets that no master key of the host can open.
    pub left: Vec<String>,
}
