//! Seeds, as operators and their programs read them. The words of one are wiped when they are let go of, and never shown by
//! `Debug`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    #[serde(serialize_with = "write_phrase", deserialize_with = "read_phrase")]
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

fn write_phrase<S: Serializer>(phrase: &SecretText, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(phrase.expose())
}

fn read_phrase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretText, D::Error> {
    String::deserialize(deserializer).map(SecretText::new)
}
