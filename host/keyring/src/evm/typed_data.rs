//! Typed data that an EVM key signs (EIP-712): a JSON document that declares its types and its contract.
//!
//! This module does not check the meaning of a document. The caller displays it. Parsing is strict, so that a document
//! has only one interpretation: every name occurs once, every given field is signed, and every type is spelled as in
//! the standard.

mod json;
mod schema;
mod word;

use std::collections::BTreeMap;

use self::{
    json::Value,
    schema::{Field, Schema},
};
use super::{Address, keccak};
use crate::{
    KeyringError,
    secp256k1::{Key, Signature},
};

/// Maximum size of a document. Typical documents have a few hundred bytes.
pub const TYPED_DATA_BYTES_MAX: usize = 64 << 10;

/// Maximum number of types of a document. Each is hashed with all types that it refers to, so the time grows with this
/// number times the size.
pub const TYPED_DATA_TYPES_MAX: usize = 32;

/// Prefix of the two hashes. No transaction and no message starts with it.
const PREFIX: [u8; 2] = [0x19, 1];

const DOMAIN: &str = "EIP712Domain";

/// Fields of a domain in the order of the standard. A domain has at least one of these fields. Its type consists of the
/// fields that it has.
const DOMAIN_FIELDS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// The digest of a parsed document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedData {
    digest: [u8; 32],
}

impl TypedData {
    /// Parses a document: `types`, `primaryType`, `domain` and `message`. `types` may omit the type of the domain.
    pub fn read(json: &str) -> Result<TypedData, KeyringError> {
        if json.len() > TYPED_DATA_BYTES_MAX {
            return Err(KeyringError::TypedDataLength);
        }
        let mut document = Value::read(json).and_then(Value::into_object).ok_or(KeyringError::TypedDataJson)?;
        let mut take = |part| document.remove(part).ok_or(KeyringError::TypedDataJson);
        let (types, primary_type, domain, message) =
            (take("types")?, take("primaryType")?, take("domain")?, take("message")?);
        let Some((declared, domain)) = types.into_object().zip(domain.into_object()).filter(|_| document.is_empty())
        else {
            return Err(KeyringError::TypedDataJson);
        };
        let mut types = schema::read_types(declared)?;
        declare_domain(&mut types, &domain)?;
        let schema = Schema::new(types)?;
        let primary_type = primary_type.as_text().filter(|name| *name != DOMAIN && schema.fields(name).is_some());
        let primary_type = primary_type.ok_or_else(|| expected("primaryType", "a type that types declares"))?;
        let (domain, message) =
            (schema.hash_of(DOMAIN, &Value::Object(domain))?, schema.hash_of(primary_type, &message)?);
        Ok(TypedData { digest: keccak(&[&PREFIX[..], &domain, &message].concat()) })
    }

    pub fn sign(&self, key: &Key) -> Result<Signature, KeyringError> {
        key.sign_digest(&self.digest)
    }

    /// Recovers the signer of this document. Recovery succeeds for any document: compare the address with the expected
    /// one.
    pub fn signer(&self, signature: &Signature) -> Result<Address, KeyringError> {
        Ok(Address::of(&signature.recover(&self.digest)?))
    }
}

/// Adds the type of the domain, which follows from the domain's fields. A declaration in the document must equal that
/// type.
fn declare_domain(
    types: &mut BTreeMap<String, Vec<Field>>,
    domain: &BTreeMap<String, Value>,
) -> Result<(), KeyringError> {
    let named = DOMAIN_FIELDS.into_iter().filter(|(name, _)| domain.contains_key(*name));
    let fields: Vec<Field> = named.filter_map(|(name, kind)| Field::read(name, kind)).collect();
    if fields.is_empty() {
        return Err(expected("domain", "an object with name, version, chainId, verifyingContract or salt"));
    }
    match types.insert(DOMAIN.to_owned(), fields.clone()) {
        Some(declared) if declared != fields => {
            Err(expected(DOMAIN, "declared with the fields of the domain, as the standard writes them, or left out"))
        }
        _ => Ok(()),
    }
}

fn expected(at: &str, expected: &'static str) -> KeyringError {
    KeyringError::TypedData { at: at.to_owned(), expected }
}

#[cfg(test)]
mod tests;
