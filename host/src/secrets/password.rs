//! Passwords: argon2id, on threads of their own, a few at a time. The others wait for their turn.
//!
//! Never keeps a password, wipes what it was given. Invariant: a user that there is not takes as long as one that there is.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString},
};
use tokio::{sync::Semaphore, task::spawn_blocking};
use zeroize::Zeroizing;

use crate::limits::{
    PASSWORD_BYTES_MAX, PASSWORD_HASH_BYTES_MAX, PASSWORD_KIB, PASSWORD_KIB_MAX, PASSWORD_PASSES, PASSWORD_PASSES_MAX,
    PASSWORDS_AT_ONCE,
};

/// Of the whole process: each takes a core and its memory while it runs.
static TURNS: Semaphore = Semaphore::const_new(PASSWORDS_AT_ONCE);

/// What stands in for the hash of a user that there is not.
const NOBODY: [u8; 16] = *b"nobody is called";

#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("a password has at most {PASSWORD_BYTES_MAX} bytes")]
    TooLong,
    #[error("this is no hash of `hash-password`")]
    Hash,
    #[error("the password could not be hashed: {0}")]
    Broken(String),
}

/// A password on its way. Wiped when dropped.
pub struct Password(Zeroizing<String>);

impl Password {
    /// # Errors
    /// `TooLong`.
    pub fn new(text: String) -> Result<Password, PasswordError> {
        let text = Zeroizing::new(text);
        if text.len() > PASSWORD_BYTES_MAX { Err(PasswordError::TooLong) } else { Ok(Password(text)) }
    }

    /// "$argon2id$v=19$m=…,t=…,p=…$salt$hash"
    pub async fn hash(self, salt: [u8; 16]) -> Result<String, PasswordError> {
        in_turn(move || self.hash_now(salt)).await
    }

    /// Whether it is the one of that hash. `None`: as slow, and false.
    pub async fn verify(self, hash: Option<String>) -> Result<bool, PasswordError> {
        let Some(hash) = hash else {
            return in_turn(move || self.hash_now(NOBODY).map(|_| false)).await;
        };
        check(&hash)?;
        in_turn(move || {
            let hash = PasswordHash::new(&hash).map_err(|_| PasswordError::Hash)?;
            Ok(ours()?.verify_password(self.0.as_bytes(), &hash).is_ok())
        })
        .await
    }

    fn hash_now(&self, salt: [u8; 16]) -> Result<String, PasswordError> {
        let salt = SaltString::encode_b64(&salt).map_err(broken)?;
        Ok(ours()?.hash_password(self.0.as_bytes(), &salt).map_err(broken)?.to_string())
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

/// The turn ends with the work, even where nobody waits for it any more.
async fn in_turn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
) -> Result<T, PasswordError> {
    let turn = TURNS.acquire().await.map_err(broken)?;
    let done = spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.map_err(broken)?
}

fn broken(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Password {
        Password::new(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_password_is_recognised_by_its_hash_and_no_other_is() {
        let hash = password("open sesame").hash([1; 16]).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !hash.contains("sesame"), "{hash}");
        assert!(password("open sesame").verify(Some(hash.clone())).await.unwrap());
        assert!(!password("open Sesame").verify(Some(hash)).await.unwrap());
        assert!(!password("open sesame").verify(None).await.unwrap());
    }

    #[tokio::test]
    async fn two_salts_give_two_hashes() {
        let [one, two] = [[1; 16], [2; 16]].map(|salt| password("x").hash(salt));
        assert_ne!(one.await.unwrap(), two.await.unwrap());
    }

    #[tokio::test]
    async fn what_costs_too_much_or_is_no_hash_is_refused_before_it_costs_anything() {
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
            assert!(matches!(password("x").verify(Some(hash.clone())).await, Err(PasswordError::Hash)), "{hash:.60}");
        }
        assert!(matches!(Password::new("x".repeat(PASSWORD_BYTES_MAX + 1)), Err(PasswordError::TooLong)));
    }

    #[tokio::test]
    async fn those_that_come_together_wait_for_their_turn_and_none_is_refused() {
        let several = (0..PASSWORDS_AT_ONCE * 3).map(|_| password("x").verify(None));
        assert!(futures_util::future::join_all(several).await.into_iter().all(|verified| !verified.unwrap()));
    }
}
