//! Limits of events: signatures of webhooks, pulled events, and streams.

// Signatures of webhooks.

/// Bytes of a signing secret, as Standard Webhooks defines.
pub const SIGNING_SECRET_BYTES_MIN: usize = 24;
pub const SIGNING_SECRET_BYTES_MAX: usize = 64;
/// Maximum difference between the timestamp of an attempt and the receiver's clock, in seconds.
pub const SIGNATURE_AGE_SECONDS_MAX: u64 = 300;
/// Signatures in one header that a receiver verifies. A rotation has two. More would let a sender cost it hours of
/// computation.
pub const SIGNATURES_CHECKED_MAX: usize = 16;

// Pulled events.

/// Events of one page.
pub const FEED_LISTED_MAX: u32 = 100;
/// Events that are examined for one page, whether they match or not: some milliseconds.
pub const FEED_EXAMINED_MAX: usize = 1_000;
/// Bytes of bodies that are examined for one page. At least one body is.
pub const FEED_BYTES_MAX: usize = 1 << 20;

// Streams of events.

/// Concurrent streams of all tenants. Each holds a connection, a task and a small buffer.
pub const STREAMS_MAX: usize = 10_000;
/// Concurrent streams of one tenant.
pub const STREAMS_PER_TENANT_MAX: usize = 2_000;
/// Chunks that wait for a reader before nothing more is read for it. The connection holds another one.
pub const STREAM_CHUNKS_WAITING_MAX: usize = 1;
/// Events of one tenant that a stream may lag behind before it reads the stored feed again.
pub const STREAM_EVENTS_KEPT: usize = 128;
/// Bytes of an event that is passed to streams as it is committed. Larger ones are read from the stored feed.
pub const STREAM_EVENT_BYTES_KEPT: usize = 16 << 10;
/// Microseconds that a chunk takes of the rate of its tenant's streams, which limits them to 5 000 a second together. A
/// chunk costs 25 to 60 µs of processor time, so the streams of a tenant use about a quarter of a core.
pub const STREAM_CHUNK_US: u64 = 200;
/// Bytes of a chunk that take another microsecond: 100 MB a second.
pub const STREAM_BYTES_PER_US: u64 = 100;
/// How long a stream may be silent. Proxies close connections without traffic for half a minute.
pub const STREAM_HEARTBEAT_MS: u64 = 15_000;
/// How long a reader may accept nothing.
pub const STREAM_STALL_MS: u64 = 30_000;
/// Lifetime of one stream. Its reader then reconnects with its key, which may have been revoked meanwhile.
pub const STREAM_LIFETIME_MS: u64 = 10 * 60 * 1_000;
/// How long a browser waits before it reconnects.
pub const STREAM_RETRY_MS: u64 = 2_000;
/// Events that are read from the stored feed at once, and their bytes.
pub const STREAM_PAGE_ROWS: usize = 256;
pub const STREAM_PAGE_BYTES: usize = 64 << 10;
/// Charge before a page is read: its events, the chunk that is made of them, and the rows besides their bodies.
pub const STREAM_PAGE_CHARGE_BYTES: u64 = (2 * STREAM_PAGE_BYTES + 512 * STREAM_PAGE_ROWS) as u64;
