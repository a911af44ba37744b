//! A sealed secret: format (1 byte), id of the master key (8), nonce (24), ciphertext with tag (16 bytes more than the
//! plaintext).
//!
//! Invariant: format, key id and full name are authenticated, so a row that is moved to another tenant, purpose or name
//! does not open.

use zeroize::Zeroizing;

use super::{
    SecretError, aead,
    master::{KEY_ID_BYTES, KeyId, MasterKey},
};

const FORMAT: u8 = 1;

/// Owner, purpose and name of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretName {
    /// "organization/environment". Empty for a secret of the host.
    pub tenant: String,
    /// "webhook", "destination", "seed", …
    pub purpose: String,
    pub name: String,
}

impl SecretName {
    /// Returns the primary key of the row: a JSON array, so that no two names give the same text.
    pub fn row_key(&self) -> String {
        serde_json::json!([self.tenant, self.purpose, self.name]).to_string()
    }

    /// Parses the output of [`SecretName::row_key`].
    pub fn from_row_key(text: &str) -> Option<SecretName> {
        let (tenant, purpose, name) = serde_json::from_str(text).ok()?;
        Some(SecretName { tenant, purpose, name })
    }

    fn bound(&self, header: &[u8]) -> Vec<u8> {
        let mut bound = aead::bind(&[&self.tenant, &self.purpose, &self.name]);
        bound.extend_from_slice(header);
        bound
    }
}

pub(super) fn seal(key: &MasterKey, name: &SecretName, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
    let mut out = Vec::with_capacity(1 + KEY_ID_BYTES + aead::NONCE_BYTES + plain.len() + 16);
    out.push(FORMAT);
    out.extend_from_slice(&key.id);
    let bound = name.bound(&out);
    aead::seal_into(&mut out, &key.seals, &bound, plain)?;
    Ok(out)
}

pub(super) fn open(key: &MasterKey, name: &SecretName, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let (header, sealed) = bytes.split_at_checked(1 + KEY_ID_BYTES).ok_or(SecretError::CannotOpen)?;
    aead::open(sealed, &key.seals, &name.bound(header))
}

/// Returns the id of the master key that sealed the secret.
pub(super) fn key_id(bytes: &[u8]) -> Result<KeyId, SecretError> {
    match bytes.split_first() {
        Some((&FORMAT, rest)) => rest.first_chunk::<KEY_ID_BYTES>().copied().ok_or(SecretError::CannotOpen),
        _ => Err(SecretError::CannotOpen),
    }
}
