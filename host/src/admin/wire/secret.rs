//! Serialisation of secrets. They are wiped on drop and are not printed by `Debug`.

use serde::{Deserialize, Deserializer, Serializer};

use crate::secrets::SecretText;

pub fn serialize<S: Serializer>(text: &SecretText, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.expose())
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretText, D::Error> {
    String::deserialize(deserializer).map(SecretText::new)
}

/// Serialisation of an optional secret.
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
