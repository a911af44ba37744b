//! Typed data that an EVM key signs (EIP-712): a JSON document that says what its fields mean, and for which contract.
//!
//! Never asks whether what it says makes sense: that is for who shows it. A document is read strictly, so that nobody can
//! read it as something else than what is signed: every name stands once, every field that is given is signed, and every
//! type is written as the standard writes it.

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

/// Bytes of a document. Those that people sign have a few hundred.
pub const TYPED_DATA_BYTES_MAX: usize = 64 << 10;

/// Types of a document. Each is hashed together with all that it refers to, so time grows with this times the bytes.
pub const TYPED_DATA_TYPES_MAX: usize = 32;

/// What comes before the two hashes: no transaction and no message begins like this.
const PREFIX: [u8; 2] = [0x19, 1];

const DOMAIN: &str = "EIP712Domain";

/// What a domain can have, in this sequence. It names at least one, and its type is made of those that it names.
const DOMAIN_FIELDS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// A document that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedData {
    digest: [u8; 32],
}

impl TypedData {
    /// Reads a document: `types`, `primaryType`, `domain` and `message`. `types` may leave the type of the domain out.
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

    /// Who signed this document. Every signature has somebody: compare the address with the one that was expected.
    pub fn signer(&self, signature: &Signature) -> Result<Address, KeyringError> {
        Ok(Address::of(&signature.recover(&self.digest)?))
    }
}

/// The domain has a type that only its fields decide. Where the document declares it as well, it has to be that one.
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
