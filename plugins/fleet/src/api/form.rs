//! The fields of a body, read one by one: what is wrong is collected, so that a caller learns all of it at once.

use tenon_plugin::json::{Object, WrongType};
use tenon_plugin::{Stop, time};

use super::errors;
use crate::rules::invalid::Invalid;

pub struct Form<'a> {
    body: Object<'a>,
    faults: Vec<Invalid>,
}

impl<'a> Form<'a> {
    pub fn new(body: Object<'a>) -> Form<'a> {
        Form { body, faults: Vec::new() }
    }

    /// Whether the field is there, be it null.
    pub fn has(&self, field: &str) -> bool {
        self.body.has(field)
    }

    /// The JSON text of the field, unless it is absent or null.
    pub fn given(&self, field: &str) -> Option<&str> {
        self.body.given(field)
    }

    pub fn text(&mut self, field: &'static str, characters_max: usize) -> Option<String> {
        let text = self.note(self.body.text(field), field, "a text")?;
        // NUL would not survive in every database's index.
        if text.contains('\0') {
            self.refuse(Invalid::Not { field, kind: "a text without NUL" });
        }
        if text.chars().nth(characters_max).is_some() {
            self.refuse(Invalid::TooLong { field, characters_max });
        }
        Some(text)
    }

    pub fn number(&mut self, field: &'static str) -> Option<f64> {
        self.note(self.body.number(field), field, "a number")
    }

    pub fn boolean(&mut self, field: &'static str) -> Option<bool> {
        self.note(self.body.boolean(field), field, "true or false")
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn date(&mut self, field: &'static str) -> Option<u64> {
        let text = self.note(self.body.text(field), field, "a date")?;
        self.note(time::parse(&text).ok_or(WrongType).map(Some), field, "a date")
    }

    /// The JSON text of an object; an empty list counts as an empty object, as some clients write it.
    pub fn object(&mut self, field: &'static str) -> Option<String> {
        let text = self.body.given(field)?.to_owned();
        match text.as_str() {
            text if text.starts_with('{') => {}
            "[]" => return Some("{}".to_owned()),
            _ => self.refuse(Invalid::Not { field, kind: "an object" }),
        }
        Some(text)
    }

    /// Fields that this version does not carry: told, not ignored. `null`, `false` and an empty list ask for nothing.
    pub fn not_supported(&mut self, fields: &[&'static str]) {
        for field in fields {
            if !matches!(self.given(field), None | Some("false") | Some("[]")) {
                self.refuse(Invalid::NotSupported(field));
            }
        }
    }

    pub fn refuse(&mut self, fault: Invalid) {
        self.faults.push(fault);
    }

    pub fn refuse_all(&mut self, faults: impl IntoIterator<Item = Invalid>) {
        self.faults.extend(faults);
    }

    /// Keeps what is right, notes what is wrong.
    pub fn keep<T>(&mut self, outcome: Result<T, Invalid>) -> Option<T> {
        outcome.map_err(|fault| self.refuse(fault)).ok()
    }

    /// `Err` with all that was wrong.
    pub fn finish(self) -> Result<(), Stop> {
        if self.faults.is_empty() { Ok(()) } else { Err(errors::invalid(&self.faults)) }
    }

    fn note<T>(&mut self, outcome: Result<Option<T>, WrongType>, field: &'static str, kind: &'static str) -> Option<T> {
        outcome.unwrap_or_else(|WrongType| {
            self.refuse(Invalid::Not { field, kind });
            None
        })
    }
}
