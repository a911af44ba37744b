//! Numbers of what requests hold: processor, memory, connections.

use std::time::Duration;

use super::EPOCH_TICK_MS;

/// Milliseconds that a call computes, in ticks, before others of its tenant that have computed for less go first: 64 ms.
pub const CORE_TICKS_PER_LEVEL: u64 = 32;
/// Calls that begin later and go before a call for each of those times: with more, calls that come all the time would starve it.
pub const CORE_CALLS_PER_LEVEL: u64 = 64;
/// Microseconds that a party of a fair limit pays for being granted a unit, besides those that it holds it.
pub const FAIR_GRANT_US: u64 = 1_000;
/// How far a party may be behind the others, as microseconds of the whole limit: the rest of what it has used is forgiven.
pub const FAIR_DEBT_US: u64 = 1_000_000;
/// Parties without permits that a round remembers before those that the round has passed are removed.
pub const FAIR_PAST_MIN: usize = 64;
/// Processor time of one slice (one poll of a run) that costs nothing: two ticks of the engine, for one that began between them.
pub const SLICE_MAX: Duration = Duration::from_millis(2 * EPOCH_TICK_MS);
/// Age of a reading of a thread's processor time that a slice may begin with: what a slice may be charged in error.
pub const SLICE_READING_AGE_MAX: Duration = Duration::from_millis(1);
/// How many times the excess of its long slices it takes a party to pay for them: a party may use a fiftieth of a thread so.
pub const SLICE_DEBT_FACTOR: u32 = 50;
/// Debt that has no consequence: an excess of 10 ms. The first slice of a guest after a rest of the host has up to 6 ms
/// (`IDLE_TICK_MS`).
pub const SLICE_DEBT_FREE: Duration = Duration::from_millis(500);
/// The largest debt, as the time until it is paid.
pub const SLICE_DEBT_MAX: Duration = Duration::from_secs(10);
/// Parties whose debts are remembered; a further one takes the place of the debt that ends first.
pub const SLICE_DEBTORS_MAX: usize = 1_000;

// The memory of requests.

/// Share of the memory of the machine that requests may use together where the operator names no budget.
pub const BUDGET_PERCENT: u64 = 40;
/// The same where the memory of the machine is not known, and at least.
pub const BUDGET_BYTES_DEFAULT: u64 = 1 << 30;
pub const BUDGET_BYTES_MIN: u64 = 64 << 20;
/// Share of the budget that bodies of requests may use; the rest is for calls and their answers.
pub const BODIES_PERCENT: u64 = 25;
/// Least charge of a call: stack, bookkeeping and the smallest memory of a guest.
pub const CALL_MEMORY_BYTES_MIN: u64 = 1 << 20;
/// Estimates are rounded to this: a page of WebAssembly.
pub const MEMORY_STEP_BYTES: u64 = 64 << 10;
/// Estimates of memory that each operation has: payers are spread over them.
pub const MEMORY_ESTIMATES: usize = 64;
/// Calls and bodies that wait for memory, of all tenants and of one. Each holds a connection or a permit.
pub const MEMORY_WAITING_MAX: usize = 16_384;
pub const MEMORY_WAITING_EACH_MAX: usize = 4_096;
/// Estimate of a connection: its buffers, with a head that is not complete, and its state.
pub const CONNECTION_BYTES: u64 = 48 << 10;
/// Estimate of `config check`: bytes of the program with its compiled plugins.
pub const PROCESS_BYTES: u64 = 128 << 20;
/// KiB of pages that a reading connection keeps; the default of SQLite.
pub const READER_CACHE_KIB: u64 = 2_000;

// Connections and what they carry.

/// Bytes of an answer on its way that the system buffers; it allocates twice as much. With a round trip of 100 ms, 2.5 MB/s.
pub const SOCKET_SEND_BYTES: usize = 256 << 10;
/// Connections that have not rested for this long are not closed for others: their request may be on its way.
pub const CONNECTION_SPARED_MS: u64 = 1_000;
/// Interval between checks for an idle connection where all connections are busy.
pub const ROOM_LOOK_MS: u64 = 100;
/// Time that a recently used connection of HTTP/1.1 is still served when the host stops, and that answers to operators have at least
/// after the last request has finished.
pub const STOP_GRACE_MS: u64 = 200;
/// An answer over HTTP/1.1 of at most this size goes into the connection's buffer at once.
pub const SMALL_ANSWER_BYTES: usize = 16 << 10;
/// Bytes of an answer that an HTTP/2 connection gets at once: one frame.
pub const PACED_CHUNK_BYTES: usize = 16 << 10;
/// Checks of a reader within the time that it may take nothing.
pub const ANSWER_LOOKS_PER_STALL: u32 = 2;
/// Number of those times after which a connection with an abandoned answer ends as a whole.
pub const STALLS_BEFORE_END: u32 = 3;
/// A declared body of at most this size on HTTP/1.1 is part of the connection.
pub const SMALL_BODY_BYTES: u64 = 16 << 10;
/// A body is held twice while its call runs: as it came, and as the plugin gets it.
pub const BODY_COPIES: u64 = 2;
/// First charge of a body of unknown length; it doubles as the body grows.
pub const BODY_STEP_BYTES: u64 = 64 << 10;
/// Time that a body waits for memory before it is refused with 503.
pub const BODY_MEMORY_WAIT_MS: u64 = 5_000;
/// Bytes of bodies that a peer may send before they are read: of one stream of HTTP/2, and of a connection. At 100 ms there
/// and back, a stream brings 1.2 MB/s.
pub const HTTP2_STREAM_WINDOW_BYTES: u32 = 128 << 10;
pub const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// The same of one stream of HTTP/2 as `SMALL_BODY_BYTES`: those of all streams are as large as the connection's window.
pub const HTTP2_SMALL_BODY_BYTES: u64 = 2 << 10;
/// Percentage of the memory for bodies that bodies of callers without a key may hold together while they are read.
pub const ANONYMOUS_BODIES_PERCENT: u64 = 50;
/// Bytes of an answer that HTTP/2 holds for one stream.
pub const HTTP2_SEND_BYTES: usize = 64 << 10;
/// Headers of a request over HTTP/2, as its connection decodes them: there may be one for each stream.
pub const HTTP2_HEAD_BYTES_MAX: u32 = 16 << 10;
/// For `config check`: connections whose windows are full at the same time.
pub const HTTP2_FULL_WINDOWS: u64 = 1_024;
/// Requests of an HTTP/2 connection that hold small heads and bodies without a charge. Those that run beside so many are
/// charged.
pub const HTTP2_SMALL_REQUESTS: usize = 8;
/// Estimated bytes of the head of such a request.
pub const HTTP2_SMALL_HEAD_BYTES: u64 = 8 << 10;
/// Estimated memory of a header of a request besides its name and value.
pub const HEADER_BYTES: usize = 128;
/// Memory of a header besides its name and value, as HPACK counts it.
pub const HEADER_OVERHEAD_BYTES: usize = 32;
/// Headers of an answer without a body over HTTP/2 that the connection has room for.
pub const HTTP2_SMALL_HEADERS_BYTES: u64 = 1 << 10;
/// Estimated memory of a request over HTTP/2 while it runs, and of its stream while its answer waits for the reader, on a
/// connection with more than `HTTP2_SMALL_REQUESTS` of them.
pub const HTTP2_REQUEST_BYTES: u64 = 24 << 10;
pub const HTTP2_STREAM_BYTES: u64 = 4 << 10;
/// Share of the memory of the machine that connections may use where the operator gives no number of them.
pub const CONNECTIONS_PERCENT: u64 = 12;
/// Their number then, at least and at most, and where the memory of the machine is not known.
pub const CONNECTIONS_DEFAULT_MIN: u64 = 500;
pub const CONNECTIONS_DEFAULT_MAX: u64 = 10_000;
/// Open files that are never left to connections: the database, components, listeners, and children that compile.
pub const FILES_OF_HOST: u64 = 64;
/// Share of the other files that `http.connections-max` may use. The rest is for outgoing connections and operators.
pub const FILES_OF_CONNECTIONS_PERCENT: u64 = 75;
/// Connections that the system completes before they are accepted; it may allow fewer (`net.core.somaxconn`).
pub const LISTEN_BACKLOG: u32 = 1_024;
/// Bytes that are read of a connection before others get a turn.
pub const READ_TURN_BYTES: usize = 64 << 10;
/// Control frames of HTTP/2 that a peer may send within a time, besides those that its requests and what it reads account for.
/// A longer frame counts as several.
pub const HTTP2_CONTROL_FRAMES_MAX: u64 = 4_096;
pub const HTTP2_CONTROL_MS: u64 = 10_000;
pub const HTTP2_CONTROL_FRAME_BYTES: u64 = 32;
/// Control frames that a request accounts for; bytes of answers that account for one.
pub const HTTP2_CONTROL_FRAMES_PER_REQUEST: u64 = 16;
pub const HTTP2_BYTES_PER_CONTROL_FRAME: u64 = 512;
/// Microseconds of paced work that one party may do at once after a quiet time.
pub const PACE_BURST_US: u64 = 5_000;
/// Parties whose pace is remembered: some 2 MB.
pub const PACED_PARTIES_MAX: usize = 10_000;
/// Microseconds of one core that an answer without a call (404, 401, 429, a document) takes of the pace of its address: 5 000 answers
/// a second with two cores. It costs 10 to 20 µs.
pub const OWN_ANSWER_CORE_US: u64 = 400;
/// The same of a TLS handshake: 1 000 a second with two cores. It costs some 500 µs.
pub const HANDSHAKE_CORE_US: u64 = 2_000;
/// The same of a call that ends with a fault: 1 000 a second with two cores. A panic with its message and backtrace costs some 150 µs.
pub const FAULT_CORE_US: u64 = 2_000;
/// The same of a connection that is closed for a flood of control frames or of refused requests: five a second with two cores. It
/// costs up to 10 ms.
pub const FLOOD_CORE_US: u64 = 400_000;
/// Milliseconds that such connections delay the next one of their address at most: others may share it.
pub const FLOOD_DELAY_MS_MAX: u64 = 5_000;
/// Microseconds of one core that a connection which waited for such a delay takes of the same pace: 1 000 a second with two cores.
pub const CONNECTION_CORE_US: u64 = 2_000;
/// Refused streams of crowded HTTP/2 connections that wait for the pace of one address: those of two connections, some 4 KiB each.
pub const REFUSED_STREAMS_WAITING_MAX: usize = 256;
