//! Encodes a value as the 32 bytes that represent it in a hash.
//!
//! A value of a declared type must have exactly the fields of the type, and each value must be of its field's type.

use ethnum::U256;

use super::{
    expected,
    json::Value,
    schema::{Kind, Schema},
};
use crate::{
    KeyringError,
    evm::{Address, keccak},
};

type Word = [u8; 32];

/// Maximum number of decimal digits of a 256-bit number.
const DIGITS_MAX: usize = 78;

impl Schema {
    /// Hashes a value of the declared type `name`.
    pub(super) fn hash_of(&self, name: &str, value: &Value) -> Result<Word, KeyringError> {
        let whole = || expected(name, "an object of the fields of its type, and no others");
        let (fields, type_hash) = self.fields(name).zip(self.type_hash(name)).ok_or_else(whole)?;
        let Value::Object(object) = value else { return Err(whole()) };
        let mut words = vec![*type_hash];
        for field in fields {
            let at = || format!("{name}.{}", field.name);
            let value = object.get(&field.name).ok_or_else(|| expected(&at(), "given"))?;
            words.push(self.word(&at, &field.kind, value)?);
        }
        // All declared fields are present. An additional field would not be signed.
        if object.len() == fields.len() { Ok(keccak(words.as_flattened())) } else { Err(whole()) }
    }

    fn word(&self, at: &impl Fn() -> String, kind: &Kind, value: &Value) -> Result<Word, KeyringError> {
        match (kind, value) {
            (Kind::Struct(name), value) => self.hash_of(name, value),
            (Kind::List(kind, length), Value::List(items)) if length.is_none_or(|length| length == items.len()) => {
                let words = items.iter().map(|item| self.word(at, kind, item)).collect::<Result<Vec<_>, _>>()?;
                Ok(keccak(words.as_flattened()))
            }
            _ => elementary(kind, value).ok_or_else(|| expected(&at(), form(kind))),
        }
    }
}

/// Describes the form of a value of this kind, for error messages.
fn form(kind: &Kind) -> &'static str {
    match kind {
        Kind::Bool => "true or false",
        Kind::Address => "an EVM address, with the right checksum or without one",
        Kind::Text => "a string",
        Kind::Bytes | Kind::FixedBytes(_) => "0x and hex digits, as many as its type has",
        Kind::Uint(_) | Kind::Int(_) => "a whole number that its type can hold; above 64 bits as a string",
        Kind::Struct(_) => "an object",
        Kind::List(..) => "a list of as many values as its type has",
    }
}

fn elementary(kind: &Kind, value: &Value) -> Option<Word> {
    match (kind, value) {
        (Kind::Bool, Value::Bool(value)) => Some(U256::from(u8::from(*value)).to_be_bytes()),
        (Kind::Address, Value::Text(text)) => {
            let address: Address = text.parse().ok()?;
            let mut word = [0; 32];
            word.split_at_mut(12).1.copy_from_slice(address.as_bytes());
            Some(word)
        }
        (Kind::Text, Value::Text(text)) => Some(keccak(text.as_bytes())),
        (Kind::Bytes, Value::Text(text)) => Some(keccak(&read_bytes(text)?)),
        (Kind::FixedBytes(length), Value::Text(text)) => {
            let mut bytes = read_bytes(text).filter(|bytes| bytes.len() == *length)?;
            bytes.resize(32, 0);
            bytes.try_into().ok()
        }
        (Kind::Uint(bits), value) => {
            let (is_negative, size) = read_integer(value)?;
            let holds = size.leading_zeros() >= 256 - bits && (!is_negative || size == U256::ZERO);
            holds.then(|| size.to_be_bytes())
        }
        (Kind::Int(bits), value) => {
            let (is_negative, size) = read_integer(value)?;
            // Two's complement has one more negative number than positive numbers.
            let lowest = U256::ONE << (bits - 1);
            let holds = size < lowest || (is_negative && size == lowest);
            let number = if is_negative { size.wrapping_neg() } else { size };
            holds.then(|| number.to_be_bytes())
        }
        _ => None,
    }
}

fn read_bytes(text: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix("0x")?).ok()
}

/// Parses a number into its sign (true for negative) and its absolute value.
fn read_integer(value: &Value) -> Option<(bool, U256)> {
    let text = match value {
        Value::Number(number) => return Some((*number < 0, U256::from(number.unsigned_abs()))),
        Value::Text(text) => text,
        _ => return None,
    };
    let (is_negative, digits, radix) = match (text.strip_prefix("0x"), text.strip_prefix('-')) {
        (Some(digits), _) => (false, digits, 16),
        (_, Some(digits)) => (true, digits, 10),
        _ => (false, text.as_str(), 10),
    };
    let has_digits_only = digits.chars().all(|digit| digit.is_digit(radix));
    if !has_digits_only || digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    Some((is_negative, U256::from_str_radix(digits, radix).ok()?))
}
