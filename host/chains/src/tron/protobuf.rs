//! The subset of Protocol Buffers that Tron's transactions need: numbers and bytes, each field once.
//!
//! Decoding is strict: repeated fields, unknown fields, over-long varints and trailing bytes are errors.

use crate::SignError;

const VARINT: u64 = 0;
const BYTES: u64 = 2;
/// Maximum number of fields of one message. None of Tron's messages has as many.
const FIELDS_MAX: usize = 16;

const BROKEN: SignError = SignError::Transaction("not the bytes of a Tron transaction");

/// The fields of one message that have not been consumed yet.
pub(super) struct Fields<'a>(Vec<(u64, Value<'a>)>);

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Fields<'a> {
    pub(super) fn read(mut bytes: &'a [u8]) -> Result<Fields<'a>, SignError> {
        let mut fields: Vec<(u64, Value<'a>)> = Vec::new();
        while !bytes.is_empty() {
            let tag = read_number(&mut bytes)?;
            let (number, kind) = (tag >> 3, tag & 7);
            let value = match kind {
                VARINT => Value::Number(read_number(&mut bytes)?),
                BYTES => {
                    let length = usize::try_from(read_number(&mut bytes)?).map_err(|_| BROKEN)?;
                    let (value, rest) = bytes.split_at_checked(length).ok_or(BROKEN)?;
                    bytes = rest;
                    Value::Bytes(value)
                }
                _ => return Err(BROKEN),
            };
            if fields.len() == FIELDS_MAX || fields.iter().any(|(other, _)| *other == number) {
                return Err(BROKEN);
            }
            fields.push((number, value));
        }
        Ok(Fields(fields))
    }

    /// Removes a field of bytes. Returns an empty slice if the field is missing.
    pub(super) fn take_bytes(&mut self, number: u64) -> Result<&'a [u8], SignError> {
        match self.take(number) {
            None => Ok(&[]),
            Some(Value::Bytes(bytes)) => Ok(bytes),
            Some(Value::Number(_)) => Err(BROKEN),
        }
    }

    /// Removes a field with a non-negative number. Returns 0 if the field is missing.
    pub(super) fn take_number(&mut self, number: u64) -> Result<u64, SignError> {
        match self.take(number) {
            None => Ok(0),
            Some(Value::Number(value)) if value <= i64::MAX as u64 => Ok(value),
            Some(_) => Err(BROKEN),
        }
    }

    fn take(&mut self, number: u64) -> Option<Value<'a>> {
        let at = self.0.iter().position(|(other, _)| *other == number)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Returns an error if fields are left over: they are unknown.
    pub(super) fn finish(self) -> Result<(), SignError> {
        if self.0.is_empty() { Ok(()) } else { Err(SignError::Transaction("it has an unknown field")) }
    }
}

fn read_number(bytes: &mut &[u8]) -> Result<u64, SignError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(BROKEN)?;
        *bytes = rest;
        let digits = u64::from(byte & 0x7f);
        let is_longer_than_needed = shift > 0 && *byte == 0;
        if is_longer_than_needed || (shift == 63 && digits > 1) {
            return Err(BROKEN);
        }
        value |= digits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(BROKEN)
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes a field of bytes. The format omits an empty field.
pub(super) fn write_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        write_varint(out, number << 3 | BYTES);
        write_varint(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }
}

/// Writes a number field. The format omits 0.
pub(super) fn write_number(out: &mut Vec<u8>, number: u64, value: u64) {
    if value > 0 {
        write_varint(out, number << 3 | VARINT);
        write_varint(out, value);
    }
}
