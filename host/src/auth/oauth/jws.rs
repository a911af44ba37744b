//! Parser of a compact JWS (RFC 7515) and its claims (RFC 7519). The content is unverified.
//!
//! Pure. Supports three algorithms. A header with "none" or a symmetric algorithm is rejected. Keys in a header (jwk,
//! jku, x5c) are never read.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::limits::{SIGNED_TOKEN_BYTES_MAX, TOKEN_LEEWAY_MS};

/// Signature algorithm of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub const ALL: [Algorithm; 3] = [Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];

    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    pub fn parse(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    /// Extensions that a reader must understand. None is supported.
    crit: Option<Value>,
}

/// A parsed, unverified JWS.
pub(super) struct Jws<'t> {
    pub algorithm: Algorithm,
    /// In lower case, without "application/".
    pub kind: Option<String>,
    pub key_id: Option<String>,
    /// Header and payload as they are in the text: the signed bytes.
    pub signed: &'t [u8],
    pub signature: Vec<u8>,
    payload: Vec<u8>,
}

impl<'t> Jws<'t> {
    /// Parses a text. The error is for the log.
    pub fn parse(text: &'t str) -> Result<Jws<'t>, &'static str> {
        if text.len() > SIGNED_TOKEN_BYTES_MAX {
            return Err("it is too long");
        }
        let (signed, signature) = text.rsplit_once('.').ok_or("it does not have three parts")?;
        let (header, payload) = signed.split_once('.').ok_or("it does not have three parts")?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| "a part of it is not base64url");
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| "its header cannot be read")?;
        if header.crit.is_some() {
            return Err("its header requires an extension");
        }
        let kind = header.typ.map(|kind| kind.to_ascii_lowercase());
        Ok(Jws {
            algorithm: Algorithm::parse(&header.alg).ok_or("its algorithm is not allowed")?,
            kind: kind.map(|kind| kind.strip_prefix("application/").unwrap_or(&kind).to_owned()),
            key_id: header.kid,
            signed: signed.as_bytes(),
            signature: decode(signature)?,
            payload: decode(payload)?,
        })
    }

    /// Parses the claims.
    pub fn claims(&self) -> Result<Claims, &'static str> {
        serde_json::from_slice(&self.payload).map_err(|_| "its claims cannot be read")
    }
}

#[derive(Deserialize)]
pub(super) struct Claims {
    pub iss: String,
    pub sub: String,
    pub aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    pub jti: Option<String>,
    pub client_id: Option<String>,
    pub scope: Option<String>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    pub fn has(&self, audience: &str) -> bool {
        match self {
            Audience::One(one) => one == audience,
            Audience::Many(many) => many.iter().any(|one| one == audience),
        }
    }
}

impl Claims {
    /// Checks that the claims are valid at this time, with a tolerance for differing clocks.
    pub fn check_times(&self, now: Timestamp) -> Result<(), &'static str> {
        let until = self.expires_at().saturating_add(TOKEN_LEEWAY_MS);
        let latest = now.saturating_add(TOKEN_LEEWAY_MS);
        if now >= until {
            return Err("it has expired");
        }
        if self.nbf.is_some_and(|from| milliseconds(from) > latest) {
            return Err("it is not valid yet");
        }
        if self.iat.is_some_and(|from| milliseconds(from) > latest) {
            return Err("it was issued in the future");
        }
        Ok(())
    }

    pub fn expires_at(&self) -> Timestamp {
        milliseconds(self.exp)
    }
}

/// Converts seconds, perhaps with a fraction. NaN and negative numbers become 0.
fn milliseconds(seconds: f64) -> Timestamp {
    (seconds.max(0.0) * 1_000.0) as Timestamp
}
