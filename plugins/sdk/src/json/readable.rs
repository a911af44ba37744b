//! Checks that JSON text that is forwarded unchanged can be decoded by its next reader.
//!
//! Recurses with the nesting of the text, whose depth the caller has checked.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Returns true if the text is JSON in which each string is valid Unicode and each number fits a float.
///
/// The grammar of JSON requires neither, and [`Object`](super::Object) does not decode values. Text that is forwarded
/// unchanged needs this check, because other parsers may fail on it.
pub fn is_readable(text: &str) -> bool {
    serde_json::from_str::<Readable>(text).is_ok()
}

/// Decodes every value and keeps none. `IgnoredAny` would skip the values.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Readable, D::Error> {
        deserializer.deserialize_any(Readable)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Readable;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON text")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Readable, A::Error> {
        while list.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Readable, A::Error> {
        while object.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpaired_surrogates_and_infinite_numbers_are_not_readable() {
        for text in [r#"{"a":[1,-2,0.5,true,null,"\ud83d\ude00",{}]}"#, "1e308", r#""\u0000""#] {
            assert!(is_readable(text), "{text}");
        }
        for text in [r#"{"a":["\ud800"]}"#, r#"{"\udc00":1}"#, r#"{"a":{"b":1e999}}"#, "[1"] {
            assert!(!is_readable(text), "{text}");
        }
    }
}
