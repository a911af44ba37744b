//! JSON types of the ledger check.

use serde::{Deserialize, Serialize};

/// Sums of all balances. Each must be zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerReport {
    pub balanced: bool,
    pub sums: Vec<LedgerSum>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerSum {
    pub plugin: String,
    pub tenant: String,
    pub asset: String,
    /// Minor units as a decimal integer. The value may exceed the range of JSON numbers.
    pub sum: String,
}
