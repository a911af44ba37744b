//! Texts of messages: identifications, names, remittance information (spec/clearing: Resources). Kept as they were sent.

use super::invalid::{Field, Invalid, Rule};

/// Not blank, no control characters but line ends and tabs, at most so many characters.
pub fn check_text(field: Field, text: &str, characters_max: usize) -> Result<String, Invalid> {
    if text.trim().is_empty() {
        return Err(field.breaks(Rule::Blank));
    }
    if text.chars().count() > characters_max {
        return Err(field.breaks(Rule::TooLong { characters_max }));
    }
    let harmless = |character: char| !character.is_control() || matches!(character, '\n' | '\r' | '\t');
    if !text.chars().all(harmless) {
        return Err(field.breaks(Rule::ControlCharacters));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_in_characters() {
        let field = Field::CreditorLegalName;
        assert_eq!(check_text(field, "မြန်မာ", 6), Ok("မြန်မာ".to_owned()));
        assert_eq!(check_text(field, "1234567", 6), Err(field.breaks(Rule::TooLong { characters_max: 6 })));
        assert_eq!(check_text(field, " \n", 6), Err(field.breaks(Rule::Blank)));
        assert_eq!(check_text(field, "a\0b", 6), Err(field.breaks(Rule::ControlCharacters)));
        assert_eq!(check_text(field, "a\nb", 6), Ok("a\nb".to_owned()));
    }
}
