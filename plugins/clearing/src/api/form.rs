//! The fields of a body that is no message of the specification, read one by one: what is wrong is collected, so that a
//! caller learns all of it at once.

use serde_json::value::RawValue;
use tenon_plugin::Stop;
use tenon_plugin::json::Object;

use crate::words;

pub struct Form<'a> {
    body: Object<'a>,
    /// Stands before the name of each field that is wrong.
    place: String,
    faults: Vec<String>,
}

impl<'a> Form<'a> {
    pub fn new(body: Object<'a>) -> Form<'a> {
        Form { body, place: String::new(), faults: Vec::new() }
    }

    /// One of several in a body: "accounts[3].".
    pub fn at(body: Object<'a>, place: String) -> Form<'a> {
        Form { body, place, faults: Vec::new() }
    }

    /// Whether the field is there, be it null.
    pub fn has(&self, field: &str) -> bool {
        self.body.has(field)
    }

    pub fn refuse(&mut self, field: &str, must: &str) {
        self.faults.push([&self.place, words::sentence(field, must).as_str()].concat());
    }

    pub fn refuse_all(&mut self, sentences: impl IntoIterator<Item = String>) {
        self.faults.extend(sentences);
    }

    /// A string of one line. Null is refused.
    pub fn text(&mut self, field: &str, characters_max: usize) -> Option<String> {
        if self.refuse_null(field) { None } else { self.nullable_text(field, characters_max) }
    }

    /// A string of one line. `None`: absent or null.
    pub fn nullable_text(&mut self, field: &str, characters_max: usize) -> Option<String> {
        let Ok(text) = self.body.text(field) else {
            self.refuse(field, "must be a text");
            return None;
        };
        self.line(field, text?, characters_max)
    }

    pub fn required_text(&mut self, field: &str, characters_max: usize) -> String {
        if self.body.given(field).is_none() {
            self.refuse(field, "is required");
        }
        self.nullable_text(field, characters_max).unwrap_or_default()
    }

    /// False where it is absent. Null is refused.
    pub fn boolean(&mut self, field: &str) -> bool {
        if self.refuse_null(field) {
            return false;
        }
        let Ok(value) = self.body.boolean(field) else {
            self.refuse(field, "must be true or false");
            return false;
        };
        value.unwrap_or_default()
    }

    /// A list of strings of one line, each of them once. `None`: absent. Null is refused.
    pub fn texts(&mut self, field: &str, (texts_max, characters_max): (usize, usize)) -> Option<Vec<String>> {
        if self.refuse_null(field) {
            return None;
        }
        let Ok(texts) = self.body.read::<Vec<String>>(field) else {
            self.refuse(field, "must be a list of texts");
            return None;
        };
        let mut texts = texts?;
        texts.sort();
        texts.dedup();
        if texts.len() > texts_max {
            self.refuse(field, &["may have at most ", &texts_max.to_string(), " members"].concat());
            return None;
        }
        texts.into_iter().map(|text| self.line(field, text, characters_max)).collect()
    }

    /// A number, in the digits that it came in. `None`: absent or null.
    pub fn digits(&mut self, field: &str) -> Option<Box<RawValue>> {
        let given = self.body.given(field)?;
        let number = given.starts_with(|first: char| first.is_ascii_digit());
        let digits = number.then(|| RawValue::from_string(given.to_owned()).ok()).flatten();
        if digits.is_none() {
            self.refuse(field, "must be a number that is not below zero");
        }
        digits
    }

    /// `Err` with all that was wrong.
    pub fn finish(self) -> Result<(), Stop> {
        if self.faults.is_empty() { Ok(()) } else { Err(words::unprocessable(self.faults)) }
    }

    /// All that was wrong.
    pub fn into_faults(self) -> Vec<String> {
        self.faults
    }

    fn refuse_null(&mut self, field: &str) -> bool {
        let is_null = self.body.has(field) && self.body.given(field).is_none();
        if is_null {
            self.refuse(field, "must not be null");
        }
        is_null
    }

    fn line(&mut self, field: &str, text: String, characters_max: usize) -> Option<String> {
        if text.trim().is_empty() {
            self.refuse(field, "must not be blank");
        } else if text.chars().count() > characters_max {
            self.refuse(field, &["may have at most ", &characters_max.to_string(), " characters"].concat());
        } else if text.chars().any(char::is_control) {
            self.refuse(field, "must not contain control characters");
        } else {
            return Some(text);
        }
        None
    }
}
