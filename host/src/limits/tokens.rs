//! Limits of the tokens that the host itself issues and accepts.

/// OAuth clients, revoked ones included. All clients are in memory.
pub const CLIENTS_MAX: usize = 10_000;
/// How long the previous secret is valid after a rotation.
pub const CLIENT_SECRET_OVERLAP_MS: u64 = 24 * 60 * 60 * 1_000;
/// Bytes of a form at the token endpoint: an assertion and a few names.
pub const TOKEN_FORM_BYTES_MAX: u64 = 32 << 10;
/// Token requests, per second and at once: of one address before anything is read, and of one client.
pub const TOKEN_RATE_PER_ADDRESS: (u32, u32) = (200, 400);
pub const TOKEN_RATE_PER_CLIENT: (u32, u32) = (20, 100);
/// Bytes of a signed token or assertion.
pub const SIGNED_TOKEN_BYTES_MAX: usize = 8 << 10;
/// Maximum difference between two clocks.
pub const TOKEN_LEEWAY_MS: u64 = 30_000;
/// Maximum remaining lifetime of an assertion. Its id is stored until then.
pub const ASSERTION_LIFETIME_MS_MAX: u64 = 5 * 60 * 1_000;
/// Bytes of the id of an assertion.
pub const ASSERTION_ID_BYTES_MAX: usize = 256;
/// Verified tokens that are cached until they expire. With more, all of them are evicted.
pub const VERIFIED_TOKENS_MAX: usize = 50_000;
/// Bytes of a set of public keys, and the number of its keys that are examined.
pub const JWKS_BYTES_MAX: usize = 48 << 10;
pub const JWKS_KEYS_MAX: usize = 32;
/// Timeout of a request for the public keys of another issuer, in milliseconds.
pub const JWKS_REQUEST_MS: u64 = 5_000;
/// How long a set of public keys is used before it is requested again.
pub const JWKS_AGE_MS_MAX: u64 = 10 * 60 * 1_000;
/// Interval between two requests for a set of public keys, regardless of the keys that tokens name.
pub const JWKS_PAUSE_MS: u64 = 60_000;
/// Keys of the host that verify at the same time: rotations within the lifetime of a token. A set of public keys stays
/// small.
pub const OWN_KEYS_MAX: usize = 8;
/// Bits of the RSA keys that the host generates.
pub const RSA_KEY_BITS: usize = 2_048;
