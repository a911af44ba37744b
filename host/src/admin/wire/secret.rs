//! Secrets in JSON: wiped when they are let go of, never shown by `Debug`.

use serde::{Deserialize, Deserializer, Serializer};

use crate::secrets::SecretText;

pub fn serialize<S: Serializer>(text: &SecretText, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.expose())
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretText, D::Error> {
    String::deserialize(deserializer).map(SecretText::new)
}

/// The same where there may be none.
pub mod optional {
    use super::*;

    pub fn serialize<S: Serializer>(text: &Option<SecretText>, serializer: S) -> Result<S::Ok, S::Error> {
        match text {
            Some(text) => serializer.serialize_some(text.expose()),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretText>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(SecretText::new))
    }
}
