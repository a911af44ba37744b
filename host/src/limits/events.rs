//! Numbers of events: signatures of webhooks, events that are pulled, and streams.

// Signatures of webhooks.

/// Bytes of a signing secret, as Standard Webhooks has it.
pub const SIGNING_SECRET_BYTES_MIN: usize = 24;
pub const SIGNING_SECRET_BYTES_MAX: usize = 64;
/// Seconds that the time of an attempt may be away from the receiver's clock.
pub const SIGNATURE_AGE_SECONDS_MAX: u64 = 300;
/// Signatures in one header that a receiver looks at: a rotation has two, and nobody makes it compute for hours.
pub const SIGNATURES_CHECKED_MAX: usize = 16;

// Events that are pulled.

/// Events of one page.
pub const FEED_LISTED_MAX: u32 = 100;
/// Events that are looked at for one page, whether they are shown or not: some milliseconds.
pub const FEED_LOOKED_AT_MAX: usize = 1_000;
/// Bodies that are looked at for one page; one is at least.
pub const FEED_BYTES_MAX: usize = 1 << 20;

// Streams of events.

/// Streams at once, of all tenants: each holds a connection, a task and a small buffer.
pub const STREAMS_MAX: usize = 10_000;
/// The same of one tenant.
pub const STREAMS_PER_TENANT_MAX: usize = 2_000;
/// Chunks that wait for a reader before nothing more is read for it; the connection holds another one.
pub const STREAM_CHUNKS_WAITING_MAX: usize = 1;
/// Events of one tenant that a stream may lag behind before it reads the stored feed again.
pub const STREAM_EVENTS_KEPT: usize = 128;
/// Bytes of an event that is passed on to streams as it is committed; larger ones are read from the stored feed.
pub const STREAM_EVENT_BYTES_KEPT: usize = 16 << 10;
/// Microseconds that a chunk takes of the rate of its tenant's streams: all of them send at most 5 000 a second. A chunk costs 25 to
/// 60 µs of processor time, so the streams of a tenant use about a quarter of a core.
pub const STREAM_CHUNK_US: u64 = 200;
/// Bytes of a chunk that take another microsecond: 100 MB a second.
pub const STREAM_BYTES_PER_US: u64 = 100;
/// How long a stream may be silent: proxies cut connections on which nothing happens for half a minute.
pub const STREAM_HEARTBEAT_MS: u64 = 15_000;
/// How long a reader may take nothing.
pub const STREAM_PATIENCE_MS: u64 = 30_000;
/// How long one stream lives: its reader then comes back with its key, which may have been revoked meanwhile.
pub const STREAM_LIFE_MS: u64 = 10 * 60 * 1_000;
/// How long a browser waits before it connects again.
pub const STREAM_RETRY_MS: u64 = 2_000;
/// Events that are read from the stored feed at once, and their bytes.
pub const STREAM_PAGE_ROWS: usize = 256;
pub const STREAM_PAGE_BYTES: usize = 64 << 10;
/// Charged before a page is read: its events, the chunk that is made of them, and what the rows take besides their bodies.
pub const STREAM_PAGE_CHARGE_BYTES: u64 = (2 * STREAM_PAGE_BYTES + 512 * STREAM_PAGE_ROWS) as u64;
