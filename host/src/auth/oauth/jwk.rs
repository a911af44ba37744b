//! Public keys as JSON (RFC 7517), and verification with them.
//!
//! Invariant: a key has one algorithm, derived from its type, and verifies no signature that names another. So a public
//! key is never used as a shared secret. A set that contains a private key is rejected.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::jws::{Algorithm, Jws};
use crate::limits::{JWKS_BYTES_MAX, JWKS_KEYS_MAX};

/// Bytes of the modulus of an RSA key: 2048 to 4096 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    pub id: Option<String>,
    pub algorithm: Algorithm,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point of P-256, or a key of Ed25519.
    Curve(Vec<u8>),
}

/// The supported keys of a set.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<PublicKey>);

/// The members of a key that are read.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(rename = "use")]
    used_for: Option<String>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    /// Private parts, and the secret of a symmetric key.
    d: Option<serde::de::IgnoredAny>,
    k: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Parses a JWKS. Skips keys that are malformed or have another type, use or algorithm. At least one key must be
    /// supported.
    ///
    /// # Errors
    /// The message is a sentence without its subject.
    pub fn parse(text: &str) -> Result<KeySet, &'static str> {
        if text.len() > JWKS_BYTES_MAX {
            return Err("is too long");
        }
        let set: Jwks = serde_json::from_str(text).map_err(|_| "is not a JSON object with a list \"keys\"")?;
        if set.keys.len() > JWKS_KEYS_MAX {
            return Err("has too many keys");
        }
        let mut keys = Vec::new();
        for key in set.keys {
            let Ok(jwk) = serde_json::from_value::<Jwk>(key) else { continue };
            if jwk.d.is_some() || jwk.k.is_some() {
                return Err("contains a private key or a shared secret: only public keys are allowed");
            }
            keys.extend(PublicKey::read(jwk));
        }
        if keys.is_empty() { Err("has no public key for RS256, ES256 or EdDSA") } else { Ok(KeySet(keys)) }
    }

    /// Returns true if one of the keys that the header may refer to has made the signature.
    pub(super) fn verifies(&self, jws: &Jws<'_>) -> bool {
        self.candidates(jws).any(|key| key.verifies(jws))
    }

    /// Returns true if there is a key that the header may refer to.
    pub(super) fn knows(&self, jws: &Jws<'_>) -> bool {
        self.candidates(jws).next().is_some()
    }

    fn candidates(&self, jws: &Jws<'_>) -> impl Iterator<Item = &PublicKey> {
        let named = move |key: &PublicKey| jws.key_id.is_none() || key.id == jws.key_id;
        self.0.iter().filter(move |key| key.algorithm == jws.algorithm && named(key))
    }
}

impl From<Vec<PublicKey>> for KeySet {
    fn from(keys: Vec<PublicKey>) -> KeySet {
        KeySet(keys)
    }
}

impl PublicKey {
    pub fn rsa(id: String, modulus: Vec<u8>, exponent: Vec<u8>) -> PublicKey {
        PublicKey { id: Some(id), algorithm: Algorithm::Rs256, material: Material::Rsa { modulus, exponent } }
    }

    pub fn curve(id: String, algorithm: Algorithm, bytes: Vec<u8>) -> PublicKey {
        PublicKey { id: Some(id), algorithm, material: Material::Curve(bytes) }
    }

    fn read(jwk: Jwk) -> Option<PublicKey> {
        if jwk.used_for.is_some_and(|used_for| used_for != "sig") {
            return None;
        }
        let part = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let (algorithm, material) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let modulus = part(&jwk.n).filter(|modulus| MODULUS_BYTES.contains(&modulus.len()))?;
                (Algorithm::Rs256, Material::Rsa { modulus, exponent: part(&jwk.e)? })
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (part(&jwk.x)?, part(&jwk.y)?);
                let point = (x.len() == 32 && y.len() == 32).then(|| [&[4_u8], x.as_slice(), &y].concat())?;
                (Algorithm::Es256, Material::Curve(point))
            }
            ("OKP", Some("Ed25519")) => (Algorithm::EdDsa, Material::Curve(part(&jwk.x)?)),
            _ => return None,
        };
        let fits = jwk.alg.is_none_or(|named| named == algorithm.name());
        fits.then_some(PublicKey { id: jwk.kid, algorithm, material })
    }

    fn verifies(&self, jws: &Jws<'_>) -> bool {
        let (signed, signature) = (jws.signed, jws.signature.as_slice());
        let verified = match (&self.material, self.algorithm) {
            (Material::Rsa { modulus, exponent }, _) => RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                signed,
                signature,
            ),
            (Material::Curve(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            (Material::Curve(point), _) => UnparsedPublicKey::new(&ED25519, point).verify(signed, signature),
        };
        verified.is_ok()
    }
}
