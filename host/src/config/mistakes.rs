//! Mistakes of a configuration: all of them at once, each with its place and a remedy.

use std::{cell::RefCell, fmt, ops::Range, path::PathBuf};

/// Severity of a finding: a host starts in spite of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// The host starts and logs it.
    Warning,
}

/// One thing to correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub severity: Severity,
    /// Counted from 1; `None` where it does not stand in the file.
    pub line: Option<usize>,
    /// A sentence that names the key, what is wrong, and what would be right.
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
    /// An error that stands on no line of the file.
    pub fn elsewhere(text: String) -> Mistake {
        Mistake { severity: Severity::Error, line: None, text }
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Mistakes of a refused configuration: at least one error, and the warnings beside it.
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

    /// Returns a line for each error.
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

/// Collects mistakes while the file is walked.
pub struct Mistakes<'a> {
    source: &'a str,
    found: RefCell<Vec<Mistake>>,
}

impl<'a> Mistakes<'a> {
    pub fn new(source: &'a str) -> Mistakes<'a> {
        Mistakes { source, found: RefCell::new(Vec::new()) }
    }

    /// In the file, at these bytes.
    pub fn at(&self, span: &Range<usize>, text: impl Into<String>) {
        self.report(Severity::Error, Some(span), text.into());
    }

    /// A warning about these bytes of the file.
    pub fn warn_at(&self, span: &Range<usize>, text: impl Into<String>) {
        self.report(Severity::Warning, Some(span), text.into());
    }

    /// A warning about the configuration as a whole.
    pub fn warn(&self, text: impl Into<String>) {
        self.report(Severity::Warning, None, text.into());
    }

    /// In a flag, a variable, or the whole.
    pub fn elsewhere(&self, text: impl Into<String>) {
        self.report(Severity::Error, None, text.into());
    }

    fn report(&self, severity: Severity, span: Option<&Range<usize>>, text: String) {
        let line = span.map(|span| {
            let before = self.source.as_bytes().get(..span.start).unwrap_or_default();
            1 + before.iter().filter(|byte| **byte == b'\n').count()
        });
        self.found.borrow_mut().push(Mistake { severity, line, text });
    }

    /// Those of the file first, from top to bottom.
    pub fn into_sorted(self) -> Vec<Mistake> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
        found
    }
}

/// " Did you mean `…`?", or the list of what there is. A name that begins with the same word is near: "memory-mb".
pub fn suggest(wrong: &str, known: &[&str]) -> String {
    let first_word = |name: &str| name.split(['-', '_']).next().unwrap_or_default().to_owned();
    let far = |name: &str| {
        first_word(name) != first_word(wrong) && distance(wrong, name) > (wrong.chars().count() / 3).max(2)
    };
    let near = known.iter().filter(|name| !far(name));
    match near.min_by_key(|name| distance(wrong, name)) {
        Some(name) => format!(" Did you mean `{name}`?"),
        None => format!(" There are: {}.", known.join(", ")),
    }
}

/// Levenshtein: the fewest letters to insert, delete or replace.
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
    fn a_near_name_is_suggested_and_a_far_one_gets_the_list() {
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
