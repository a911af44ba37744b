//! One table of plugins.toml while it is read: each `take_*` names a key, `finish` complains about those nobody named.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{
    keys::{Number, Word},
    mistakes::{Mistakes, suggest},
};

/// A value and where it stands.
pub struct Placed<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub struct Section<'a> {
    /// "plugins.notes.limits"; empty at the top.
    place: String,
    table: Option<&'a DeTable<'a>>,
    /// Of the table itself, for keys that are missing.
    span: Range<usize>,
    known: Vec<&'static str>,
    mistakes: &'a Mistakes<'a>,
}

impl<'a> Section<'a> {
    pub fn top(table: &'a DeTable<'a>, mistakes: &'a Mistakes<'a>) -> Section<'a> {
        Section { place: String::new(), table: Some(table), span: 0..0, known: Vec::new(), mistakes }
    }

    /// "plugins.notes.mount" for "mount".
    pub fn path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    pub fn mistakes(&self) -> &'a Mistakes<'a> {
        self.mistakes
    }

    pub fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// The table under `key`; empty where there is none.
    pub fn take_table(&mut self, key: &'static str) -> Section<'a> {
        let path = self.path(key);
        match self.take(key) {
            Some(found) => self.section(path, found.value, found.span),
            None => Section {
                place: path,
                table: None,
                span: self.span.clone(),
                known: Vec::new(),
                mistakes: self.mistakes,
            },
        }
    }

    /// All tables in this one, whatever their names are.
    pub fn into_tables(self) -> Vec<(&'a str, Range<usize>, Section<'a>)> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        entries
            .map(|(key, value)| {
                let name: &'a str = key.get_ref();
                (name, key.span(), self.section(self.path(name), value.get_ref(), value.span()))
            })
            .collect()
    }

    /// All values in this one, whatever their names are.
    pub fn into_values(self) -> Vec<(&'a str, Placed<&'a DeValue<'a>>)> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        entries.map(|(key, value)| (&**key.get_ref(), Placed { value: value.get_ref(), span: value.span() })).collect()
    }

    pub fn take_number(&mut self, key: &Number) -> Option<u64> {
        self.take_number_or(key, &format!("{} is the default", key.default))
    }

    /// The same where the default is not the key's own; `default` describes it.
    pub fn take_number_or(&mut self, key: &Number, default: &str) -> Option<u64> {
        let found = self.take(key.name)?;
        let number =
            found.value.as_integer().and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
        match number {
            Some(number) if (key.min..=key.max).contains(&number) => Some(number),
            _ => {
                let path = self.path(key.name);
                self.mistakes.at(
                    &found.span,
                    format!(
                        "`{path}` must be a whole number from {} to {} ({}); {default}.",
                        key.min, key.max, key.what
                    ),
                );
                None
            }
        }
    }

    /// The number, or its default.
    pub fn number(&mut self, key: &Number) -> u64 {
        self.take_number(key).unwrap_or(key.default)
    }

    pub fn take_text(&mut self, key: &Word) -> Option<Placed<String>> {
        let found = self.take(key.name)?;
        match found.value.as_str() {
            Some(text) => Some(Placed { value: text.to_owned(), span: found.span }),
            None => {
                self.must_be(key, "a text in quotes", &found);
                None
            }
        }
    }

    pub fn take_truth(&mut self, key: &Word) -> Option<bool> {
        let found = self.take(key.name)?;
        let truth = found.value.as_bool();
        if truth.is_none() {
            self.must_be(key, "true or false", &found);
        }
        truth
    }

    /// A list of texts; empty where there is none.
    pub fn take_texts(&mut self, key: &Word) -> Vec<Placed<String>> {
        let Some(found) = self.take(key.name) else { return Vec::new() };
        let texts = found.value.as_array().and_then(|items| {
            let placed =
                items.iter().map(|item| Some(Placed { value: item.get_ref().as_str()?.to_owned(), span: item.span() }));
            placed.collect::<Option<Vec<_>>>()
        });
        texts.unwrap_or_else(|| {
            self.must_be(key, "a list of texts, such as [\"a\", \"b\"]", &found);
            Vec::new()
        })
    }

    /// A list of whole numbers.
    pub fn take_numbers(&mut self, key: &Word) -> Option<Placed<Vec<u64>>> {
        let found = self.take(key.name)?;
        let number = |item: &toml::Spanned<DeValue<'_>>| {
            item.get_ref().as_integer().and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok())
        };
        let wanted = "a list of whole numbers, such as [1000, 2000]";
        let Some(items) = found.value.as_array() else {
            self.must_be(key, wanted, &found);
            return None;
        };
        let value: Vec<u64> = items.iter().map_while(number).collect();
        let Some(wrong) = items.get(value.len()) else { return Some(Placed { value, span: found.span }) };
        let (path, member) = (self.path(key.name), value.len().saturating_add(1));
        let is = match wrong.get_ref() {
            DeValue::Integer(integer) => integer.to_string(),
            other => describe(other).to_owned(),
        };
        let text = format!("`{path}` must be {wanted} ({}), and member {member} is {is}.", key.what);
        self.mistakes.at(&wrong.span(), text);
        None
    }

    /// Complains about every key that was not taken.
    pub fn finish(self) {
        for (key, _) in self.table.into_iter().flat_map(|table| table.iter()) {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let hint = suggest(name, &self.known);
                self.mistakes.at(&key.span(), format!("`{}` is not a key that Tenon knows.{hint}", self.path(name)));
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Placed<&'a DeValue<'a>>> {
        self.known.push(key);
        let value = self.table?.get(key)?;
        Some(Placed { value: value.get_ref(), span: value.span() })
    }

    fn section(&self, place: String, value: &'a DeValue<'a>, span: Range<usize>) -> Section<'a> {
        let table = value.as_table();
        if table.is_none() {
            self.mistakes.at(&span, format!("`{place}` must be a section, [{place}], and is {}.", describe(value)));
        }
        Section { place, table, span, known: Vec::new(), mistakes: self.mistakes }
    }

    fn must_be(&self, key: &Word, wanted: &str, found: &Placed<&DeValue<'_>>) {
        let (path, is) = (self.path(key.name), describe(found.value));
        self.mistakes.at(&found.span, format!("`{path}` must be {wanted} ({}), and is {is}.", key.what));
    }
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}
