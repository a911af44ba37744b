//! Numbers of the tokens that the host itself gives out and takes.

/// Clients, revoked ones included: all of them are in memory.
pub const CLIENTS_MAX: usize = 10_000;
/// How long the secret before the last rotation is good for.
pub const CLIENT_SECRET_OVERLAP_MS: u64 = 24 * 60 * 60 * 1_000;
/// Bytes of a form at the token endpoint: an assertion and a few names.
pub const TOKEN_FORM_BYTES_MAX: u64 = 32 << 10;
/// Requests for a token, a second and at once: of one address before anything is read, and of one client.
pub const TOKEN_RATE_PER_ADDRESS: (u32, u32) = (200, 400);
pub const TOKEN_RATE_PER_CLIENT: (u32, u32) = (20, 100);
/// Bytes of a signed token or assertion.
pub const SIGNED_TOKEN_BYTES_MAX: usize = 8 << 10;
/// How far two clocks may be apart.
pub const TOKEN_LEEWAY_MS: u64 = 30_000;
/// How far ahead an assertion may end: its id is remembered until then.
pub const ASSERTION_LIFE_MS_MAX: u64 = 5 * 60 * 1_000;
/// Bytes of the id of an assertion.
pub const ASSERTION_ID_BYTES_MAX: usize = 256;
/// Tokens that were verified and are remembered until they end.
pub const VERIFIED_TOKENS_MAX: usize = 50_000;
/// Bytes of a set of public keys, and how many of its keys are looked at.
pub const JWKS_BYTES_MAX: usize = 48 << 10;
pub const JWKS_KEYS_MAX: usize = 32;
/// Milliseconds to get such a set from another issuer.
pub const JWKS_REQUEST_MS: u64 = 5_000;
/// How long it is used before it is asked for again.
pub const JWKS_AGE_MS_MAX: u64 = 10 * 60 * 1_000;
/// Between two attempts to get it, whatever keys tokens name.
pub const JWKS_PAUSE_MS: u64 = 60_000;
/// Keys of the host that verify at the same time: rotations within the life of a token. A set of public keys stays small.
pub const OWN_KEYS_MAX: usize = 8;
/// Bits of the RSA keys that the host makes.
pub const RSA_KEY_BITS: usize = 2_048;
