//! Words that must not occur in identifiers or begin a comment.
//!
//! CONTRIBUTING.md lists the terms that replace them.

use std::{fs, path::Path};

use super::source::{Source, words};

/// Words that no identifier may contain.
const BANNED: &[&str] = &[
    "anew", "contest", "course", "deed", "errand", "errands", "hear", "heard", "hears", "lane", "lanes", "moment",
    "news", "nobody", "seat", "seats", "shown", "somebody", "tell", "telling", "tells", "told", "trouble", "whoever",
    "wish", "wishes", "wording", "wordings",
];

/// Names of the contract, which components are built against: `chains.wish`.
const CONTRACT: &[&str] = &["Wish"];

/// Words that begin a comment without naming its subject.
const OPENERS: &[&str] = &["What", "Who", "Whoever", "Whose", "Of"];

/// Returns one line for each banned word in an identifier of the file.
pub fn banned_identifiers(file: &Path, name: &str) -> Vec<String> {
    let identifiers = Source::read(file).identifiers().into_iter();
    let found = identifiers.filter_map(|(line, identifier)| {
        let is_free = !CONTRACT.contains(&identifier.as_str());
        let word = words(&identifier).into_iter().find(|word| is_free && BANNED.contains(&word.as_str()))?;
        Some(format!("{name}:{line}: `{identifier}` contains `{word}`"))
    });
    found.collect()
}

/// Returns one line for each comment of the file that begins without a subject.
pub fn comments_without_subject(file: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a source file can be read");
    let lines: Vec<Option<&str>> = text.lines().map(comment).collect();
    let begins = |at: usize| at == 0 || lines[at - 1].is_none_or(str::is_empty);
    let opening = lines.iter().enumerate().filter_map(|(at, line)| Some((at, (*line).filter(|_| begins(at))?)));
    opening
        .filter(|(_, comment)| comment.split_whitespace().next().is_some_and(|word| OPENERS.contains(&word)))
        .map(|(at, comment)| format!("{name}:{}: {comment}", at + 1))
        .collect()
}

/// Returns the text of a comment line, or `None` for any other line.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.trim_start_matches(['/', '!']).trim())
}

#[test]
fn banned_words_and_openers_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rs");
    fs::write(&file, "/// What a caller sent.\nfn a() {}\n/// Returns the row.\n// Of one line.\nlet told_at = 1;\n")
        .unwrap();
    assert_eq!(comments_without_subject(&file, "a.rs"), ["a.rs:1: What a caller sent."]);
    assert_eq!(banned_identifiers(&file, "a.rs"), ["a.rs:5: `told_at` contains `told`"]);
}
