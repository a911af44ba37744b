//! JSON with only one interpretation: no repeated names in an object, no null, no fractions.
//!
//! `serde_json` bounds the depth (128 levels). The caller bounds the size.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Bool(bool),
    /// A 64-bit number. Documents contain larger numbers as strings.
    Number(i128),
    Text(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl Value {
    pub(super) fn read(json: &str) -> Option<Value> {
        serde_json::from_str(json).ok()
    }

    pub(super) fn into_object(self) -> Option<BTreeMap<String, Value>> {
        if let Value::Object(fields) = self { Some(fields) } else { None }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Value, D::Error> {
        input.deserialize_any(Reader)
    }
}

/// Rejects every kind of value without a `visit` method below.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object, a list, a string, a whole number, true or false")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = entries.next_entry()? {
            match object.entry(name) {
                Entry::Vacant(free) => free.insert(value),
                Entry::Occupied(_) => return Err(A::Error::custom("a name is repeated")),
            };
        }
        Ok(Value::Object(object))
    }
}
