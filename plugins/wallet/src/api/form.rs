//! Members of a body, by the name of the specification or the one that the real product knows them by. What has the wrong
//! type is collected, so that a caller learns all of it at once; what is unknown is left alone.
//!
//! Invariant: a member that stands there under two of its names with different values is refused, null among them. Equal values
//! are accepted: records show some members under both names, and clients send them back.

use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::words::{self, Fault};

pub struct Form<'a> {
    body: Object<'a>,
    /// Stands before the name of each field that is wrong.
    place: String,
    faults: Vec<Fault>,
}

impl<'a> Form<'a> {
    pub fn of(call: &Call<'a>) -> Result<Form<'a>, Stop> {
        Ok(Form::new(body(call)?))
    }

    pub fn new(body: Object<'a>) -> Form<'a> {
        Form { body, place: String::new(), faults: Vec::new() }
    }

    /// The first of the names that is there and not null, as JSON text.
    fn given(&self, names: &[&'static str]) -> Option<&str> {
        names.iter().find_map(|name| self.body.given(name))
    }

    /// Two of the names under which different values stand.
    fn contradiction(&self, names: &[&'static str]) -> Option<(&'static str, &'static str)> {
        let mut all = names.iter().filter_map(|name| Some((*name, self.body.raw(name)?)));
        let (first, value) = all.next()?;
        all.find(|(_, other)| *other != value).map(|(second, _)| (first, second))
    }

    /// Whether one of the names is there, be it null.
    pub fn has(&self, names: &[&'static str]) -> bool {
        names.iter().any(|name| self.body.has(name))
    }

    /// Whether one of the names is there to say that there is to be none: null, or an empty text.
    pub fn clears(&self, names: &[&'static str]) -> bool {
        names.iter().any(|name| matches!(self.body.raw(name), Some("null" | "\"\"")))
    }

    pub fn refuse(&mut self, names: &[&'static str], rule: &'static str, must: &str) {
        let name = names.first().copied().unwrap_or_default();
        self.faults.push(Fault::new(&[&self.place, name].concat(), rule, must));
    }

    fn read<T>(&mut self, names: &[&'static str], must: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        if let Some((first, second)) = self.contradiction(names) {
            self.refuse(&[first], "exclusive", &["must not differ from ", second].concat());
            return None;
        }
        let value = read(self.given(names)?);
        if value.is_none() {
            self.refuse(names, "type", must);
        }
        value
    }

    pub fn text(&mut self, names: &[&'static str]) -> Option<String> {
        self.read(names, "must be a string", |value| serde_json::from_str(value).ok())
    }

    /// Text, or a number as it was written.
    pub fn amount(&mut self, names: &[&'static str]) -> Option<String> {
        self.read(names, "must be a decimal string", |value| {
            let is_number = value.starts_with(|first: char| first.is_ascii_digit() || first == '-');
            if is_number { Some(value.to_owned()) } else { serde_json::from_str(value).ok() }
        })
    }

    pub fn flag(&mut self, names: &[&'static str]) -> Option<bool> {
        self.read(names, "must be true or false", |value| serde_json::from_str(value).ok())
    }

    /// One JSON text, without the spaces between its parts.
    pub fn metadata(&mut self) -> Option<String> {
        self.read(&["metadata"], "must be JSON that can be read everywhere", |value| {
            json::is_readable(value).then(|| compact(value))
        })
    }

    pub fn object(&mut self, names: &[&'static str]) -> Option<Form<'static>> {
        let text =
            self.read(names, "must be an object without a member twice", |value| own(value).map(|_| value.to_owned()))?;
        let members = own(&text)?;
        Some(Form {
            body: members,
            place: [self.place.as_str(), names.first().copied().unwrap_or_default(), "."].concat(),
            faults: Vec::new(),
        })
    }

    /// The texts of a list.
    pub fn texts(&mut self, names: &[&'static str]) -> Option<Vec<String>> {
        self.read(names, "must be a list of strings", |value| serde_json::from_str(value).ok())
    }

    /// The objects of a list.
    pub fn objects(&mut self, names: &[&'static str]) -> Option<Vec<Form<'static>>> {
        let items = self.read(names, "must be a list of objects without a member twice", |value| {
            let items: Vec<Box<RawValue>> = serde_json::from_str(value).ok()?;
            items.iter().map(|item| own(item.get())).collect::<Option<Vec<_>>>()
        })?;
        let name = names.first().copied().unwrap_or_default();
        let form = |(at, body)| Form { body, place: format!("{}{name}[{at}].", self.place), faults: Vec::new() };
        Some(items.into_iter().enumerate().map(form).collect())
    }

    /// Takes over what was wrong with a part of it.
    pub fn take_faults(&mut self, part: Form) {
        self.faults.extend(part.faults);
    }

    /// `Err` with all that was wrong.
    pub fn finish(self) -> Result<(), Stop> {
        if self.faults.is_empty() { Ok(()) } else { Err(words::invalid(&self.faults)) }
    }
}

/// Of the request. One who reads the first of two members and one who reads the last would not agree on what was asked for.
pub fn body<'a>(call: &Call<'a>) -> Result<Object<'a>, Stop> {
    let body = call.object()?;
    if body.is_ambiguous() { Err(words::ambiguous()) } else { Ok(body) }
}

/// An object that borrows nothing, and has no member twice.
fn own(text: &str) -> Option<Object<'static>> {
    Object::parse(text).ok().filter(|object| !object.is_ambiguous()).map(Object::into_owned)
}

/// Spaces between the parts of a JSON text say nothing.
pub fn compact(text: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    let keeps = |character: &char| {
        if in_text {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_text = false,
                _ => {}
            }
            return true;
        }
        in_text = *character == '"';
        !character.is_ascii_whitespace()
    };
    text.chars().filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compact_text_keeps_what_stands_in_texts() {
        assert_eq!(compact("{ \"a b\" : [ 1 , \" \\\" \" ] }"), "{\"a b\":[1,\" \\\" \"]}");
    }

    #[test]
    fn an_object_with_a_member_twice_is_none() {
        let mut form = Form::new(Object::parse(r#"{"a":{"b":1,"b":2},"list":[{"c":1,"c":1}]}"#).unwrap());
        assert!(form.object(&["a"]).is_none() && form.objects(&["list"]).is_none());
        assert_eq!(form.faults.len(), 2);
    }

    #[test]
    fn two_names_of_a_member_must_not_have_different_values() {
        for (body, expected) in [
            (r#"{"a":"x"}"#, Ok(Some("x"))),
            (r#"{"b":"x"}"#, Ok(Some("x"))),
            (r#"{"a":"x","b":"x"}"#, Ok(Some("x"))),
            (r#"{"a":null,"c":null}"#, Ok(None)),
            (r#"{"a":"x","b":"y"}"#, Err("a must not differ from b")),
            (r#"{"b":"x","c":"y"}"#, Err("b must not differ from c")),
            (r#"{"a":"x","b":"x","c":"y"}"#, Err("a must not differ from c")),
            (r#"{"a":"x","b":null}"#, Err("a must not differ from b")),
            (r#"{"a":"1","b":1}"#, Err("a must not differ from b")),
        ] {
            let mut form = Form::new(Object::parse(body).unwrap());
            let read = form.text(&["a", "b", "c"]);
            let faults: Vec<&str> = form.faults.iter().map(|fault| fault.message.as_str()).collect();
            match expected {
                Ok(value) => assert_eq!((read.as_deref(), faults), (value, Vec::new()), "{body}"),
                Err(message) => assert_eq!((read.as_deref(), faults), (None, vec![message]), "{body}"),
            }
        }
    }

    #[test]
    fn a_wrong_type_is_told_with_its_place() {
        let mut form = Form::new(Object::parse(r#"{"a":1,"list":[{"b":true}],"n":1.50}"#).unwrap());
        assert_eq!(form.text(&["a"]), None);
        assert_eq!(form.amount(&["n"]).as_deref(), Some("1.50"));
        let mut parts = form.objects(&["list"]).unwrap();
        assert_eq!(parts[0].text(&["b", "c"]), None);
        form.take_faults(parts.remove(0));
        let fields: Vec<&str> = form.faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, ["a", "list[0].b"]);
    }
}
