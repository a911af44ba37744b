//! JSON types of readiness.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    pub ready: bool,
    /// Reasons why the host is not ready.
    pub reasons: Vec<String>,
}
