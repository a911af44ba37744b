//! A token key: generation, loading, signing, and its public half.
//!
//! `ring` signs in constant time. It cannot generate RSA keys, so the crate `rsa` does. A key is generated only at a
//! rotation, or at a start without a key of the chosen algorithm.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair},
};
use rsa::pkcs8::EncodePrivateKey;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{OAuthError, jwk::PublicKey, jws::Algorithm};
use crate::limits::RSA_KEY_BITS;

pub(super) struct SigningKey {
    /// The thumbprint of the public key (RFC 7638).
    pub id: String,
    pub algorithm: Algorithm,
    pair: Pair,
    /// Members that the thumbprint is computed from.
    members: Map<String, Value>,
    public: PublicKey,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    P256(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

/// Generates a key and returns it as PKCS #8.
pub(super) fn generate(algorithm: Algorithm) -> Result<Zeroizing<Vec<u8>>, OAuthError> {
    let random = SystemRandom::new();
    let failed = |_| OAuthError::Key("cannot be generated");
    match algorithm {
        Algorithm::Es256 => {
            let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(failed)?;
            Ok(Zeroizing::new(key.as_ref().to_vec()))
        }
        Algorithm::EdDsa => {
            let key = Ed25519KeyPair::generate_pkcs8(&random).map_err(failed)?;
            Ok(Zeroizing::new(key.as_ref().to_vec()))
        }
        Algorithm::Rs256 => {
            let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, RSA_KEY_BITS);
            let key = key.map_err(|_| OAuthError::Key("cannot be generated"))?;
            let bytes = key.to_pkcs8_der().map_err(|_| OAuthError::Key("cannot be serialised"))?;
            Ok(Zeroizing::new(bytes.as_bytes().to_vec()))
        }
    }
}

impl SigningKey {
    pub fn load(algorithm: Algorithm, pkcs8: &[u8]) -> Result<SigningKey, OAuthError> {
        let unreadable = |_| OAuthError::Key("cannot be read");
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (pair, members, curve) = match algorithm {
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &SystemRandom::new());
                let pair = pair.map_err(unreadable)?;
                let point = pair.public_key().as_ref().to_vec();
                let (x, y) = point.get(1..).unwrap_or_default().split_at_checked(32).unwrap_or_default();
                let members = json!({ "crv": "P-256", "kty": "EC", "x": text(x), "y": text(y) });
                (Pair::P256(Box::new(pair)), members, point)
            }
            Algorithm::EdDsa => {
                let pair = Ed25519KeyPair::from_pkcs8(pkcs8).map_err(unreadable)?;
                let point = pair.public_key().as_ref().to_vec();
                let members = json!({ "crv": "Ed25519", "kty": "OKP", "x": text(&point) });
                (Pair::Ed25519(Box::new(pair)), members, point)
            }
            Algorithm::Rs256 => {
                let pair = RsaKeyPair::from_pkcs8(pkcs8).map_err(unreadable)?;
                let public: PublicKeyComponents<Vec<u8>> = pair.public().into();
                let members = json!({ "e": text(&public.e), "kty": "RSA", "n": text(&public.n) });
                return Ok(SigningKey::with(Pair::Rsa(Box::new(pair)), members, |id| {
                    PublicKey::rsa(id, public.n, public.e)
                }));
            }
        };
        Ok(SigningKey::with(pair, members, |id| PublicKey::curve(id, algorithm, curve)))
    }

    fn with(pair: Pair, members: Value, public: impl FnOnce(String) -> PublicKey) -> SigningKey {
        // The names are sorted and the text has no blanks, as the thumbprint requires.
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(members.to_string()));
        let public = public(id.clone());
        let members = members.as_object().cloned().unwrap_or_default();
        SigningKey { id, algorithm: public.algorithm, pair, members, public }
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the public half as a JWK.
    pub fn jwk(&self) -> Value {
        let mut members = self.members.clone();
        for (name, value) in [("kid", self.id.as_str()), ("alg", self.algorithm.name()), ("use", "sig")] {
            members.insert(name.to_owned(), Value::from(value));
        }
        Value::Object(members)
    }

    /// Signs claims and returns a compact JWS of this type.
    pub fn sign(&self, kind: &str, claims: &Value) -> Result<String, OAuthError> {
        let header = json!({ "alg": self.algorithm.name(), "typ": kind, "kid": self.id });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let mut text = format!("{}.{}", part(&header), part(claims));
        let signature = self.signature(text.as_bytes())?;
        text.push('.');
        text.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(text)
    }

    pub(super) fn signature(&self, signed: &[u8]) -> Result<Vec<u8>, OAuthError> {
        let random = SystemRandom::new();
        let failed = |_| OAuthError::Key("cannot sign");
        match &self.pair {
            Pair::P256(pair) => Ok(pair.sign(&random, signed).map_err(failed)?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(signed).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, signed, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}
