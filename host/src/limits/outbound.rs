//! Limits of outgoing calls, of destinations, and of their tokens.

// Outgoing calls.

/// Bytes of the URL of a call. Servers and proxies truncate longer ones.
pub const OUTBOUND_URL_BYTES_MAX: usize = 2_048;
/// Addresses of one name that are tried. They share the connect timeout.
pub const OUTBOUND_ADDRESSES_TRIED: u32 = 4;
/// Addresses of one name that are examined. A name with more is not that of a receiver.
pub const OUTBOUND_ADDRESSES_MAX: usize = 64;
/// Concurrent name lookups of all calls of the host. Each holds a thread of the runtime until the system responds,
/// which takes some ten seconds for an unresponsive name server. Half of those threads stay free for files.
pub const OUTBOUND_LOOKUPS_MAX: u64 = 256;
/// The same for one organization, with all of its environments and plugins, and for the host itself.
pub const OUTBOUND_LOOKUPS_EACH_MAX: u64 = OUTBOUND_LOOKUPS_MAX / 4;
/// Milliseconds for the lookup, the connection and TLS together.
pub const OUTBOUND_CONNECT_MS: u64 = 3_000;
/// Bytes that are read of a response besides its body: status, headers, interim responses, the framing of a chunked
/// body.
pub const OUTBOUND_HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of a response between two waits for the pace of its party. One read may return some more.
pub const OUTBOUND_PACED_READ_BYTES: usize = 32 << 10;
/// Bytes that take a microsecond of one core of that pace: 32 MB a second with two cores.
pub const OUTBOUND_BYTES_PER_CORE_US: u64 = 16;
/// Headers of a response.
pub const OUTBOUND_HEADERS_MAX: usize = 100;
/// Idle connections to one origin: as many as an endpoint queue has concurrent first attempts.
pub const OUTBOUND_IDLE_PER_ORIGIN_MAX: usize = 16;
/// Idle connections to all origins together.
pub const OUTBOUND_IDLE_MAX: usize = 512;
/// Milliseconds that an idle connection is kept. Servers close theirs after 5 to 75 seconds.
pub const OUTBOUND_IDLE_MS: u64 = 15_000;
/// Milliseconds after which a connection is not reused, so that calls follow a name to its new address.
pub const OUTBOUND_CONNECTION_MS_MAX: u64 = 120_000;
/// Milliseconds between two searches for expired idle connections.
pub const OUTBOUND_IDLE_CHECK_MS: u64 = 5_000;
/// TLS sessions that can be resumed, so that a later connection to the same origin needs no full handshake.
pub const OUTBOUND_TLS_SESSIONS: usize = 1_024;

// Destinations.

/// Destinations of one tenant: its own partners and nodes, configured individually.
pub const DESTINATIONS_MAX: u32 = 100;
/// Bytes of the name of a destination.
pub const DESTINATION_NAME_BYTES_MAX: usize = 64;
/// Bytes of one setting or secret of a destination. A token with signed claims has one or two thousand.
pub const DESTINATION_VALUE_BYTES_MAX: usize = 8 << 10;
/// Settings, and secrets, of one destination: more than any kind has.
pub const DESTINATION_VALUES_MAX: usize = 16;
/// Headers that a plugin may send, and their bytes. Servers reject longer heads.
pub const OUTGOING_HEADERS_MAX: usize = 64;
pub const OUTGOING_HEADER_BYTES_MAX: usize = 16 << 10;
/// Bytes of the body of a response. A longer one is an error.
pub const DESTINATION_RESPONSE_BYTES_MAX: usize = 1 << 20;
/// Bytes of the body of a stored message that operators receive.
pub const OUTBOX_BODY_PREVIEW_BYTES: u32 = 16 << 10;
/// Milliseconds of one attempt at a destination for which neither the call nor the operator defines a timeout.
pub const DESTINATION_TIMEOUT_MS: u64 = 15_000;

// OAuth 2.0 tokens.

/// Timeout of a token request, in milliseconds.
pub const TOKEN_REQUEST_MS: u64 = 10_000;
/// Bytes of the response of a token endpoint.
pub const TOKEN_RESPONSE_BYTES_MAX: usize = 64 << 10;
/// How long a token is used if its endpoint does not define its lifetime. Short, so that a revoked token is not used
/// for long.
pub const TOKEN_LIFETIME_DEFAULT_MS: u64 = 60_000;
/// How long a token is used at most, regardless of its endpoint.
pub const TOKEN_LIFETIME_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How long before its expiry a token is no longer used, because a request takes time. A tenth of its lifetime if that
/// is less.
pub const TOKEN_MARGIN_MS: u64 = 30_000;
/// Tokens in memory.
pub const TOKENS_KEPT_MAX: usize = 10_000;
/// Tokens that are evicted together if the cache is full.
pub const TOKENS_DROPPED: usize = 100;
