//! What a caller's text may be, whether it comes in a body or in a query.

use super::invalid::Invalid;

/// A name, a number, an id: no control characters.
pub fn check_line(field: &'static str, text: &str, characters_max: usize) -> Result<(), Invalid> {
    if text.contains(char::is_control) {
        return Err(Invalid::Not { field, kind: "a text without control characters" });
    }
    check_length(field, text, characters_max)
}

/// An address, a note: it may have lines.
pub fn check_lines(field: &'static str, text: &str, characters_max: usize) -> Result<(), Invalid> {
    if text.contains(|character: char| character.is_control() && !"\t\r\n".contains(character)) {
        return Err(Invalid::Not { field, kind: "a text without control characters" });
    }
    check_length(field, text, characters_max)
}

fn check_length(field: &'static str, text: &str, characters_max: usize) -> Result<(), Invalid> {
    match text.chars().nth(characters_max) {
        Some(_) => Err(Invalid::TooLong { field, characters_max }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_can_be_printed() {
        assert_eq!(check_line("name", "東京 é", 4), Ok(()));
        assert_eq!(check_line("name", "abcd\u{1F600}", 4), Err(Invalid::TooLong { field: "name", characters_max: 4 }));
        for text in ["\0", "a\nb", "\u{7f}", "\u{85}"] {
            let kind = "a text without control characters";
            assert_eq!(check_line("name", text, 4), Err(Invalid::Not { field: "name", kind }), "{text:?}");
        }
    }

    #[test]
    fn lines_may_end() {
        assert_eq!(check_lines("notes", "1\r\n\t2", 10), Ok(()));
        assert!(check_lines("notes", "1\u{0}2", 10).is_err() && check_lines("notes", "\n\n", 1).is_err());
    }
}
