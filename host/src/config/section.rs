//! A table of plugins.toml while it is read. Each `take_*` takes one key, and `finish` reports the keys that were
//! not taken.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{
    keys::{ConfigKey, NumberKey},
    mistakes::{Mistakes, suggest},
};

/// A value and its location in the file.
pub struct Located<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub struct Section<'a> {
    /// "plugins.notes.limits". Empty at the top level.
    prefix: String,
    table: Option<&'a DeTable<'a>>,
    /// Location of the table itself, used to report missing keys.
    span: Range<usize>,
    known: Vec<&'static str>,
    mistakes: &'a Mistakes<'a>,
}

impl<'a> Section<'a> {
    pub fn top(table: &'a DeTable<'a>, mistakes: &'a Mistakes<'a>) -> Section<'a> {
        Section { prefix: String::new(), table: Some(table), span: 0..0, known: Vec::new(), mistakes }
    }

    /// Returns the full path of a key: "plugins.notes.mount" for "mount".
    pub fn path(&self, key: &str) -> String {
        if self.prefix.is_empty() { key.to_owned() } else { format!("{}.{key}", self.prefix) }
    }

    pub fn mistakes(&self) -> &'a Mistakes<'a> {
        self.mistakes
    }

    pub fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// Takes the table `key`. Returns an empty section if the key is absent.
    pub fn take_table(&mut self, key: &'static str) -> Section<'a> {
        let path = self.path(key);
        match self.take(key) {
            Some(found) => self.section(path, found.value, found.span),
            None => Section {
                prefix: path,
                table: None,
                span: self.span.clone(),
                known: Vec::new(),
                mistakes: self.mistakes,
            },
        }
    }

    /// Returns all tables in this table with their names.
    pub fn into_tables(self) -> Vec<(&'a str, Range<usize>, Section<'a>)> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        entries
            .map(|(key, value)| {
                let name: &'a str = key.get_ref();
                (name, key.span(), self.section(self.path(name), value.get_ref(), value.span()))
            })
            .collect()
    }

    /// Returns all values in this table with their names.
    pub fn into_values(self) -> Vec<(&'a str, Located<&'a DeValue<'a>>)> {
        let entries = self.table.into_iter().flat_map(|table| table.iter());
        entries.map(|(key, value)| (&**key.get_ref(), Located { value: value.get_ref(), span: value.span() })).collect()
    }

    pub fn take_number(&mut self, key: &NumberKey) -> Option<u64> {
        self.take_number_or(key, &format!("{} is the default", key.default))
    }

    /// Takes a number whose default differs from that of the key. `default` describes it for a mistake.
    pub fn take_number_or(&mut self, key: &NumberKey, default: &str) -> Option<u64> {
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
                        key.min, key.max, key.description
                    ),
                );
                None
            }
        }
    }

    /// Takes a number. Returns the default if the key is absent or its value is not valid.
    pub fn number(&mut self, key: &NumberKey) -> u64 {
        self.take_number(key).unwrap_or(key.default)
    }

    pub fn take_string(&mut self, key: &ConfigKey) -> Option<Located<String>> {
        let found = self.take(key.name)?;
        match found.value.as_str() {
            Some(text) => Some(Located { value: text.to_owned(), span: found.span }),
            None => {
                self.report_type(key, "a string in quotes", &found);
                None
            }
        }
    }

    pub fn take_bool(&mut self, key: &ConfigKey) -> Option<bool> {
        let found = self.take(key.name)?;
        let value = found.value.as_bool();
        if value.is_none() {
            self.report_type(key, "true or false", &found);
        }
        value
    }

    /// Takes a list of strings. Returns an empty list if the key is absent or its value is not a list of strings.
    pub fn take_strings(&mut self, key: &ConfigKey) -> Vec<Located<String>> {
        let Some(found) = self.take(key.name) else { return Vec::new() };
        let strings = found.value.as_array().and_then(|items| {
            let located = items
                .iter()
                .map(|item| Some(Located { value: item.get_ref().as_str()?.to_owned(), span: item.span() }));
            located.collect::<Option<Vec<_>>>()
        });
        strings.unwrap_or_else(|| {
            self.report_type(key, "a list of strings, such as [\"a\", \"b\"]", &found);
            Vec::new()
        })
    }

    /// Takes a list of whole numbers.
    pub fn take_numbers(&mut self, key: &ConfigKey) -> Option<Located<Vec<u64>>> {
        let found = self.take(key.name)?;
        let number = |item: &toml::Spanned<DeValue<'_>>| {
            item.get_ref().as_integer().and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok())
        };
        let expected = "a list of whole numbers, such as [1000, 2000]";
        let Some(items) = found.value.as_array() else {
            self.report_type(key, expected, &found);
            return None;
        };
        let value: Vec<u64> = items.iter().map_while(number).collect();
        let Some(wrong) = items.get(value.len()) else { return Some(Located { value, span: found.span }) };
        let (path, member) = (self.path(key.name), value.len().saturating_add(1));
        let is = match wrong.get_ref() {
            DeValue::Integer(integer) => integer.to_string(),
            other => describe(other).to_owned(),
        };
        let text = format!("`{path}` must be {expected} ({}), and member {member} is {is}.", key.description);
        self.mistakes.at(&wrong.span(), text);
        None
    }

    /// Reports every key that was not taken.
    pub fn finish(self) {
        for (key, _) in self.table.into_iter().flat_map(|table| table.iter()) {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let hint = suggest(name, &self.known);
                self.mistakes.at(&key.span(), format!("`{}` is not a known key.{hint}", self.path(name)));
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Located<&'a DeValue<'a>>> {
        self.known.push(key);
        let value = self.table?.get(key)?;
        Some(Located { value: value.get_ref(), span: value.span() })
    }

    fn section(&self, prefix: String, value: &'a DeValue<'a>, span: Range<usize>) -> Section<'a> {
        let table = value.as_table();
        if table.is_none() {
            self.mistakes.at(&span, format!("`{prefix}` must be a table, [{prefix}], and is {}.", describe(value)));
        }
        Section { prefix, table, span, known: Vec::new(), mistakes: self.mistakes }
    }

    fn report_type(&self, key: &ConfigKey, expected: &str, found: &Located<&DeValue<'_>>) {
        let (path, is) = (self.path(key.name), describe(found.value));
        self.mistakes.at(&found.span, format!("`{path}` must be {expected} ({}), and is {is}.", key.description));
    }
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
