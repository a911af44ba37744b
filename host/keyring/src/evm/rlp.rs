//! RLP encoding that `alloy_rlp` does not provide: lists of encoded items, and numbers of 32 bytes.

use alloy_rlp::{Error, Header};

/// Encodes a list of items that are already encoded.
pub(super) fn list(items: &[u8]) -> Vec<u8> {
    // A header has at most nine bytes.
    let mut out = Vec::with_capacity(items.len() + 9);
    Header { list: true, payload_length: items.len() }.encode(&mut out);
    out.extend_from_slice(items);
    out
}

/// Returns the bytes of a number without leading zeros.
pub(super) fn digits(number: &[u8; 32]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.split_at(zeros).1
}

/// Decodes the output of [`digits`]: at most 32 bytes without leading zeros.
pub(super) fn decode_digits(items: &mut &[u8]) -> alloy_rlp::Result<[u8; 32]> {
    let digits = Header::decode_bytes(items, false)?;
    let mut number = [0; 32];
    let zeros = number.len().checked_sub(digits.len()).ok_or(Error::Overflow)?;
    if digits.first() == Some(&0) {
        return Err(Error::LeadingZero);
    }
    number.split_at_mut(zeros).1.copy_from_slice(digits);
    Ok(number)
}
