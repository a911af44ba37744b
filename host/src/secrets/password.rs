//! Passwords: argon2id. Says what there is to compute, and computes it; who does so takes a core for some 20 ms.
//!
//! Never decides who computes when. Wipes each password with its work, which lasts as long as the call it belongs to.
//! Invariant: a user that there is not takes as long as one that there is.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString},
};
use zeroize::Zeroizing;

use crate::limits::{
    PASSWORD_BYTES_MAX, PASSWORD_HASH_BYTES_MAX, PASSWORD_KIB, PASSWORD_KIB_MAX, PASSWORD_PASSES, PASSWORD_PASSES_MAX,
};

/// What stands in for the hash of a user that there is not.
const NOBODY: [u8; 16] = *b"nobody is called";

#[derive(Clone, Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("a password has at most {PASSWORD_BYTES_MAX} bytes")]
    TooLong,
    #[error("this is no hash of `hash-password`")]
    Hash,
    #[error("the password could not be hashed: {0}")]
    Broken(String),
}

/// What is to be computed of a password, which is wiped with it. Equal where the outcome would be.
#[derive(PartialEq, Eq)]
pub struct PasswordWork {
    password: Zeroizing<String>,
    wish: Wish,
}

#[derive(PartialEq, Eq)]
enum Wish {
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
    /// # Errors
    /// `TooLong`.
    pub fn hash(password: String, salt: [u8; 16]) -> Result<PasswordWork, PasswordError> {
        PasswordWork::new(password, Wish::Hash { salt })
    }

    /// Whether it is the one of that hash. `None`: as slow, and false.
    ///
    /// # Errors
    /// `TooLong`, and `Hash` for what was not made by `hash`, or would cost more.
    pub fn verify(password: String, hash: Option<String>) -> Result<PasswordWork, PasswordError> {
        let work = PasswordWork::new(password, Wish::Verify { hash })?;
        if let Wish::Verify { hash: Some(hash) } = &work.wish {
            check(hash)?;
        }
        Ok(work)
    }

    fn new(password: String, wish: Wish) -> Result<PasswordWork, PasswordError> {
        let password = Zeroizing::new(password);
        if password.len() > PASSWORD_BYTES_MAX {
            Err(PasswordError::TooLong)
        } else {
            Ok(PasswordWork { password, wish })
        }
    }

    /// Takes a core and `PASSWORD_KIB` for some 20 ms: call it where blocking is allowed.
    pub fn compute(&self) -> Result<PasswordOutcome, PasswordError> {
        match &self.wish {
            Wish::Hash { salt } => self.hash_with(*salt).map(PasswordOutcome::Hash),
            Wish::Verify { hash: None } => self.hash_with(NOBODY).map(|_| PasswordOutcome::Verified(false)),
            Wish::Verify { hash: Some(hash) } => {
                let hash = PasswordHash::new(hash).map_err(|_| PasswordError::Hash)?;
                Ok(PasswordOutcome::Verified(ours()?.verify_password(self.password.as_bytes(), &hash).is_ok()))
            }
        }
    }

    fn hash_with(&self, salt: [u8; 16]) -> Result<String, PasswordError> {
        let salt = SaltString::encode_b64(&salt).map_err(broken)?;
        Ok(ours()?.hash_password(self.password.as_bytes(), &salt).map_err(broken)?.to_string())
    }
}

fn ours() -> Result<Argon2<'static>, PasswordError> {
    let params = Params::new(PASSWORD_KIB, PASSWORD_PASSES, 1, None).map_err(broken)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// What it costs is written in the hash: one that was made elsewhere must not cost what it likes.
fn check(hash: &str) -> Result<(), PasswordError> {
    if hash.len() > PASSWORD_HASH_BYTES_MAX {
        return Err(PasswordError::Hash);
    }
    let parsed = PasswordHash::new(hash).map_err(|_| PasswordError::Hash)?;
    let params = Params::try_from(&parsed).map_err(|_| PasswordError::Hash)?;
    let bounded = params.m_cost() <= PASSWORD_KIB_MAX && params.t_cost() <= PASSWORD_PASSES_MAX && params.p_cost() == 1;
    let sound = bounded && parsed.algorithm.as_str() == "argon2id" && parsed.hash.is_some();
    if sound { Ok(()) } else { Err(PasswordError::Hash) }
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
            PasswordOutcome::Verified(_) => panic!("a hash was asked for"),
        }
    }

    fn verify(text: &str, hash: Option<&str>) -> Result<PasswordOutcome, PasswordError> {
        PasswordWork::verify(text.to_owned(), hash.map(str::to_owned)).and_then(|work| work.compute())
    }

    #[test]
    fn a_password_is_recognised_by_its_hash_and_no_other_is() {
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
    fn what_costs_too_much_or_is_no_hash_is_refused_before_it_costs_anything() {
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
            let refused = PasswordWork::verify("x".to_owned(), Some(hash.clone())).err();
            assert!(matches!(refused, Some(PasswordError::Hash)), "{hash:.60}");
        }
        let long = PasswordWork::hash("x".repeat(PASSWORD_BYTES_MAX + 1), [1; 16]);
        assert!(matches!(long.err(), Some(PasswordError::TooLong)));
    }
}
