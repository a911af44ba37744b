//! Seeds, as operators and their programs read them. The words of one are wiped when they are let go of, and never shown by
//! `Debug`.

use serde::{Deserialize, Serialize};

use super::secret;
use crate::secrets::SecretText;

/// Whose seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedName {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
}

/// A seed, as what it can be made of again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedCopy {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    /// 12 to 24 words with blanks between.
    #[serde(with = "secret")]
    pub phrase: SecretText,
}

/// What became of a copy that was brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedReport {
    pub plugin: String,
    pub tenant: String,
    /// Whether it was stored; `false`: the same one was there already.
    pub is_new: bool,
}
