//! Secrets at rest. A recoverable secret is sealed, and bound to its owner and purpose.
//!
//! Secrets are never logged or shown in `Debug`, and are wiped from memory when dropped.
//!
//! - `master`: the operator's master keys. `sealed`: secrets sealed under a master key. `aead`: encryption and key
//!   derivation.
//! - `idempotency_record`: answers stored for idempotency keys, sealed under a key that only the caller has.
//! - `rotation`: re-seals everything that an older master key sealed.
//! - `webhook`: secrets that sign webhooks. `sealing_root`: seals secrets that are stored inside records.
//! - `key_text`: the text of keys and tokens. `password`: hashes of passwords.
//! - `private_file`: files that only their owner may read. `wiped`: JSON in a buffer that is wiped when dropped.
//! - `certificate`: the certificate and key of a listener. `validity`: the expiry date of a certificate.

mod aead;
pub mod certificate;
mod idempotency_record;
pub mod key_text;
mod master;
pub mod password;
pub mod private_file;
mod rotation;
mod sealed;
mod sealing_root;
pub mod validity;
mod webhook;
pub mod wiped;

use std::{fmt, path::PathBuf};

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

pub use idempotency_record::{AnswerContext, open_answer, seal_answer};
pub use master::{MASTER_KEY_FILE, MasterKeys, MissingKey, new_key_text};
pub use rotation::{Rotation, SealedRow, SealedRows, rotate};
pub use sealed::SecretName;
pub use sealing_root::SealingRoot;
pub use webhook::{Signer, SigningRoot, WEBHOOK_SECRET_PREFIX, webhook_secret_text};

/// Why a secret cannot be read, sealed or opened. No message contains any part of a secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "must hold keys of 32 bytes as 64 hex digits or 44 characters of base64, separated by commas or lines; key {0} is not one"
    )]
    KeyText(usize),
    #[error("must hold from 1 to {max} different keys, and holds {found}", max = crate::limits::MASTER_KEYS_MAX)]
    KeyCount { found: usize },
    /// `location` is the variable or the file that holds the keys.
    #[error("{location} {source}")]
    InvalidKeys { location: String, source: Box<SecretError> },
    #[error(
        "there is no master key: set TENON_MASTER_KEY to the output of `tenon secrets new-key`, or write it into {0} (mode 0600)"
    )]
    NoKey(PathBuf),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error(
        "{0} can be read by others than its owner: chmod 600 it, and replace its content if another user may have read it"
    )]
    OpenToOthers(PathBuf),
    #[error(
        "the secret was sealed with master key {0}, which this host does not have; add that key after the current one"
    )]
    UnknownKey(String),
    #[error("the secret cannot be opened: it was changed, or it belongs to another name")]
    CannotOpen,
    #[error("the system returned no random numbers: {0}")]
    Random(getrandom::Error),
    #[error("the stored secrets cannot be read or written: {0}")]
    Storage(String),
}

/// A secret string. Wiped when dropped.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: String) -> SecretText {
        SecretText(Zeroizing::new(text))
    }

    /// Returns the secret. The name is meant to be noticed in review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<Zeroizing<String>> for SecretText {
    fn from(text: Zeroizing<String>) -> SecretText {
        SecretText(text)
    }
}

/// Compares in constant time.
impl PartialEq for SecretText {
    fn eq(&self, other: &SecretText) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests;
