//! The operator's master keys: one that seals, and older ones that still open what they have sealed.
//!
//! They are in TENON_MASTER_KEY, or in `master.key` in the data folder, the current one first. In development the file
//! is created at the first start. In production a missing key fails the start, because a new key would open nothing.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{
    SecretError, SecretText,
    aead::{self, KeyBytes},
    private_file,
    sealed::{self, SecretName},
};
use crate::limits;

/// Name of the file in the data folder.
pub const MASTER_KEY_FILE: &str = "master.key";

pub(super) const KEY_ID_BYTES: usize = 8;
pub(super) type KeyId = [u8; KEY_ID_BYTES];

pub(super) struct MasterKey {
    /// Derived from the key without revealing anything about it. Stored in each secret that the key sealed.
    pub id: KeyId,
    pub seals: KeyBytes,
}

/// Behaviour of `MasterKeys::load` if there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// Writes a new key into the file.
    Create,
    /// Returns [`SecretError::NoKey`].
    Fail,
}

/// A non-empty list of keys. The first one seals.
pub struct MasterKeys {
    current: MasterKey,
    previous: Vec<MasterKey>,
}

impl MasterKeys {
    /// Reads the keys from the variable, or from the file if the variable is not set.
    ///
    /// # Errors
    /// The error names the variable or the file.
    pub fn load(
        variable: Option<&SecretText>,
        data_dir: &Path,
        if_missing: MissingKey,
    ) -> Result<MasterKeys, SecretError> {
        if let Some(text) = variable {
            return MasterKeys::parse(text.expose())
                .map_err(|error| invalid_keys("TENON_MASTER_KEY".to_owned(), error));
        }
        let path = data_dir.join(MASTER_KEY_FILE);
        if let Some(keys) = MasterKeys::read(&path)? {
            return Ok(keys);
        }
        if if_missing == MissingKey::Fail {
            return Err(SecretError::NoKey(path));
        }
        let text = new_key_text()?;
        private_file::create(&path, &format!("{}\n", text.as_str()))?;
        MasterKeys::parse(&text)
    }

    /// Returns the keys of the file, or `None` if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, its mode gives permissions to users other than its owner, or it holds no valid keys.
    /// The error names the file.
    pub fn read(file: &Path) -> Result<Option<MasterKeys>, SecretError> {
        let Some(text) = private_file::read(file)? else { return Ok(None) };
        MasterKeys::parse(&text).map(Some).map_err(|error| invalid_keys(file.display().to_string(), error))
    }

    /// Parses keys of 32 bytes as hex or base64, the current one first, separated by commas, spaces or lines.
    pub fn parse(text: &str) -> Result<MasterKeys, SecretError> {
        let parts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty());
        let mut keys: Vec<MasterKey> = Vec::new();
        for (index, part) in parts.enumerate() {
            let bytes = decode(part).ok_or(SecretError::KeyText(index + 1))?;
            let key = MasterKey::new(&bytes)?;
            if !keys.iter().any(|known| known.id == key.id) {
                keys.push(key);
            }
        }
        let found = keys.len();
        let mut keys = keys.into_iter();
        match keys.next() {
            Some(current) if found <= limits::MASTER_KEYS_MAX => Ok(MasterKeys { current, previous: keys.collect() }),
            _ => Err(SecretError::KeyCount { found }),
        }
    }

    /// Seals under the current key, bound to the name.
    pub fn seal(&self, name: &SecretName, plain: &[u8]) -> Result<Vec<u8>, SecretError> {
        sealed::seal(&self.current, name, plain)
    }

    /// Opens a secret that any of the keys has sealed under this name.
    pub fn open(&self, name: &SecretName, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        let id = sealed::key_id(bytes)?;
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let key = keys.find(|key| key.id == id).ok_or_else(|| SecretError::UnknownKey(hex::encode(id)))?;
        sealed::open(key, name, bytes)
    }

    /// Returns true if the current key sealed the secret.
    pub fn is_current(&self, bytes: &[u8]) -> bool {
        sealed::key_id(bytes).is_ok_and(|id| id == self.current.id)
    }

    /// Returns the id of the current key in hex, for logs and for the column beside a sealed secret.
    pub fn current_id(&self) -> String {
        hex::encode(self.current.id)
    }
}

impl std::fmt::Debug for MasterKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "MasterKeys({}, {} older)", self.current_id(), self.previous.len())
    }
}

impl MasterKey {
    fn new(bytes: &[u8; 32]) -> Result<MasterKey, SecretError> {
        let identity = aead::derive_key(bytes, b"tenon", b"id of a master key, 1")?;
        let mut id = KeyId::default();
        id.iter_mut().zip(identity.iter()).for_each(|(to, from)| *to = *from);
        Ok(MasterKey { id, seals: aead::derive_key(bytes, b"tenon", b"sealing secrets, 1")? })
    }
}

fn invalid_keys(location: String, source: SecretError) -> SecretError {
    SecretError::InvalidKeys { location, source: Box::new(source) }
}

fn decode(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut key = Zeroizing::new([0; 32]);
    if text.len() == 64 {
        hex::decode_to_slice(text, key.as_mut()).ok()?;
    } else {
        let bytes = Zeroizing::new(STANDARD.decode(text).ok()?);
        *key = bytes.as_slice().try_into().ok()?;
    }
    Some(key)
}

/// Generates a random key as 64 hex digits.
pub fn new_key_text() -> Result<Zeroizing<String>, SecretError> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut()).map_err(SecretError::Random)?;
    Ok(Zeroizing::new(hex::encode(bytes.as_ref())))
}
