//! Password hashing with argon2id. A computation uses a core for about 20 ms.
//!
//! Callers decide where the computation runs. A password is wiped with its work, which lives as long as the call it
//! belongs to. Invariant: verification for an unknown user takes as long as against a hash that [`PasswordWork`]
//! computed.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString},
};
use zeroize::Zeroizing;

use crate::limits::{
    PASSWORD_BYTES_MAX, PASSWORD_HASH_BYTES_MAX, PASSWORD_KIB, PASSWORD_KIB_MAX, PASSWORD_PASSES, PASSWORD_PASSES_MAX,
};

/// Salt of the dummy hash that is computed for an unknown user.
const DUMMY_SALT: [u8; 16] = *b"nobody is called";

#[derive(Clone, Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("a password must have at most {PASSWORD_BYTES_MAX} bytes")]
    TooLong,
    #[error("this is not a hash of `hash-password`")]
    Hash,
    #[error("failed to hash the password: {0}")]
    Broken(String),
}

/// A computation on a password. Equal computations have equal outcomes.
#[derive(PartialEq, Eq)]
pub struct PasswordWork {
    password: Zeroizing<String>,
    operation: Operation,
}

#[derive(PartialEq, Eq)]
enum Operation {
    Hash { salt: [u8; 16] },
    Verify { hash: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordOutcome {
    /// "$argon2id$v=19$m=…,t=…,p=…$salt$hash"
    Hash(String),
    Verified(bool),
}

impl PasswordWork {
    /// Prepares hashing.
    ///
    /// # Errors
    /// `TooLong`.
    pub fn hash(password: String, salt: [u8; 16]) -> Result<PasswordWork, PasswordError> {
        PasswordWork::new(password, Operation::Hash { salt })
    }

    /// Prepares verification against a hash. Without a hash, the computation takes as long and its outcome is
    /// `Verified(false)`.
    ///
    /// # Errors
    /// `TooLong`, or `Hash` if the hash is not an argon2id hash or its cost parameters exceed the limits.
    pub fn verify(password: String, hash: Option<String>) -> Result<PasswordWork, PasswordError> {
        let work = PasswordWork::new(password, Operation::Verify { hash })?;
        if let Operation::Verify { hash: Some(hash) } = &work.operation {
            check(hash)?;
        }
        Ok(work)
    }

    fn new(password: String, operation: Operation) -> Result<PasswordWork, PasswordError> {
        let password = Zeroizing::new(password);
        if password.len() > PASSWORD_BYTES_MAX {
            Err(PasswordError::TooLong)
        } else {
            Ok(PasswordWork { password, operation })
        }
    }

    /// Computes the outcome. Uses a core and `PASSWORD_KIB` for about 20 ms: call it where blocking is allowed. A hash
    /// that was computed elsewhere may cost more, up to `PASSWORD_KIB_MAX` and `PASSWORD_PASSES_MAX`.
    pub fn compute(&self) -> Result<PasswordOutcome, PasswordError> {
        match &self.operation {
            Operation::Hash { salt } => self.hash_with(*salt).map(PasswordOutcome::Hash),
            Operation::Verify { hash: None } => self.hash_with(DUMMY_SALT).map(|_| PasswordOutcome::Verified(false)),
            Operation::Verify { hash: Some(hash) } => {
                let hash = PasswordHash::new(hash).map_err(|_| PasswordError::Hash)?;
                Ok(PasswordOutcome::Verified(hasher()?.verify_password(self.password.as_bytes(), &hash).is_ok()))
            }
        }
    }

    fn hash_with(&self, salt: [u8; 16]) -> Result<String, PasswordError> {
        let salt = SaltString::encode_b64(&salt).map_err(broken)?;
        Ok(hasher()?.hash_password(self.password.as_bytes(), &salt).map_err(broken)?.to_string())
    }
}

fn hasher() -> Result<Argon2<'static>, PasswordError> {
    let params = Params::new(PASSWORD_KIB, PASSWORD_PASSES, 1, None).map_err(broken)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Checks the cost parameters of a hash, which are part of its text: a foreign hash must not cost more than allowed.
fn check(hash: &str) -> Result<(), PasswordError> {
    if hash.len() > PASSWORD_HASH_BYTES_MAX {
        return Err(PasswordError::Hash);
    }
    let parsed = PasswordHash::new(hash).map_err(|_| PasswordError::Hash)?;
    let params = Params::try_from(&parsed).map_err(|_| PasswordError::Hash)?;
    let bounded = params.m_cost() <= PASSWORD_KIB_MAX && params.t_cost() <= PASSWORD_PASSES_MAX && params.p_cost() == 1;
    let is_valid = bounded && parsed.algorithm.as_str() == "argon2id" && parsed.hash.is_some();
    if is_valid { Ok(()) } else { Err(PasswordError::Hash) }
}

fn broken(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str, salt: u8) -> String {
        match PasswordWork::hash(text.to_owned(), [salt; 16]).unwrap().compute().unwrap() {
            PasswordOutcome::Hash(hash) => hash,
            PasswordOutcome::Verified(_) => panic!("expected a hash"),
        }
    }

    fn verify(text: &str, hash: Option<&str>) -> Result<PasswordOutcome, PasswordError> {
        PasswordWork::verify(text.to_owned(), hash.map(str::to_owned)).and_then(|work| work.compute())
    }

    #[test]
    fn password_is_verified_only_by_its_own_hash() {
        let hash = hash("open sesame", 1);
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !hash.contains("sesame"), "{hash}");
        assert_eq!(verify("open sesame", Some(&hash)).unwrap(), PasswordOutcome::Verified(true));
        assert_eq!(verify("open Sesame", Some(&hash)).unwrap(), PasswordOutcome::Verified(false));
        assert_eq!(verify("open sesame", None).unwrap(), PasswordOutcome::Verified(false));
    }

    #[test]
    fn two_salts_give_two_hashes() {
        assert_ne!(hash("x", 1), hash("x", 2));
    }

    #[test]
    fn hash_that_is_invalid_or_too_costly_is_rejected_before_computing() {
        let tail = "$AQEBAQEBAQEBAQEBAQEBAQ$AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";
        for hash in [
            String::new(),
            "secret".to_owned(),
            format!("$argon2id$v=19$m=4194304,t=2,p=1{tail}"),
            format!("$argon2id$v=19$m=19456,t=4000,p=1{tail}"),
            format!("$argon2d$v=19$m=19456,t=2,p=1{tail}"),
            "$argon2id$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEBAQEBAQ".to_owned(),
            "x".repeat(PASSWORD_HASH_BYTES_MAX + 1),
        ] {
            let error = PasswordWork::verify("x".to_owned(), Some(hash.clone())).err();
            assert!(matches!(error, Some(PasswordError::Hash)), "{hash:.60}");
        }
        let long = PasswordWork::hash("x".repeat(PASSWORD_BYTES_MAX + 1), [1; 16]);
        assert!(matches!(long.err(), Some(PasswordError::TooLong)));
    }
}
