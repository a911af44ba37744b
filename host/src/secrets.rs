//! Secrets at rest: what must be recoverable is sealed, bound to whom it belongs to and what it is for.
//!
//! Never logs a secret or shows one in `Debug`; wipes what it holds when it lets go of it.
//!
//! - `master`: the operator's master keys. `sealed`: XChaCha20-Poly1305 under one of them.
//! - `kept_answer`: answers kept for idempotency keys, sealed under a key that only the caller has.
//! - `rotation`: sealing again everything that an older master key sealed.
//! - `webhook`: what endpoints sign with. `sealing_root`: what seals secrets that stand inside of records.
//! - `key_text`: what keys and tokens are made of. `password`: hashes of passwords.
//! - `private_file`: files that only their owner may read. `certificate`: the certificate of a listener, and its key.

mod aead;
pub mod certificate;
mod kept_answer;
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

pub use kept_answer::{AnswerContext, open_answer, seal_answer};
pub use master::{MASTER_KEY_FILE, MasterKeys, MissingKey, new_key_text};
pub use rotation::{Rotation, SealedRow, SealedRows, rotate};
pub use sealed::SecretName;
pub use sealing_root::SealingRoot;
pub use webhook::{Signer, SigningRoot, WEBHOOK_SECRET_PREFIX, webhook_secret_text};

/// Why a secret is not to be had. None of them says anything about its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "must hold keys of 32 bytes as 64 hex digits or 44 characters of base64, separated by commas or lines; key {0} is not one"
    )]
    KeyText(usize),
    #[error("must hold from 1 to {max} different keys, and holds {found}", max = crate::limits::MASTER_KEYS_MAX)]
    KeyCount { found: usize },
    /// `place`: the variable or the file that holds the keys.
    #[error("{place} {source}")]
    KeyPlace { place: String, source: Box<SecretError> },
    #[error(
        "there is no master key: set TENON_MASTER_KEY to what `tenon secrets new-key` prints, or write that into {0} (mode 0600)"
    )]
    NoKey(PathBuf),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error(
        "{0} can be read by others than its owner: chmod 600 it, and replace what it holds if somebody may have seen it"
    )]
    OpenToOthers(PathBuf),
    #[error(
        "the secret was sealed with master key {0}, which this host does not have; add that key after the current one"
    )]
    UnknownKey(String),
    #[error("the secret cannot be opened: it was changed, or it belongs to something else")]
    Refused,
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    #[error("the stored secrets cannot be read or written: {0}")]
    Storage(String),
}

/// A text that must not be seen. Wiped when dropped.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: String) -> SecretText {
        SecretText(Zeroizing::new(text))
    }

    /// For the one place that uses it; the name is meant to be noticed in review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<Zeroizing<String>> for SecretText {
    fn from(text: Zeroizing<String>) -> SecretText {
        SecretText(text)
    }
}

/// In a time that says nothing about where they differ.
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
