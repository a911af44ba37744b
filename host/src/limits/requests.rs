//! Limits of the resources of requests: processor, memory, connections.

use std::time::Duration;

use super::EPOCH_TICK_MS;

/// Ticks that a call computes before calls of its tenant that have computed less come first: 64 ms.
pub const CORE_TICKS_PER_LEVEL: u64 = 32;
/// Later calls that come before a call for each of those levels. With more, a steady stream of calls would starve it.
pub const CORE_CALLS_PER_LEVEL: u64 = 64;
/// Microseconds that a party of a fair limit is charged for each granted unit, besides the time that it holds the unit.
pub const FAIR_GRANT_US: u64 = 1_000;
/// Maximum debt of a party, as microseconds of the whole limit. Usage beyond it is not charged.
pub const FAIR_DEBT_US: u64 = 1_000_000;
/// Parties without permits that a round tracks before those that the round has passed are removed.
pub const FAIR_DEPARTED_MIN: usize = 64;
/// Processor time of one slice (one poll of a run) that is free: two ticks of the engine, because a slice may begin
/// between two ticks.
pub const SLICE_MAX: Duration = Duration::from_millis(2 * EPOCH_TICK_MS);
/// Maximum age of a reading of a thread's processor time at the beginning of a slice: the largest error of a charge.
pub const SLICE_READING_AGE_MAX: Duration = Duration::from_millis(1);
/// Factor of the excess of a long slice that yields the duration of its debt: a party may use a fiftieth of a thread in
/// this way.
pub const SLICE_DEBT_FACTOR: u32 = 50;
/// Debt without consequence: an excess of 10 ms. The first slice of a guest after an idle time of the host has an
/// excess of up to 6 ms (`IDLE_TICK_MS`).
pub const SLICE_DEBT_FREE: Duration = Duration::from_millis(500);
/// The largest debt, as the time until it is paid.
pub const SLICE_DEBT_MAX: Duration = Duration::from_secs(10);
/// Parties whose debts are tracked. A further one replaces the debt that ends first.
pub const SLICE_DEBTORS_MAX: usize = 1_000;

// The memory of requests.

/// Percentage of the memory of the machine that requests may use together if the operator configures no budget.
pub const BUDGET_PERCENT: u64 = 40;
/// The budget if the memory of the machine is not known, and its minimum.
pub const BUDGET_BYTES_DEFAULT: u64 = 1 << 30;
pub const BUDGET_BYTES_MIN: u64 = 64 << 20;
/// Percentage of the budget for request bodies. The rest is for calls and their answers.
pub const BODIES_PERCENT: u64 = 25;
/// Minimum charge of a call: stack, bookkeeping and the smallest memory of a guest.
pub const CALL_MEMORY_BYTES_MIN: u64 = 1 << 20;
/// Estimates are rounded to this: a page of WebAssembly.
pub const MEMORY_STEP_BYTES: u64 = 64 << 10;
/// Memory estimates of each operation. Payers are distributed over them.
pub const MEMORY_ESTIMATES: usize = 64;
/// Calls and bodies that wait for memory, of all tenants and of one. Each holds a connection or a permit.
pub const MEMORY_WAITING_MAX: usize = 16_384;
pub const MEMORY_WAITING_EACH_MAX: usize = 4_096;
/// Estimate of a connection: its buffers, with an incomplete head, and its state.
pub const CONNECTION_BYTES: u64 = 48 << 10;
/// Estimate of `config check`: bytes of the program with its compiled plugins.
pub const PROCESS_BYTES: u64 = 128 << 20;
/// KiB of pages that a reading connection keeps: SQLite's default.
pub const READER_CACHE_KIB: u64 = 2_000;

// Connections and what they carry.

/// Bytes of a pending response that the system buffers. It allocates twice as much. With a round trip of 100 ms, 2.5
/// MB/s.
pub const SOCKET_SEND_BYTES: usize = 256 << 10;
/// Idle time of a connection before it may be evicted, since its next request may be in transit.
pub const EVICTION_IDLE_MS_MIN: u64 = 1_000;
/// Interval between searches for an idle connection while all connections are busy.
pub const EVICTION_POLL_MS: u64 = 100;
/// How long a recently used HTTP/1.1 connection is still served during shutdown, and the minimum time for responses to
/// operators after the last request has finished.
pub const STOP_GRACE_MS: u64 = 200;
/// A response over HTTP/1.1 of at most this size is written to the connection's buffer at once.
pub const SMALL_RESPONSE_BYTES: usize = 16 << 10;
/// Bytes of a response that an HTTP/2 connection receives at once: one frame.
pub const PACED_CHUNK_BYTES: usize = 16 << 10;
/// Checks of a reader within the stall timeout.
pub const PROGRESS_CHECKS_PER_STALL: u32 = 2;
/// Number of stall timeouts after which a connection with an abandoned response closes as a whole.
pub const STALLS_BEFORE_CLOSE: u32 = 3;
/// A declared body of at most this size on HTTP/1.1 is part of the connection.
pub const SMALL_BODY_BYTES: u64 = 16 << 10;
/// A body is held twice while its call runs: as received, and as the plugin receives it.
pub const BODY_COPIES: u64 = 2;
/// First charge of a body of unknown length. The charge doubles as the body grows.
pub const BODY_STEP_BYTES: u64 = 64 << 10;
/// Time that a body waits for memory before it is rejected with 503.
pub const BODY_MEMORY_WAIT_MS: u64 = 5_000;
/// Bytes of bodies that a peer may send before they are read, for one HTTP/2 stream and for a connection. With a round
/// trip of 100 ms, a stream receives 1.3 MB/s.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 128 << 10;
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// `SMALL_BODY_BYTES` for one HTTP/2 stream. Those of all streams are as large as the window of the connection.
pub const HTTP2_SMALL_BODY_BYTES: u64 = 2 << 10;
/// Percentage of the memory for bodies that bodies of callers without a key may hold together while they are read.
pub const ANONYMOUS_BODIES_PERCENT: u64 = 50;
/// Bytes of a response that HTTP/2 buffers for one stream.
pub const HTTP2_SEND_BYTES: usize = 64 << 10;
/// Headers of a request over HTTP/2, as its connection decodes them. Each stream may have as many.
pub const HTTP2_HEAD_BYTES_MAX: u32 = 16 << 10;
/// For `config check`: connections whose windows are full at the same time.
pub const HTTP2_FULL_WINDOWS: u64 = 1_024;
/// Requests of an HTTP/2 connection that hold small heads and bodies without a charge. Further ones at the same time
/// are charged.
pub const HTTP2_SMALL_REQUESTS: usize = 8;
/// Maximum estimated bytes of the head of a request without a charge.
pub const HTTP2_SMALL_HEAD_BYTES: u64 = 8 << 10;
/// Estimated memory of a header of a request besides its name and value.
pub const HEADER_BYTES: usize = 128;
/// Memory of a header besides its name and value, as HPACK counts it.
pub const HEADER_OVERHEAD_BYTES: usize = 32;
/// Headers of a response without a body over HTTP/2 that fit into the buffer of the connection.
pub const HTTP2_SMALL_HEADERS_BYTES: u64 = 1 << 10;
/// Estimated memory of an active request over HTTP/2, and of its stream while its response waits for the reader, on a
/// connection with more than `HTTP2_SMALL_REQUESTS` active requests.
pub const HTTP2_REQUEST_BYTES: u64 = 24 << 10;
pub const HTTP2_STREAM_BYTES: u64 = 4 << 10;
/// Percentage of the memory of the machine for connections if the operator does not set `http.connections-max`.
pub const CONNECTIONS_PERCENT: u64 = 12;
/// Default number of connections, at least and at most. The maximum applies if the memory of the machine is not known.
pub const CONNECTIONS_DEFAULT_MIN: u64 = 500;
pub const CONNECTIONS_DEFAULT_MAX: u64 = 10_000;
/// Open files that are never used for connections: the database, components, listeners, and compiler processes.
pub const FILES_OF_HOST: u64 = 64;
/// Percentage of the remaining files for `http.connections-max`. The rest is for outgoing connections and operators.
pub const FILES_OF_CONNECTIONS_PERCENT: u64 = 75;
/// Connections that the system completes before they are accepted. It may allow fewer (`net.core.somaxconn`).
pub const LISTEN_BACKLOG: u32 = 1_024;
/// Bytes that are read of a connection before its task yields.
pub const READ_YIELD_BYTES: usize = 64 << 10;
/// HTTP/2 control frames that a peer may send within `HTTP2_CONTROL_MS`, besides those that its requests and received
/// responses account for. A longer frame counts as several.
pub const HTTP2_CONTROL_FRAMES_MAX: u64 = 4_096;
pub const HTTP2_CONTROL_MS: u64 = 10_000;
pub const HTTP2_CONTROL_FRAME_BYTES: u64 = 32;
/// Control frames that a request accounts for, and bytes of responses that account for one.
pub const HTTP2_CONTROL_FRAMES_PER_REQUEST: u64 = 16;
pub const HTTP2_BYTES_PER_CONTROL_FRAME: u64 = 512;
/// Microseconds of paced work that one party may do at once after an idle time.
pub const PACE_BURST_US: u64 = 5_000;
/// Parties whose pace is tracked: some 2 MB.
pub const PACED_PARTIES_MAX: usize = 10_000;
/// Microseconds of one core that a response without a call (404, 401, 429, a document) takes of the pace of its
/// address: 5 000 responses a second with two cores. It costs 10 to 20 µs.
pub const HOST_RESPONSE_CORE_US: u64 = 400;
/// The same for a TLS handshake: 1 000 a second with two cores. It costs some 500 µs.
pub const HANDSHAKE_CORE_US: u64 = 2_000;
/// The same for a call that ends with a fault: 1 000 a second with two cores. A panic with its message and backtrace
/// costs some 150 µs.
pub const FAULT_CORE_US: u64 = 2_000;
/// The same for a connection that is closed for a flood of control frames or of refused requests: five a second with
/// two cores. It costs up to 10 ms.
pub const FLOOD_CORE_US: u64 = 400_000;
/// Maximum delay of the next connection from an address after a flood, in milliseconds. Other clients may share the
/// address.
pub const FLOOD_DELAY_MS_MAX: u64 = 5_000;
/// Microseconds of one core that a delayed connection takes of the same pace: 1 000 a second with two cores.
pub const CONNECTION_CORE_US: u64 = 2_000;
/// Refused HTTP/2 streams that wait for the pace of one address: those of two connections, some 4 KiB each.
pub const REFUSED_STREAMS_WAITING_MAX: usize = 256;
