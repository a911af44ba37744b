//! A tokenizer for Rust source that finds identifiers and `crate::` and `super::` paths. It skips comments and
//! strings.

use std::{fs, path::Path};

#[derive(Debug)]
struct Token {
    line: usize,
    text: String,
}

pub struct Source {
    tokens: Vec<Token>,
}

impl Source {
    pub fn read(file: &Path) -> Source {
        Source::parse(&fs::read_to_string(file).expect("a source file can be read"))
    }

    pub fn parse(text: &str) -> Source {
        let characters: Vec<char> = text.chars().collect();
        let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
        while at < characters.len() {
            let end = end_of_token(&characters, at);
            let text: String = characters[at..end].iter().collect();
            let lines = text.matches('\n').count();
            let first = characters[at];
            let is_hidden =
                first.is_whitespace() || text.len() > 1 && !is_word(first) || first == '"' || text.contains('"');
            if !is_hidden {
                tokens.push(Token { line, text });
            }
            line += lines;
            at = end;
        }
        Source { tokens }
    }

    /// Returns all identifiers and keywords with their lines.
    pub fn identifiers(&self) -> Vec<(usize, String)> {
        let named = self.tokens.iter().filter(|token| token.text.starts_with(is_word));
        named.map(|token| (token.line, token.text.clone())).collect()
    }

    /// Returns the paths after `crate::` with groups expanded: `use crate::{a, b::{c, d}}` gives a, b::c and b::d.
    pub fn crate_paths(&self) -> Vec<(usize, Vec<String>)> {
        self.paths_from("crate", self.tokens.len())
    }

    /// Returns the paths that begin with `crate` or `super`, including that word. Stops at the tests at the end of the
    /// file.
    pub fn paths(&self) -> Vec<Vec<String>> {
        let is_tests = |at: &usize| self.text(*at) == "mod" && self.text(at + 1) == "tests" && self.text(at + 2) == "{";
        let end = (0..self.tokens.len()).find(is_tests).unwrap_or(self.tokens.len());
        let mut found = Vec::new();
        for root in ["crate", "super"] {
            let paths = self.paths_from(root, end).into_iter();
            found.extend(paths.map(|(_, path)| [vec![root.to_owned()], path].concat()));
        }
        found
    }

    /// Returns the paths after `root::` with their lines, from the first `end` tokens.
    fn paths_from(&self, root: &str, end: usize) -> Vec<(usize, Vec<String>)> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate().take(end) {
            let begins = token.text == root && self.is_separator(at + 1);
            if begins && !(at >= 3 && self.is_separator(at - 2) && self.text(at - 3) == root) {
                let mut paths = Vec::new();
                self.read_path(at + 3, Vec::new(), &mut paths);
                found.extend(paths.into_iter().map(|path| (token.line, path)));
            }
        }
        found
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    fn is_separator(&self, at: usize) -> bool {
        self.text(at) == ":" && self.text(at + 1) == ":"
    }

    /// Appends the paths that begin at `at` to `found`, each after `prefix`. Returns the position after them.
    fn read_path(&self, mut at: usize, mut prefix: Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
        loop {
            match self.text(at) {
                "{" => {
                    at += 1;
                    while !matches!(self.text(at), "}" | "") {
                        at = self.read_path(at, prefix.clone(), found);
                        while !matches!(self.text(at), "}" | "," | "") {
                            at += 1; // `as name`
                        }
                        at += usize::from(self.text(at) == ",");
                    }
                    return at + 1;
                }
                word if word.starts_with(is_word) => {
                    prefix.push(word.to_owned());
                    at += 1;
                }
                _ => {
                    found.push(prefix);
                    return at + 1;
                }
            }
            if !self.is_separator(at) {
                found.push(prefix);
                return at;
            }
            at += 2;
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the end of the token at a position.
///
/// Comments, strings, characters and lifetimes are one token each. Everything else is a word or one character.
fn end_of_token(text: &[char], at: usize) -> usize {
    let rest = &text[at..];
    let end = match rest {
        ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => end_of_block(rest),
        ['"', ..] => end_of_text(rest, 1),
        ['b' | 'c', '"', ..] => end_of_text(rest, 2),
        ['r', '"' | '#', ..] | ['b', 'r', '"' | '#', ..] => end_of_raw(rest),
        ['\'', '\\', ..] => rest.iter().skip(3).position(|c| *c == '\'').map_or(rest.len(), |found| found + 4),
        ['\'', _, '\'', ..] => 3,
        ['\'', ..] => 1 + rest.iter().skip(1).take_while(|c| is_word(**c)).count(),
        [first, ..] if is_word(*first) => rest.iter().take_while(|c| is_word(**c)).count(),
        _ => 1,
    };
    at + end.max(1)
}

fn end_of_block(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_text(rest: &[char], mut at: usize) -> usize {
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// Returns the length of `r"…"` or `br#"…"#`. A raw identifier (`r#type`) is a word.
fn end_of_raw(rest: &[char]) -> usize {
    let start = rest.iter().position(|c| *c == 'r').unwrap_or(0) + 1;
    let hashes = rest[start..].iter().take_while(|c| **c == '#').count();
    if rest.get(start + hashes) != Some(&'"') {
        return start + hashes + rest[start + hashes..].iter().take_while(|c| is_word(**c)).count();
    }
    let mut at = start + hashes + 1;
    while at < rest.len() {
        let closes = rest[at] == '"' && rest[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
        if closes {
            return at + 1 + hashes;
        }
        at += 1;
    }
    rest.len()
}

/// Splits an identifier into lower-case words: "DriverId" and "driver_id" give driver and id.
pub fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut last_was_lower = false;
    for character in identifier.chars() {
        let begins = character == '_' || character.is_uppercase() && last_was_lower;
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character != '_') {
            word.extend(character.to_lowercase());
        }
        last_was_lower = character.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn strings_and_comments_are_skipped() {
    let source = Source::parse(
        r##"// driver
        /* order /* wallet */ */ let a = "driver \" order"; let b = r#"wallet "x" "#; let c = '"'; fn f<'fleet>() {}
        let order_id = b"driver";"##,
    );
    let names: Vec<String> = source.identifiers().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["let", "a", "let", "b", "let", "c", "fn", "f", "let", "order_id"]);
    assert_eq!(source.identifiers().last(), Some(&(3, "order_id".to_owned())));
}

#[test]
fn groups_of_use_lines_are_expanded() {
    let source =
        Source::parse("use crate::{db, plugin::{call as c, routes::*}, limits::A};\nlet x = crate::http::go();");
    let paths: Vec<String> = source.crate_paths().into_iter().map(|(_, path)| path.join("::")).collect();
    assert_eq!(paths, ["db", "plugin::call", "plugin::routes", "limits::A", "http::go"]);
}

#[test]
fn identifiers_are_split_into_words() {
    assert_eq!(words("DriverId"), ["driver", "id"]);
    assert_eq!(words("ORDERS_MAX"), ["orders", "max"]);
    assert_eq!(words("ordering"), ["ordering"]);
}
