//! JSON without trees: objects whose values stay JSON text, so that unknown members are kept and large bodies are
//! cheap.
//!
//! Owns the maximum depth of a body: a guest has 64 KiB of stack, which a recursive parser would exhaust. Every text
//! that is parsed here was checked with [`nests_within`] or written by the plugin itself.

mod readable;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::Stop;

pub use readable::is_readable;

/// Maximum levels of arrays and objects in a request body. Each level takes 2 KiB of stack.
pub const DEPTH_MAX: usize = 32;

/// Maximum members of one parsed object. The limit is above the number of fields of any interface, and bounds the
/// memory.
pub const MEMBERS_MAX: usize = 10_000;

/// Serializes a value to JSON text. A value that has no JSON form (a map whose keys are not strings) is a fault.
pub fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<String, Stop> {
    serde_json::to_string(value).map_err(|error| Stop::fault(error.to_string()))
}

/// Deserializes JSON text that the plugin itself wrote. A different shape is a fault.
pub fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Stop> {
    serde_json::from_str(text).map_err(|error| Stop::fault(error.to_string()))
}

/// Returns the JSON array of these JSON texts.
pub fn array<'a>(items: impl Iterator<Item = &'a str> + Clone) -> String {
    let bytes: usize = items.clone().map(|item| item.len() + 1).sum();
    let mut text = String::with_capacity(bytes + 2);
    text.push('[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
    text
}

/// Returns true if arrays and objects nest at most `levels` deep. Counts brackets outside of strings, without
/// recursion.
pub fn nests_within(text: &str, levels: usize) -> bool {
    // Fast path: most texts have fewer brackets than the allowed levels.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets <= levels {
        return true;
    }
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > levels {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// Returns true if an object in the text, at any depth, repeats a member or has more than [`MEMBERS_MAX`] members, or
/// if an object or array is not valid JSON. Recurses as deep as the text nests: check [`nests_within`] first.
pub fn is_ambiguous(text: &str) -> bool {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => !Object::parse(text)
            .is_ok_and(|object| !object.is_ambiguous() && !object.members().any(|(_, value)| is_ambiguous(value))),
        Some(b'[') => !serde_json::from_str::<Vec<&RawValue>>(text)
            .is_ok_and(|items| !items.iter().any(|item| is_ambiguous(item.get()))),
        _ => false,
    }
}

/// Returns the parser's message without line and column, which do not help the author of a client.
pub(crate) fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// The member is present, but its value is not of the requested type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMismatch;

/// A JSON object whose values stay JSON text. It keeps the order of the members and all unknown members.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    /// Names and values. A borrowed name needs no escapes.
    members: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Object<'a> {
    /// Parses an object.
    pub fn parse(text: &'a str) -> Result<Object<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns true if a member is repeated. Parsers that use the first value and parsers that use the last one would
    /// read different values.
    pub fn is_ambiguous(&self) -> bool {
        let mut names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair.first() == pair.last())
    }

    /// Returns the value as JSON text. If the member is repeated, the last value counts.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// Returns the value as JSON text, or `None` if the member is absent or null.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| *value != "null")
    }

    /// Returns true if the member is present, even if it is null.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Deserializes the value, or returns `None` if the member is absent or null.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, TypeMismatch> {
        self.given(name).map(|value| serde_json::from_str(value).map_err(|_| TypeMismatch)).transpose()
    }

    /// Returns the string value, or `None` if the member is absent or null.
    pub fn text(&self, name: &str) -> Result<Option<String>, TypeMismatch> {
        self.read(name)
    }

    /// Returns the number, or `None` if the member is absent or null. Accepts a string that contains a number, because
    /// forms send strings.
    pub fn number(&self, name: &str) -> Result<Option<f64>, TypeMismatch> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let digits = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        match digits.parse::<f64>() {
            // `parse` also accepts "inf" and "nan", which are not JSON numbers.
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(TypeMismatch),
        }
    }

    /// Returns the boolean, or `None` if the member is absent or null.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, TypeMismatch> {
        match self.given(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(TypeMismatch),
        }
    }

    /// Replaces the value of the member, or appends the member. `value` is one JSON text.
    pub fn set_raw(&mut self, name: &'static str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.members.iter_mut().rev().find(|(key, _)| key == name) {
            Some(member) => member.1 = value,
            None if is_plain(name) => self.members.push((Cow::Borrowed(name), value)),
            None => self.members.push((Cow::Owned(name.to_owned()), value)),
        }
    }

    /// Serializes `value` and sets the member like [`Object::set_raw`].
    pub fn set<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Stop> {
        self.set_raw(name, to_text(value)?);
        Ok(())
    }

    /// Removes the member, and all its repetitions.
    pub fn remove(&mut self, name: &str) {
        self.members.retain(|(key, _)| key != name);
    }

    /// Copies all borrowed members.
    pub fn into_owned(self) -> Object<'static> {
        let own = |(name, value): (Cow<'a, str>, Cow<'a, str>)| {
            (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned()))
        };
        Object { members: self.members.into_iter().map(own).collect() }
    }

    /// Returns names and values, in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// Returns the object as JSON text.
    pub fn to_text(&self) -> String {
        let bytes: usize = self.members.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        let mut text = String::with_capacity(bytes + 2);
        text.push('{');
        for (position, (name, value)) in self.members.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            match name {
                Cow::Borrowed(name) => push_plain(&mut text, name),
                Cow::Owned(name) if is_plain(name) => push_plain(&mut text, name),
                Cow::Owned(name) => text.push_str(&serde_json::to_string(name).unwrap_or_default()),
            }
            text.push(':');
            text.push_str(value);
        }
        text.push('}');
        text
    }
}

/// Appends a name in quotes, without escapes.
fn push_plain(text: &mut String, name: &str) {
    text.push('"');
    text.push_str(name);
    text.push('"');
}

/// Returns true if the name needs no escapes.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<'de>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            if members.len() == MEMBERS_MAX {
                return Err(serde::de::Error::custom("too many members"));
            }
            members.push((name, Cow::Borrowed(value.get())));
        }
        Ok(Object { members })
    }
}

/// Name of a member. Serde always deserializes a `Cow` as owned. This type borrows a name without escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_within_strings_do_not_count_as_nesting() {
        assert!(nests_within(r#"{"a":["[[[[","\"{{{"]}"#, 2));
        assert!(!nests_within("[[[]]]", 2));
        assert!(nests_within(&"[]".repeat(10_000), 1));
        assert!(!nests_within(&"[]".repeat(10_000), 0));
    }

    #[test]
    fn patched_object_keeps_order_and_unknown_members() {
        let mut object = Object::parse(r#"{"speed": 3, "x":{"deep":[1, 2]},"we\"ird":null}"#).unwrap();
        object.set_raw("speed", "4");
        object.set("new", "text").unwrap();
        object.set_raw("line\n", "1");
        let expected = r#"{"speed":4,"x":{"deep":[1, 2]},"we\"ird":null,"new":"text","line\n":1}"#;
        assert_eq!(object.to_text(), expected);
        assert_eq!(object.into_owned().to_text(), expected);
    }

    #[test]
    fn removal_deletes_repeated_members() {
        let mut object = Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        object.remove("a");
        assert_eq!(object.to_text(), r#"{"b":2}"#);
    }

    #[test]
    fn object_with_too_many_members_is_rejected() {
        let object = |members: usize| format!("{{{}}}", vec![r#""a":1"#; members].join(","));
        assert!(Object::parse(&object(MEMBERS_MAX)).is_ok());
        assert!(Object::parse(&object(MEMBERS_MAX + 1)).unwrap_err().is_data());
    }

    #[test]
    fn last_value_of_a_repeated_member_counts() {
        assert_eq!(Object::parse(r#"{"a":1,"a":2}"#).unwrap().raw("a"), Some("2"));
    }

    #[test]
    fn repeated_member_is_detected_in_any_spelling() {
        for (text, expected) in [
            (r#"{"a":1,"b":2,"a":1}"#, true),
            (r#"{"a":1,"\u0061":2}"#, true),
            (r#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#, false),
            (r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#, false),
            (r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}"#, false),
            (r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"b":1}"#, true),
            ("{}", false),
        ] {
            assert_eq!(Object::parse(text).unwrap().is_ambiguous(), expected, "{text}");
        }
    }

    #[test]
    fn repeated_member_is_detected_at_any_depth() {
        for (text, expected) in [
            (r#"{"a":{"b":[{"c":1,"c":1}]}}"#, true),
            (r#" [{"a":1,"\u0061":2}]"#, true),
            (r#"{"a":[{"a":1},{"a":1}],"b":"{\"a\":1,\"a\":1}"}"#, false),
            (r#""a""#, false),
        ] {
            assert_eq!(is_ambiguous(text), expected, "{text}");
        }
    }

    #[test]
    fn numeric_strings_are_numbers_and_other_values_are_not() {
        let object = Object::parse(r#"{"a":1.5,"b":"-2","c":"nan","d":true,"e":null}"#).unwrap();
        assert_eq!(object.number("a"), Ok(Some(1.5)));
        assert_eq!(object.number("b"), Ok(Some(-2.0)));
        assert_eq!(object.number("c"), Err(TypeMismatch));
        assert_eq!(object.number("d"), Err(TypeMismatch));
        assert_eq!(object.number("e"), Ok(None));
    }

    #[test]
    fn array_joins_json_texts() {
        assert_eq!(array(["1", "{}"].into_iter()), "[1,{}]");
        assert_eq!(array(std::iter::empty()), "[]");
    }
}
