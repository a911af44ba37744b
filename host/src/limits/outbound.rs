//! Numbers of outgoing calls, of destinations, and of the tokens that they need.

// Outgoing calls.

/// Bytes of the address of a call. Longer ones are cut by servers and proxies.
pub const OUTBOUND_URL_BYTES_MAX: usize = 2_048;
/// Addresses of one name that are tried; they share the time for connecting.
pub const OUTBOUND_ADDRESSES_TRIED: u32 = 4;
/// Addresses of one name that are looked at; a name with more is not that of a receiver.
pub const OUTBOUND_ADDRESSES_MAX: usize = 64;
/// Names looked up at the same time by all calls of the host. Each holds a thread of the runtime until the system has answered,
/// which takes it some ten seconds where a name server is silent; half of those threads stay free for files.
pub const OUTBOUND_LOOKUPS_MAX: u64 = 256;
/// The same for one organization, with all of its environments and plugins, and for the host itself.
pub const OUTBOUND_LOOKUPS_EACH_MAX: u64 = OUTBOUND_LOOKUPS_MAX / 4;
/// Milliseconds for looking up, connecting and TLS together.
pub const OUTBOUND_CONNECT_MS: u64 = 3_000;
/// Bytes that are read of an answer besides its body: status, headers, interim answers, the frames of a chunked body.
pub const OUTBOUND_HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read of an answer before the pace of its party is waited for; one reading may bring some more.
pub const OUTBOUND_TURN_BYTES: usize = 32 << 10;
/// Bytes that take a microsecond of one core of that pace: 32 MB a second with two cores.
pub const OUTBOUND_BYTES_PER_CORE_US: u64 = 16;
/// Headers of an answer.
pub const OUTBOUND_HEADERS_MAX: usize = 100;
/// Connections to one place that wait for the next call: as many as a lane has calls running.
pub const OUTBOUND_IDLE_PER_PLACE_MAX: usize = 16;
/// The same for all places: descriptors that nobody uses.
pub const OUTBOUND_IDLE_MAX: usize = 512;
/// Milliseconds that a connection waits for the next call. Servers close theirs after 5 to 75 seconds.
pub const OUTBOUND_IDLE_MS: u64 = 15_000;
/// Milliseconds after which a connection is used no more: a name that moves to another address is followed.
pub const OUTBOUND_CONNECTION_MS_MAX: u64 = 120_000;
/// Milliseconds between two looks for connections that have waited too long.
pub const OUTBOUND_IDLE_LOOK_MS: u64 = 5_000;
/// TLS sessions that can be resumed: a later connection to the same place then needs no full handshake.
pub const OUTBOUND_TLS_SESSIONS: usize = 1_024;

// Destinations.

/// Destinations of one tenant: partners and nodes of its own, named one by one.
pub const DESTINATIONS_MAX: u32 = 100;
/// Bytes of the name of a destination.
pub const DESTINATION_NAME_BYTES_MAX: usize = 64;
/// Bytes of one setting or secret of a destination: a token with signed claims has one or two thousand.
pub const DESTINATION_VALUE_BYTES_MAX: usize = 8 << 10;
/// Settings, and secrets, of one destination: more than any kind has.
pub const DESTINATION_VALUES_MAX: usize = 16;
/// Headers that a plugin may send along, and their bytes: servers refuse longer heads.
pub const OUTGOING_HEADERS_MAX: usize = 64;
pub const OUTGOING_HEADER_BYTES_MAX: usize = 16 << 10;
/// Bytes of the body of an answer; a longer one is no answer.
pub const DESTINATION_ANSWER_BYTES_MAX: usize = 1 << 20;
/// Bytes of the body of a stored message that operators are shown.
pub const OUTBOX_SHOWN_BYTES: u32 = 16 << 10;
/// Milliseconds of one attempt at a destination where neither the call nor the operator says anything.
pub const DESTINATION_TIMEOUT_MS: u64 = 15_000;

// Tokens of OAuth 2.0.

/// Milliseconds to get one.
pub const TOKEN_REQUEST_MS: u64 = 10_000;
/// Bytes of the answer of a token endpoint.
pub const TOKEN_ANSWER_BYTES_MAX: usize = 64 << 10;
/// How long a token is used where its endpoint does not say: short, so that one that was taken back is not used for long.
pub const TOKEN_LIFE_DEFAULT_MS: u64 = 60_000;
/// How long it is used at most, whatever its endpoint says.
pub const TOKEN_LIFE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How long before its end it is used no more: a request is under way for a while. A tenth of its life where that is less.
pub const TOKEN_MARGIN_MS: u64 = 30_000;
/// Tokens in memory.
pub const TOKENS_KEPT_MAX: usize = 10_000;
/// Tokens that are dropped at once if there is no room for another.
pub const TOKENS_DROPPED: usize = 100;
