//! Mistakes of a configuration. All mistakes are reported at once, each with its line and a remedy.

use std::{cell::RefCell, fmt, ops::Range, path::PathBuf};

/// Severity of a mistake. The host starts in spite of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is rejected.
    Error,
    /// The host starts and logs the warning.
    Warning,
}

/// A mistake to correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub severity: Severity,
    /// Line number, from 1. `None` if the mistake is not on a line of the file.
    pub line: Option<usize>,
    /// A sentence with the key, what is wrong, and the requirement.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "line {line}: {}", self.text),
            None => out.write_str(&self.text),
        }
    }
}

impl Mistake {
    /// Creates an error that is not on a line of the file.
    pub fn unlocated(text: String) -> Mistake {
        Mistake { severity: Severity::Error, line: None, text }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The mistakes of a rejected configuration: at least one error, and all warnings.
#[derive(Clone, Debug, thiserror::Error)]
pub struct ConfigError {
    pub file: PathBuf,
    pub mistakes: Vec<Mistake>,
}

impl ConfigError {
    pub fn errors(&self) -> impl Iterator<Item = &Mistake> {
        self.mistakes.iter().filter(|mistake| mistake.is_error())
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Mistake> {
        self.mistakes.iter().filter(|mistake| !mistake.is_error())
    }

    /// Returns one line for each error.
    pub fn lines(&self) -> Vec<String> {
        self.errors().map(Mistake::to_string).collect()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors().count();
        write!(
            out,
            "{count} mistake{} in the configuration ({}):",
            if count == 1 { "" } else { "s" },
            self.file.display()
        )?;
        self.errors().try_for_each(|mistake| write!(out, "\n  {mistake}"))?;
        self.warnings().try_for_each(|mistake| write!(out, "\n  warning: {mistake}"))
    }
}

/// Collects mistakes while the file is read.
pub struct Mistakes<'a> {
    source: &'a str,
    found: RefCell<Vec<Mistake>>,
}

impl<'a> Mistakes<'a> {
    pub fn new(source: &'a str) -> Mistakes<'a> {
        Mistakes { source, found: RefCell::new(Vec::new()) }
    }

    /// Reports an error at these bytes of the file.
    pub fn at(&self, span: &Range<usize>, text: impl Into<String>) {
        self.report(Severity::Error, Some(span), text.into());
    }

    /// Reports a warning at these bytes of the file.
    pub fn warn_at(&self, span: &Range<usize>, text: impl Into<String>) {
        self.report(Severity::Warning, Some(span), text.into());
    }

    /// Reports a warning about the configuration as a whole.
    pub fn warn(&self, text: impl Into<String>) {
        self.report(Severity::Warning, None, text.into());
    }

    /// Reports an error in a flag, in a variable, or in the configuration as a whole.
    pub fn unlocated(&self, text: impl Into<String>) {
        self.report(Severity::Error, None, text.into());
    }

    fn report(&self, severity: Severity, span: Option<&Range<usize>>, text: String) {
        let line = span.map(|span| {
            let before = self.source.as_bytes().get(..span.start).unwrap_or_default();
            1 + before.iter().filter(|byte| **byte == b'\n').count()
        });
        self.found.borrow_mut().push(Mistake { severity, line, text });
    }

    /// Returns the mistakes sorted by line. Those without a line come last.
    pub fn into_sorted(self) -> Vec<Mistake> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        found
    }
}

/// Returns " Did you mean `…`?", or the list of known names. A name with the same first word counts as similar:
/// "memory-mb".
pub fn suggest(wrong: &str, known: &[&str]) -> String {
    let first_word = |name: &str| name.split(['-', '_']).next().unwrap_or_default().to_owned();
    let is_different = |name: &str| {
        first_word(name) != first_word(wrong) && distance(wrong, name) > (wrong.chars().count() / 3).max(2)
    };
    let similar = known.iter().filter(|name| !is_different(name));
    match similar.min_by_key(|name| distance(wrong, name)) {
        Some(name) => format!(" Did you mean `{name}`?"),
        None => format!(" There are: {}.", known.join(", ")),
    }
}

/// Returns the Levenshtein distance: the minimum number of letters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (done, letter) in a.chars().enumerate() {
        let mut left = done + 1;
        let mut next = vec![left];
        for (other, pair) in b.iter().zip(row.windows(2)) {
            if let [diagonal, above] = pair {
                left = (diagonal + usize::from(letter != *other)).min(above + 1).min(left + 1);
                next.push(left);
            }
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_name_is_suggested_and_otherwise_all_names_are_listed() {
        assert_eq!(suggest("listn", &["listen", "data-dir"]), " Did you mean `listen`?");
        assert_eq!(suggest("memory_bytes", &["memory-bytes", "calls"]), " Did you mean `memory-bytes`?");
        assert_eq!(suggest("memory-mb", &["queue", "memory-bytes"]), " Did you mean `memory-bytes`?");
        assert_eq!(suggest("colour", &["listen", "data-dir"]), " There are: listen, data-dir.");
    }

    #[test]
    fn distance_counts_single_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
