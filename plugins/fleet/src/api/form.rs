//! The fields of a body, read one by one: what is wrong is collected, so that a caller learns all of it at once, and what
//! nobody read is told (`unknown`).

use std::cell::RefCell;

use serde_json::value::RawValue;
use tenon_plugin::json::{Object, TypeMismatch};
use tenon_plugin::{Call, Stop, time};

use super::unknown::{Unknown, is_strict};
use super::{errors, free};
use crate::rules::change::Change;
use crate::rules::invalid::{Invalid, joined};
use crate::rules::text;

/// A free-form object, as JSON text: enough for a caller's own marks, no place for files.
pub const OBJECT_BYTES_MAX: usize = 64 << 10;

/// The object at this path of a body, for who reads it without a form: not one that has a member twice. `kind`: what else is
/// told that it must be.
pub fn object_at<'a>(path: &str, text: &'a str, kind: &'static str) -> Result<Object<'a>, Invalid> {
    let object = Object::parse(text).map_err(|_| Invalid::Not { field: "", kind }.within(path))?;
    if object.is_ambiguous() { Err(Invalid::Ambiguous.within(path)) } else { Ok(object) }
}

pub struct Form<'a> {
    body: Object<'a>,
    faults: Vec<Invalid>,
    /// Names of fields that somebody asked for.
    known: RefCell<Vec<&'static str>>,
    /// Of objects within.
    unknown_within: RefCell<Unknown>,
    strict: bool,
    /// Where the object stands in the body.
    path: String,
    /// Fields of several names, and the one that was sent.
    sent_as: Vec<(&'static str, &'static str)>,
}

impl<'a> Form<'a> {
    /// An object within a body, at this path: its unknown fields are told, never refused.
    pub fn within(path: &str, body: Object<'a>) -> Form<'a> {
        Form {
            faults: body.is_ambiguous().then_some(Invalid::Ambiguous).into_iter().collect(),
            body,
            known: RefCell::default(),
            unknown_within: RefCell::default(),
            strict: false,
            path: path.to_owned(),
            sent_as: Vec::new(),
        }
    }

    /// The body of a call; a strict caller is refused for unknown fields. PUT and PATCH without a body are malformed; a POST without
    /// one lacks its required fields.
    pub fn of(call: &Call<'a>) -> Result<Form<'a>, Stop> {
        match call.request().method.as_str() {
            "PUT" | "PATCH" => Ok(Form { strict: is_strict(call), ..Form::within("", call.required_object()?) }),
            _ => Form::of_optional(call),
        }
    }

    /// The same of an action whose body may be left out.
    pub fn of_optional(call: &Call<'a>) -> Result<Form<'a>, Stop> {
        Ok(Form { strict: is_strict(call), ..Form::within("", call.object()?) })
    }

    /// The path of a field, from the body on.
    pub fn path_of(&self, field: &str) -> String {
        joined(&self.path, field)
    }

    /// A fault that is not collected, as the caller is told.
    pub fn fault(&self, fault: Invalid) -> Invalid {
        fault.within(&self.path)
    }

    /// A field of several names: the first of them that says something, or is there. What is wrong with `name` is told by it.
    pub fn called(&mut self, name: &'static str, others: &[&'static str]) -> &'static str {
        self.note_known(name);
        self.pass_over(others);
        let names = || std::iter::once(&name).chain(others);
        let found = names().find(|name| self.body.given(name).is_some());
        let sent = *found.or_else(|| names().find(|name| self.body.has(name))).unwrap_or(&name);
        if sent != name {
            self.sent_as.push((name, sent));
        }
        sent
    }

    /// Whether the field is there, be it null.
    pub fn has(&self, field: &'static str) -> bool {
        self.note_known(field);
        self.body.has(field)
    }

    /// The JSON text of the field, unless it is absent or null.
    pub fn given(&self, field: &'static str) -> Option<&str> {
        self.note_known(field);
        self.body.given(field)
    }

    /// Fields that clients send back as they have read them, and that nothing is done with.
    pub fn pass_over(&self, fields: &[&'static str]) {
        self.known.borrow_mut().extend(fields);
    }

    /// Looks for names that nobody reads in the object of this field, or in the objects of its list. `known`: what its
    /// reader asks for, and what clients send back.
    pub fn look_into(&self, field: &'static str, known: &[&[&str]]) {
        let is_known = |name: &str| known.iter().any(|names| names.contains(&name));
        let value = self.given(field).unwrap_or_default();
        let listed: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
        for text in listed.iter().map(|item| item.get()).chain([value]) {
            let object = Object::parse(text).unwrap_or_default();
            let unknown = Unknown::of(object.members().map(|(name, _)| name).filter(|name| !is_known(name)));
            let all = self.unknown_within.take().and(unknown.within(field));
            *self.unknown_within.borrow_mut() = all;
        }
    }

    /// What `read` makes of several fields together.
    pub fn reading<T>(&self, fields: &[&'static str], read: impl FnOnce(&Object<'a>) -> T) -> T {
        self.pass_over(fields);
        read(&self.body)
    }

    /// A text of one line.
    pub fn text(&mut self, field: &'static str, characters_max: usize) -> Option<String> {
        self.note_known(field);
        let text = self.note(self.body.text(field), field, "a text")?;
        self.keep(text::check_line(field, &text, characters_max));
        Some(text)
    }

    pub fn lines(&mut self, field: &'static str, characters_max: usize) -> Option<String> {
        self.note_known(field);
        let text = self.note(self.body.text(field), field, "a text")?;
        self.keep(text::check_lines(field, &text, characters_max));
        Some(text)
    }

    pub fn number(&mut self, field: &'static str) -> Option<f64> {
        self.note_known(field);
        self.note(self.body.number(field), field, "a number")
    }

    pub fn boolean(&mut self, field: &'static str) -> Option<bool> {
        self.note_known(field);
        self.note(self.body.boolean(field), field, "true or false")
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn date(&mut self, field: &'static str) -> Option<u64> {
        self.note_known(field);
        let text = self.note(self.body.text(field), field, "a date")?;
        self.note(time::parse(&text).ok_or(TypeMismatch).map(Some), field, "a date")
    }

    /// An id, or the resource itself, as it was read.
    pub fn reference(&mut self, field: &'static str) -> Change<String> {
        let Some(value) = self.given(field).filter(|value| value.starts_with('{')) else {
            return self.text_change(field);
        };
        const KIND: &str = "an id";
        let id = object_at(field, value, KIND).and_then(|object| {
            let id = object.text("id").ok().flatten().filter(|id| !id.is_empty());
            id.ok_or(Invalid::Not { field, kind: KIND })
        });
        self.keep(id).map_or(Change::Absent, Change::To)
    }

    /// The JSON text of an object, which is stored and shown as it came; an empty list counts as an empty object, as some
    /// clients write it.
    pub fn object(&mut self, field: &'static str) -> Option<String> {
        let text = self.given(field)?.to_owned();
        if text == "[]" {
            return Some("{}".to_owned());
        }
        self.keep(free::check_object(field, &text, OBJECT_BYTES_MAX));
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

    /// A free-form object where it changes: one that is null is empty. `None`: it stays.
    pub fn object_change(&mut self, field: &'static str) -> Option<String> {
        self.has(field).then(|| self.object(field).unwrap_or_else(|| "{}".to_owned()))
    }

    /// What is said of a text: its bounds are looked at by the rules of its resource.
    pub fn text_change(&mut self, field: &'static str) -> Change<String> {
        self.change(field, |body| body.text(field), "a text")
    }

    /// What is said of a text; a number counts as the text that it is written as. For amounts, which nobody reckons with.
    pub fn written_change(&mut self, field: &'static str) -> Change<String> {
        let read = |body: &Object| match body.number(field) {
            Ok(Some(_)) => Ok(body.given(field).map(|text| text.trim_matches('"').to_owned())),
            _ => body.text(field),
        };
        self.change(field, read, "a text or a number")
    }

    pub fn number_change(&mut self, field: &'static str) -> Change<f64> {
        self.change(field, |body| body.number(field), "a number")
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn date_change(&mut self, field: &'static str) -> Change<u64> {
        let read = |body: &Object| match body.text(field)? {
            Some(text) => time::parse(&text).ok_or(TypeMismatch).map(Some),
            None => Ok(None),
        };
        self.change(field, read, "a date")
    }

    fn change<T>(
        &mut self,
        field: &'static str,
        read: impl Fn(&Object) -> Result<Option<T>, TypeMismatch>,
        kind: &'static str,
    ) -> Change<T> {
        if !self.has(field) {
            return Change::Absent;
        }
        match read(&self.body) {
            Ok(Some(value)) => Change::To(value),
            Ok(None) => Change::Cleared,
            Err(TypeMismatch) => {
                self.refuse(Invalid::Not { field, kind });
                Change::Absent
            }
        }
    }

    /// What the rules made of the fields, together with what nobody read; `Err` with all that was wrong, here and there.
    pub fn settle<T>(mut self, outcome: Result<T, Vec<Invalid>>) -> Result<(T, Unknown), Stop> {
        match outcome {
            Ok(value) => Ok((value, self.finish()?)),
            Err(faults) => {
                self.refuse_all(faults);
                // What the rules refuse is at least one fault.
                Err(self.into_refusal())
            }
        }
    }

    /// `Err` with all that was wrong.
    pub fn finish(mut self) -> Result<Unknown, Stop> {
        let unknown = self.unknown().and(self.unknown_within.take());
        if self.strict && !unknown.is_empty() {
            self.refuse(Invalid::Unknown { what: "fields", names: unknown.listed() });
        }
        if self.faults.is_empty() { Ok(unknown) } else { Err(self.into_refusal()) }
    }

    fn into_refusal(self) -> Stop {
        let as_sent = |fault: Invalid| self.sent_as.iter().fold(fault, |fault, (name, sent)| fault.renamed(name, sent));
        let mut faults: Vec<Invalid> = self.faults.into_iter().map(as_sent).collect();
        let mistyped = |fault: &Invalid| if let Invalid::Not { field, .. } = fault { Some(*field) } else { None };
        let mistyped: Vec<&str> = faults.iter().filter_map(mistyped).collect();
        // What is of a wrong type was there, although the rules have missed it.
        faults.retain(|fault| match fault {
            Invalid::Required(field) | Invalid::RequiredWith { field, .. } => !mistyped.contains(field),
            _ => true,
        });
        let told: Vec<Invalid> = faults.into_iter().map(|fault| fault.within(&self.path)).collect();
        errors::invalid(&told)
    }

    fn unknown(&self) -> Unknown {
        let known = self.known.borrow();
        Unknown::of(self.body.members().map(|(name, _)| name).filter(|name| !known.iter().any(|known| known == name)))
    }

    fn note_known(&self, field: &'static str) {
        self.known.borrow_mut().push(field);
    }

    fn note<T>(
        &mut self,
        outcome: Result<Option<T>, TypeMismatch>,
        field: &'static str,
        kind: &'static str,
    ) -> Option<T> {
        outcome.unwrap_or_else(|TypeMismatch| {
            self.refuse(Invalid::Not { field, kind });
            None
        })
    }
}
