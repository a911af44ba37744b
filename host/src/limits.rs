//! Every number of the host that an operator does not set: name with unit, value, why.

// Keys.

/// 62^32 is 190 bits: nobody guesses one, and a plain hash of it is enough.
pub const KEY_SECRET_CHARACTERS: usize = 32;
/// How long a looked-up key is believed: another process on the same database may revoke it.
pub const KEY_CACHE_MS: u64 = 5_000;
/// Keys remembered, and as many wrong ones: a few megabytes.
pub const KEY_CACHE_ENTRIES: usize = 10_000;
/// Keys looked up in the database at the same time; the others wait, and mostly find the answer remembered.
pub const KEY_LOOKUPS_AT_ONCE: usize = 4;
/// Last use of a key is kept to the minute: one write for thousands of requests.
pub const KEY_USE_GRAIN_MS: u64 = 60_000;
/// The old key and the new one while a caller rotates.
pub const LIVE_KEYS_PER_OWNER: usize = 2;

// HTTP.

/// Head of a request: request line and headers. Larger is 431 before anything is routed.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Requests at the same time on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION: u32 = 128;
/// A connection on which nothing was served for this long is closed (at the latest after twice as long).
pub const CONNECTION_IDLE_MS: u64 = 75_000;
/// Pause after the system refused a connection (out of descriptors), so that the loop does not spin.
pub const ACCEPT_PAUSE_MS: u64 = 50;
/// Of a refused body, what is still read so that the caller can see the answer.
pub const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// For as long as this.
pub const DISCARD_MS: u64 = 500;
/// Parameters of one query.
pub const QUERY_PARAMETERS_MAX: usize = 256;
/// Characters of an X-Request-Id that a caller may choose.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 64;
/// Characters of an Idempotency-Key.
pub const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;
/// Callers remembered by one rate limiter before those that are idle are dropped.
pub const RATE_CALLERS_MAX: usize = 100_000;
/// Seconds that a browser may remember a preflight.
pub const CORS_PREFLIGHT_SECONDS: u32 = 600;
