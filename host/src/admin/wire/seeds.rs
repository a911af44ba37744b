//! JSON types of seeds. The phrase of a seed is wiped on drop and is not printed by `Debug`.

use serde::{Deserialize, Serialize};

use super::secret;
use crate::secrets::SecretText;

/// Plugin and tenant that own a seed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedOwner {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
}

/// An exported seed, from which the seed can be restored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedCopy {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    /// 12 to 24 words, separated by spaces.
    #[serde(with = "secret")]
    pub phrase: SecretText,
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedReport {
    pub plugin: String,
    pub tenant: String,
    /// `false` if the tenant already had this seed.
    pub is_new: bool,
}
