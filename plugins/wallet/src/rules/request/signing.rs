//! Signing a message, and signing and broadcasting a raw transaction (spec/wallet: signing).

use super::reader::Reader;
use crate::rules::invalid::{Field, Rule};
use crate::rules::limits::{MESSAGE_CHARS_MAX, RAW_TRANSACTION_CHARS_MAX, REFERENCE_CHARS_MAX};
use crate::rules::refusal::Refusal;

/// As it was sent: one of the two, as the operation has it.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub message: Option<String>,
    pub transaction: Option<String>,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

/// What is signed.
#[derive(Clone, Debug, PartialEq)]
pub struct Signing {
    pub text: String,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

/// Any text: line breaks and control characters are part of what is signed.
pub fn read_message(raw: &Raw) -> Result<Signing, Refusal> {
    const MESSAGE: Field = Field("message");
    let mut reader = Reader::default();
    let text = reader.required(MESSAGE, &raw.message);
    if text.is_some_and(|text| text.chars().count() > MESSAGE_CHARS_MAX) {
        reader.breaks(MESSAGE, Rule::TooLong { characters_max: MESSAGE_CHARS_MAX });
    }
    finish(reader, text, raw)
}

/// Hexadecimal digits or base64. What it means is read by who knows the blockchain.
pub fn read_broadcast(raw: &Raw) -> Result<Signing, Refusal> {
    const TRANSACTION: Field = Field("transaction");
    let mut reader = Reader::default();
    let text = reader.required(TRANSACTION, &raw.transaction);
    if text.is_some_and(|text| text.len() > RAW_TRANSACTION_CHARS_MAX) {
        reader.breaks(TRANSACTION, Rule::TooLong { characters_max: RAW_TRANSACTION_CHARS_MAX });
    }
    if text.is_some_and(|text| !text.bytes().all(|byte| byte.is_ascii_graphic())) {
        reader.breaks(TRANSACTION, Rule::ControlCharacters);
    }
    finish(reader, text, raw)
}

fn finish(mut reader: Reader, text: Option<&str>, raw: &Raw) -> Result<Signing, Refusal> {
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    let metadata = reader.metadata(&raw.metadata);
    reader.finish(text.map(|text| Signing { text: text.to_owned(), reference, metadata }))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{some, wrong};
    use super::*;

    #[test]
    fn a_message_has_at_most_4096_characters() {
        let message = |text: &str| wrong(read_message(&Raw { message: some(text), ..Raw::default() }));
        assert_eq!(message("hello\nworld\0"), "");
        assert_eq!(message(&"é".repeat(4_096)), "");
        assert_eq!(message(&"é".repeat(4_097)), "message max_length");
        assert_eq!(message(""), "message required");
    }

    #[test]
    fn a_raw_transaction_is_printable_and_bounded() {
        let broadcast = |text: &str| wrong(read_broadcast(&Raw { transaction: some(text), ..Raw::default() }));
        assert_eq!(broadcast("0x02f8"), "");
        assert_eq!(broadcast("AQAB+/=="), "");
        assert_eq!(broadcast("0x 02"), "transaction characters");
        assert_eq!(broadcast(&"0".repeat(262_147)), "transaction max_length");
        assert_eq!(broadcast(""), "transaction required");
    }
}
