//! The fields of a body, read one by one: what is wrong is collected, so that a caller learns all of it at once.

use tenon_plugin::json::{self, Object, WrongType};
use tenon_plugin::{Stop, time};

use super::errors;
use crate::rules::invalid::Invalid;
use crate::rules::text;

/// A free-form object, as JSON text: enough for a caller's own marks, no place for files.
const OBJECT_BYTES_MAX: usize = 64 << 10;

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

    /// A text of one line.
    pub fn text(&mut self, field: &'static str, characters_max: usize) -> Option<String> {
        let text = self.note(self.body.text(field), field, "a text")?;
        self.keep(text::check_line(field, &text, characters_max));
        Some(text)
    }

    pub fn lines(&mut self, field: &'static str, characters_max: usize) -> Option<String> {
        let text = self.note(self.body.text(field), field, "a text")?;
        self.keep(text::check_lines(field, &text, characters_max));
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

    /// The JSON text of an object, which is stored and shown as it came; an empty list counts as an empty object, as some
    /// clients write it.
    pub fn object(&mut self, field: &'static str) -> Option<String> {
        let text = self.body.given(field)?.to_owned();
        if text == "[]" {
            return Some("{}".to_owned());
        }
        if !text.starts_with('{') {
            self.refuse(Invalid::Not { field, kind: "an object" });
        } else if text.len() > OBJECT_BYTES_MAX {
            self.refuse(Invalid::ObjectTooLarge { field, bytes_max: OBJECT_BYTES_MAX });
        } else if !json::is_readable(&text) {
            self.refuse(Invalid::Not { field, kind: "an object of Unicode texts and finite numbers" });
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
