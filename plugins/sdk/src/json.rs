//! JSON without trees: objects whose values stay text, so that unknown members survive and large bodies cost little.
//!
//! Owns the depth that a body may have: a guest has 64 KiB of stack, and a parser that recurses would exhaust it. What is
//! read here was checked with [`nests_within`] or written by the plugin itself.

mod readable;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answer::Stop;

pub use readable::is_readable;

/// Levels of arrays and objects in a request's body: far more than an interface needs, and 2 KiB of stack for each.
pub const DEPTH_MAX: usize = 32;

/// Members of one object that is read whole: more than an interface has fields, and no room for what only takes memory.
pub const MEMBERS_MAX: usize = 10_000;

/// One JSON text. What cannot be written (a map whose keys are not texts) is a fault.
pub fn to_text<T: Serialize + ?Sized>(value: &T) -> Result<String, Stop> {
    serde_json::to_string(value).map_err(|error| Stop::fault(error.to_string()))
}

/// Reads a text that the plugin wrote itself; another shape is a fault.
pub fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Stop> {
    serde_json::from_str(text).map_err(|error| Stop::fault(error.to_string()))
}

/// A JSON array of JSON texts.
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

/// Whether arrays and objects nest at most `levels` deep. Looks at brackets outside of texts only; it does not recurse.
pub fn nests_within(text: &str, levels: usize) -> bool {
    // Most texts have fewer brackets than levels are allowed.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets <= levels {
        return true;
    }
    let mut depth = 0usize;
    let mut in_text = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
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

/// Returns true if an object in the text has a member twice, at any depth. An object with more members than [`MEMBERS_MAX`]
/// counts as one. Recurses as deep as the text nests: check [`nests_within`] first.
pub fn is_ambiguous(text: &str) -> bool {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => !Object::parse(text)
            .is_ok_and(|object| !object.is_ambiguous() && !object.members().any(|(_, value)| is_ambiguous(value))),
        Some(b'[') => !serde_json::from_str::<Vec<&RawValue>>(text)
            .is_ok_and(|items| !items.iter().any(|item| is_ambiguous(item.get()))),
        _ => false,
    }
}

/// The parser's sentence without the place: lines and columns say nothing to a program's author.
pub(crate) fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}

/// A member is there, and is not of the type that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

/// A JSON object whose values are texts of their own. Keeps the order and every member that it does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    /// A borrowed name needs no escapes: it stands in a text as it is.
    members: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Object<'a> {
    pub fn parse(text: &'a str) -> Result<Object<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Whether a member stands there twice: who reads the first and who reads the last would not read the same.
    pub fn is_ambiguous(&self) -> bool {
        let mut names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair.first() == pair.last())
    }

    /// The value as JSON text; of several of one name the last.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// The value as JSON text, unless it is absent or null.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| *value != "null")
    }

    /// Whether the member is there, be it null.
    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// `None`: absent or null.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, WrongType> {
        self.given(name).map(|value| serde_json::from_str(value).map_err(|_| WrongType)).transpose()
    }

    /// `None`: absent or null.
    pub fn text(&self, name: &str) -> Result<Option<String>, WrongType> {
        self.read(name)
    }

    /// A number, or a text that is one: forms send texts. `None`: absent or null.
    pub fn number(&self, name: &str) -> Result<Option<f64>, WrongType> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let digits = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        match digits.parse::<f64>() {
            // `parse` also takes "inf" and "nan", which no interface means.
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(WrongType),
        }
    }

    /// `None`: absent or null.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, WrongType> {
        match self.given(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(WrongType),
        }
    }

    /// Replaces the member, or adds it at the end. `value` is one JSON text.
    pub fn set_raw(&mut self, name: &'static str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.members.iter_mut().rev().find(|(key, _)| key == name) {
            Some(member) => member.1 = value,
            None if is_plain(name) => self.members.push((Cow::Borrowed(name), value)),
            None => self.members.push((Cow::Owned(name.to_owned()), value)),
        }
    }

    pub fn set<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Stop> {
        self.set_raw(name, to_text(value)?);
        Ok(())
    }

    /// Of several of one name all.
    pub fn remove(&mut self, name: &str) {
        self.members.retain(|(key, _)| key != name);
    }

    /// Keeps its own copy of all members.
    pub fn into_owned(self) -> Object<'static> {
        let own = |(name, value): (Cow<'a, str>, Cow<'a, str>)| {
            (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned()))
        };
        Object { members: self.members.into_iter().map(own).collect() }
    }

    /// Names and values, in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

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

/// A name in quotes, as it is.
fn push_plain(text: &mut String, name: &str) {
    text.push('"');
    text.push_str(name);
    text.push('"');
}

/// Whether a name needs no escapes.
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

/// Serde gives `Cow` always owned; a name without escapes need not be copied, and is borrowed.
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
    fn nesting_is_counted_outside_of_texts_only() {
        assert!(nests_within(r#"{"a":["[[[[","\"{{{"]}"#, 2));
        assert!(!nests_within("[[[]]]", 2));
        assert!(nests_within(&"[]".repeat(10_000), 1));
        assert!(!nests_within(&"[]".repeat(10_000), 0));
    }

    #[test]
    fn a_patched_object_keeps_order_and_unknown_members() {
        let mut object = Object::parse(r#"{"speed": 3, "x":{"deep":[1, 2]},"we\"ird":null}"#).unwrap();
        object.set_raw("speed", "4");
        object.set("new", "text").unwrap();
        object.set_raw("line\n", "1");
        let expected = r#"{"speed":4,"x":{"deep":[1, 2]},"we\"ird":null,"new":"text","line\n":1}"#;
        assert_eq!(object.to_text(), expected);
        assert_eq!(object.into_owned().to_text(), expected);
    }

    #[test]
    fn a_removed_member_is_gone_however_often_it_stood() {
        let mut object = Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        object.remove("a");
        assert_eq!(object.to_text(), r#"{"b":2}"#);
    }

    #[test]
    fn an_object_of_too_many_members_is_not_read() {
        let of = |members: usize| format!("{{{}}}", vec![r#""a":1"#; members].join(","));
        assert!(Object::parse(&of(MEMBERS_MAX)).is_ok());
        assert!(Object::parse(&of(MEMBERS_MAX + 1)).unwrap_err().is_data());
    }

    #[test]
    fn the_last_of_several_members_counts() {
        assert_eq!(Object::parse(r#"{"a":1,"a":2}"#).unwrap().raw("a"), Some("2"));
    }

    #[test]
    fn a_member_that_stands_twice_is_noticed_however_it_is_written() {
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
    fn members_that_stand_twice_are_noticed_at_any_depth() {
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
    fn numbers_may_be_texts_but_not_words() {
        let object = Object::parse(r#"{"a":1.5,"b":"-2","c":"nan","d":true,"e":null}"#).unwrap();
        assert_eq!(object.number("a"), Ok(Some(1.5)));
        assert_eq!(object.number("b"), Ok(Some(-2.0)));
        assert_eq!(object.number("c"), Err(WrongType));
        assert_eq!(object.number("d"), Err(WrongType));
        assert_eq!(object.number("e"), Ok(None));
    }

    #[test]
    fn an_array_joins_texts() {
        assert_eq!(array(["1", "{}"].into_iter()), "[1,{}]");
        assert_eq!(array(std::iter::empty()), "[]");
    }
}
