//! Limits and other numbers of the host that an operator does not set, with their units, values and reasons.
//!
//! `config::keys` has the settings of operators, with their defaults and bounds.
//!
//! - `tokens`: OAuth tokens. `tasks`: tasks, effects and questions. `webhooks`: webhooks. `chains`: blockchains and
//!   keys. `credentials`: credentials that plugins issue, passwords, and guesses. `output`: what components log, print
//!   and send. `pages`: the documentation page.
//! - `requests`: resources that requests hold. `operators`: the operators' listener, files, the command line, profiles
//!   and backups. `outbound`: outgoing calls and destinations. `events`: signatures, pulled events and streams.
//!   `manifests`: what components declare.

mod chains;
mod credentials;
mod events;
mod manifests;
mod operators;
mod outbound;
mod output;
mod pages;
mod requests;
mod tasks;
mod tokens;
mod webhooks;

pub use chains::*;
pub use credentials::*;
pub use events::*;
pub use manifests::*;
pub use operators::*;
pub use outbound::*;
pub use output::*;
pub use pages::*;
pub use requests::*;
pub use tasks::*;
pub use tokens::*;
pub use webhooks::*;

// Requests of a plugin to the host in one call.

/// Bytes of one log message, and of its fields. Longer ones are truncated. A line that a person can still read.
pub const LOG_MESSAGE_BYTES_MAX: usize = 4_096;
/// Bytes that `ids.random` returns at once. Enough for any key or nonce.
pub const RANDOM_BYTES_MAX: usize = 1_024;
/// Bytes of the prefix of a public id.
pub const ID_PREFIX_BYTES_MAX: usize = 32;
/// Letters and digits after the prefix of a public id: 36^10 combinations, about 51 bits. A collision within one tenant
/// is rare, and `insert` rejects it.
pub const PUBLIC_ID_SUFFIX_CHARS: usize = 10;
/// Bytes that a guest may print (a panic message, a leftover `println!`). Further output is rejected.
pub const GUEST_OUTPUT_BYTES_MAX: usize = 16_384;
/// Handles (streams, pollables of closed WASI) that one call may hold.
pub const RESOURCE_HANDLES_MAX: usize = 256;
/// Random bytes that closed WASI returns at once: as many as `getRandomValues` of the Web. The host holds them
/// uncharged while the guest receives them.
pub const WASI_RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Ids of one `get-many`.
pub const GET_MANY_IDS_MAX: usize = 1_000;
/// Bytes of bodies that one `get-many` loads together. They are in memory before they are metered.
pub const GET_MANY_BYTES_MAX: usize = 32 << 20;
/// Conditions of one `find` or `count`.
pub const CONDITIONS_MAX: usize = 32;
/// Transfers of one `post`.
pub const TRANSFERS_MAX: usize = 1_000;
/// Digits of an amount, as the contract defines. Amounts above 2^255 - 1 are rejected as well.
pub const AMOUNT_DIGITS_MAX: usize = 77;
/// Resource handles that a component may hold. The contract has none, closed WASI a few.
pub const COMPONENT_HANDLES_MAX: usize = 1_000;
/// Bytes of a request body that a route may declare, unless the operator's `http.body-bytes-max` is larger. That
/// setting applies to routes that declare nothing.
pub const ROUTE_BODY_BYTES_MAX: u64 = 8 << 20;
/// Headers of one answer of a plugin.
pub const HEADERS_MAX: usize = 64;
/// Commit conflicts of a call before it reserves the next commit.
pub const CONFLICTS_BEFORE_RESERVATION: u32 = 4;
/// Percentage of the remaining deadline of a call that it may spend waiting for a permit to run. After that it is
/// rejected.
pub const PERMIT_WAIT_PERCENT: u32 = 70;
/// Requests with one idempotency key that wait for the first request. Further ones get the error that it is still
/// running.
pub const IDEMPOTENCY_WAITING_MAX: usize = 256;
/// Runs of one call, for all reasons together. A call that needs more gets `unavailable`.
pub const RUNS_MAX: u32 = 1_000;
/// Milliseconds that an accepted call waits for the disk beyond its deadline, before it returns `outcome-unknown`.
pub const DURABLE_WAIT_MS: u64 = 30_000;
/// Seconds after which a caller should retry when a plugin is at its limit of concurrent calls.
pub const RETRY_AFTER_SECONDS: u32 = 1;

// The database.

/// Read connections. Two cores serve few readers, and each has its own thread and cache.
pub const DB_READERS: u32 = 4;
/// Connections for pages and counts, separate from those that load single records.
pub const DB_SEARCHERS: usize = 4;
/// `DB_SEARCHERS` connections that one plugin and tenant may use at the same time.
pub const DB_SEARCHERS_EACH: usize = 2;
/// Virtual machine steps of SQLite between two checks whether a query was cancelled: about a millisecond.
pub const SEARCH_CANCEL_CHECK_STEPS: i32 = 20_000;
/// Plugins and tenants whose shares are cached before idle ones are evicted.
pub const SEARCH_SHARES_MAX: usize = 1_000;
/// Prepared statements for each connection: up to seven sizes of insert and of delete for each collection, and the
/// searches. SQLx evicts the least recently used ones.
pub const DB_STATEMENTS_CACHED: usize = 512;
/// Prepared SQL texts that write several tables: one for each combination of tables and size.
pub const BATCH_TEXTS_MAX: usize = 64; // 25 MiB where each writes 64 rows to ten tables; usually a tenth of that
/// Statements in one of these texts. A batch with more runs them one by one.
pub const BATCH_PARTS_MAX: usize = 32;
/// How long a statement waits for the file lock of another process (an operator's `sqlite3`) before it fails.
pub const BUSY_TIMEOUT_MS: u64 = 5_000;
/// Pages of the write-ahead log in one checkpoint. SQLite's default is 1 000. A page that many batches change is then
/// written once. The index of the log finds a page in one step up to some 4 000 pages.
pub const WAL_CHECKPOINT_PAGES: u32 = 4_000;
/// The write-ahead log is truncated above this size. SQLite's own checkpoints keep it far below unless a reader blocks
/// them.
pub const WAL_BYTES_MAX: u64 = 64 << 20;
/// Interval between two checks of the size of the log.
pub const WAL_CHECK_MS: u64 = 1_000;
/// How long truncating the log may wait for readers. Commits wait as long.
pub const CHECKPOINT_WAIT_MS: u64 = 50;

// Change sets and the committer.

/// JSON text of one record.
pub const RECORD_BYTES_MAX: usize = 1 << 20; // more is a file, not a record
/// Ids of records, names of guards, counters, accounts, assets and transfers.
pub const KEY_BYTES_MAX: usize = 200; // they are keys of indexes
/// The memo of a ledger transfer.
pub const MEMO_BYTES_MAX: usize = 1_000; // a line of text
/// Bodies, payloads and journal entries that one call collects.
pub const CHANGE_SET_BYTES_MAX: usize = 8 << 20; // two batches; a larger call would delay all others
/// Bytes that the host holds for a call and that are charged to its memory together. Less is free.
pub const HELD_STEP_BYTES: u64 = 64 << 10; // a page of a guest
/// Estimate of the most that the host holds for a call: what it collects and reads, the keys of both, a list of
/// endpoints, its questions, and the result of one host call.
pub const HELD_BYTES_MAX: u64 = 128 << 20;
/// Keys that one call may read or write.
pub const CALL_KEYS_MAX: usize = 20_000; // all of them are compared under the committer's lock: about a millisecond
/// Accepted change sets that wait for the disk. Further ones get 503. One tenant alone may fill half of the queue.
pub const COMMIT_QUEUE_MAX: usize = 8_192; // a quarter of a second of full load
/// Bytes of these change sets.
pub const COMMIT_QUEUE_BYTES_MAX: usize = 16 << 20; // four batches, of which one tenant fills two
/// Change sets in one transaction.
pub const BATCH_CHANGES_MAX: usize = 512; // beyond 128 throughput hardly grows, beyond 512 only the tail does
/// Bytes in one transaction.
pub const BATCH_BYTES_MAX: usize = 4 << 20; // change sets that arrive meanwhile wait until they are written: some 60 ms
/// Bytes from which a change set is large. Large ones are accepted up to the size of one batch, and tenants alternate.
pub const LARGE_CHANGES_BYTES_MIN: usize = 8 << 10; // eight times what a call usually writes
/// Bytes of the large change sets that wait for capacity, or are accepted and not durable. Further ones get 503.
pub const LARGE_CHANGES_BYTES_MAX: usize = 64 << 20; // memory that nothing can evict
/// Estimate of a row of a change set, without its body.
pub const CHANGE_ROW_BYTES: usize = 200; // keys, index entries
/// Bytes of the overlay's cache: records that no running call depends on.
pub const OVERLAY_BYTES_MAX: usize = 64 << 20; // part of the memory that an idle host may use
/// Bytes of overlay entries that are not durable yet, or that running calls depend on. Above this, the oldest calls run
/// again.
pub const OVERLAY_PINNED_BYTES_MAX: usize = 256 << 20; // only a call of half a minute at full load gets there
/// Estimate of an entry without its name and content.
pub const OVERLAY_ENTRY_BYTES: usize = 200; // key, entry, index slot
/// Calls of one tenant and plugin that run at the same time, for each core. A call that waits for the disk, a reply or
/// a password does not count. Four keep a core busy while some of them wait for the database.
pub const TENANT_RUNS_PER_CORE: u64 = 4;
/// Bytes of cached answers of all plugins and tenants.
pub const ANSWER_CACHE_BYTES_MAX: usize = 32 << 20; // eight thousand records of 4 KiB
/// Bytes of one answer that is cached.
pub const CACHED_ANSWER_BYTES_MAX: u64 = 64 << 10; // larger ones cost more to send than to compute
/// Estimate of a cached answer without its key, bytes and reads.
pub const ANSWER_CACHE_ENTRY_BYTES: usize = 300;
/// Reads of one cached answer. They are registered under the lock of the committer.
pub const CACHED_ANSWER_READS_MAX: usize = 128; // some 10 µs
/// Estimate of one registered read.
pub const REGISTERED_READ_BYTES: usize = 64; // two hashes, a version, a count, free table slots
/// Microseconds of one core that a cached answer takes at least, admission and sending included. Callers are paced by
/// it.
pub const CACHED_ANSWER_CORE_US: u64 = 20;
/// Bytes of a cached answer that take another microsecond.
pub const CACHED_ANSWER_BYTES_PER_CORE_US: u64 = 2_048;
/// Steps of the clock hand, besides two for each added entry.
pub const OVERLAY_EVICT_STEPS: usize = 8; // well under a microsecond, and twice as fast as entries arrive
/// Bytes above the cache limit for which the clock hand takes one more step.
pub const OVERLAY_EVICT_BYTES_PER_STEP: usize = 4 << 10; // 16 MiB above it are 4 096 steps: some ten microseconds
/// Collections whose last write is tracked before durable ones are evicted.
pub const OVERLAY_COLLECTIONS_MAX: usize = 10_000; // one for each tenant and collection
/// Numbers of a counter that are reserved at once.
pub const COUNTER_BLOCK: u64 = 64; // one write for this many numbers; a restart loses the rest
/// Counters from which one call takes numbers. The first number of each may cost a transaction.
pub const CALL_COUNTERS_MAX: usize = 100;
/// Counters with reserved numbers before idle ones are evicted.
pub const COUNTERS_MAX: usize = 10_000; // about two megabytes
/// Tenants whose last line of the journal the writer caches.
pub const CHAIN_HEADS_CACHED: usize = 10_000;
/// Attempts to determine the outcome of a commit before its callers get `outcome-unknown`, or whether a line of the
/// swap journal is durable before its swap is refused.
pub const OUTCOME_TRIES_MAX: u32 = 5; // with the waits below about a second and a half
/// Pause before the next attempt to determine the outcome of a commit.
pub const OUTCOME_RETRY_MS: u64 = 300; // a database that restarts takes seconds
/// Milliseconds between two checks for foreign writes while no batch is written: how long a cache that another program
/// has outdated may serve reads.
pub const FOREIGN_WRITE_CHECK_MS: u64 = 1_000;
/// Pages that the writer's connection keeps in memory, in KiB.
pub const WRITER_CACHE_KIB: u32 = 64 << 10;
/// Interval between two checks whether the database is idle. If it is, the writer's connection frees its cached pages.
pub const IDLE_CHECK_MS: u64 = 3_000;
/// Transactions between two checks up to which the database counts as idle. Reading their pages again takes
/// microseconds.
pub const IDLE_TRANSACTIONS_MAX: u32 = 100;

// Stored data of a plugin.

/// Collections of one plugin.
pub const COLLECTIONS_MAX: usize = 64;
/// Indexes of one collection: each costs a write for each change of a record.
pub const INDEXES_MAX: usize = 16;
/// Fields of one index.
pub const INDEX_FIELDS_MAX: usize = 8;
/// Indexed JSON fields of one collection, one column each. Each takes a bit while the fields are extracted from a body.
pub const INDEXED_FIELDS_MAX: usize = 32;
/// Bytes of a name in a manifest: plugins, collections, indexes.
pub const NAME_BYTES_MAX: usize = 48;
/// Bytes of a path into a JSON body ("customer.id").
pub const FIELD_PATH_BYTES_MAX: usize = 128;
/// Nesting levels of a stored JSON document. SQLite's JSON stops at 1 000, the stacks of guests far earlier.
pub const JSON_DEPTH_MAX: usize = 64;
/// Bytes of a string in an indexed field. Longer ones belong in fields without an index.
pub const INDEXED_TEXT_BYTES_MAX: usize = 512;
/// Rows that a new index processes per second. Low, so that the estimate is too long rather than too short.
pub const INDEX_ROWS_PER_SECOND: u64 = 200_000;
/// The longest time that an index may stop all writes without the consent of an operator.
pub const INDEX_SECONDS_MAX: u64 = 5;
/// Searches for records that a new version cannot read, before its deployment is rejected because incompatible records
/// are still being written.
pub const ADMIT_SEARCHES_MAX: u32 = 3;
/// Rows whose new columns are filled in one statement. Multiplied by the size of the largest body, this is the memory
/// that a statement takes.
pub const BACKFILL_ROWS: u32 = 32;
/// Statements of a backfill in one transaction.
pub const BACKFILL_STATEMENTS: u32 = 16;

// Keys.

/// Letters and digits in the secret of a key: 62^32 combinations, about 190 bits. The secret cannot be guessed, and a
/// plain hash of it is sufficient.
pub const KEY_SECRET_CHARACTERS: usize = 32;
/// How long a cached key is valid. Another process on the same database may revoke it.
pub const KEY_CACHE_MS: u64 = 5_000;
/// Cached keys, and as many invalid ones: a few megabytes.
pub const KEY_CACHE_ENTRIES: usize = 10_000;
/// Concurrent key lookups in the database. The others wait and mostly find the result in the cache.
pub const KEY_LOOKUPS_AT_ONCE: usize = 4;
/// Resolution of the last use of a key: one write for thousands of requests.
pub const KEY_USE_GRAIN_MS: u64 = 60_000;
/// Valid keys of one owner: the old key and the new one during a rotation.
pub const LIVE_KEYS_PER_OWNER: usize = 2;
/// Scopes of one key. They are read with the key and searched on each request that requires one.
pub const KEY_SCOPES_MAX: usize = 64;

// HTTP.

/// Head of a request over HTTP/1.1: request line and headers. A larger one gets 431 before routing. A connection holds
/// as much for each incomplete head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Concurrent requests on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION: u32 = 128;
/// A connection without a request for this long is closed (at the latest after twice as long).
pub const CONNECTION_IDLE_MS: u64 = 75_000;
/// How long a peer may leave sent data unacknowledged before the system closes its connection. Longer than the stall
/// timeout of a stream, which then reports why it ended.
pub const PEER_UNRESPONSIVE_MS: u32 = 60_000;
/// Pause after the system failed to accept a connection (out of descriptors), so that the loop does not spin.
pub const ACCEPT_PAUSE_MS: u64 = 50;
/// Milliseconds after a log line in which further failures to accept, and further closes of connections of the same
/// peer for the same reason, get no line of their own. The next line counts them.
pub const REPEATS_LOGGED_MS: u64 = 10_000;
/// Peers that have such lines at the same time.
pub const REPEATING_PEERS_MAX: usize = 256;
/// Bytes of a rejected body that are still read so that the caller can receive the response.
pub const DISCARDED_BYTES_MAX: usize = 1 << 20;
/// Milliseconds in which these bytes are read.
pub const DISCARD_MS: u64 = 500;
/// Parameters of one query.
pub const QUERY_PARAMETERS_MAX: usize = 256;
/// Characters of an X-Request-Id that a caller may choose.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 64;
/// Characters of an Idempotency-Key.
pub const IDEMPOTENCY_KEY_CHARACTERS_MAX: usize = 255;
/// Callers tracked by one rate limiter after idle ones were dropped. With more, all of its buckets are reset.
pub const RATE_CALLERS_MAX: usize = 100_000;
/// Seconds that a browser may cache a preflight.
pub const CORS_PREFLIGHT_SECONDS: u32 = 600;

/// Interval between two reads of the certificate files. Content that was read twice is used: two seconds after a
/// renewal.
pub const CERTIFICATE_POLL_MS: u64 = 1_000;
/// Bytes of a file of certificates or a key. The bundle of a whole system has some 250 KB.
pub const PEM_FILE_BYTES_MAX: u64 = 4 << 20;
/// Bytes of plain HTTP on a TLS port that are read before it is rejected.
pub const PLAIN_HTTP_DISCARD_BYTES: usize = 4 << 10;
/// Minimum interval between two log lines about live keys over plain HTTP. Every such request is rejected.
pub const PLAIN_HTTP_LOG_INTERVAL_MS: u64 = 10_000;

// The engine and the swap.

/// Milliseconds between two epoch ticks: the resolution of the measured computing time of a guest, and how long a
/// computing guest occupies its thread before others run. At 10, guests that loop on all threads made each write of
/// others take twice as long as at 2.
pub const EPOCH_TICK_MS: u64 = 2;
/// The same while no guest runs, so that an idle host wakes up less often. The first tick of the first guest afterwards
/// is this late.
pub const IDLE_TICK_MS: u64 = 10;
/// Tasks that a runtime thread runs before it polls the network again. A computing guest yields only at ticks: with
/// tokio's default of 61, guests that loop on all threads would delay all network data by 100 ms and more.
pub const TASKS_BETWEEN_IO_POLLS: u32 = 4;
/// Bytes: WebAssembly frames of one call. Guests keep their data in linear memory, so that frames stay small.
pub const WASM_STACK_BYTES: usize = 512 << 10;
/// Bytes: the stack of one call, frames of the host's functions included.
pub const CALL_STACK_BYTES: usize = 1 << 20;
/// Bytes that a slot of the pool keeps resident between two calls. An ordinary call writes 3 to 12 pages. A slot that
/// once ran a larger one resets this much after each later call.
pub const MEMORY_RESIDENT_BYTES: usize = 128 << 10;
pub const TABLE_RESIDENT_BYTES: usize = 64 << 10;
pub const STACK_RESIDENT_BYTES: usize = 64 << 10;
/// Maximum bytes of one linear memory. The limit in plugins.toml must be below it.
pub const POOL_MEMORY_BYTES: usize = 1 << 30;
/// Concurrent calls that the pool is sized for, at least and at most. A slot is address space, not memory.
pub const POOL_CALLS_MIN: usize = 128;
pub const POOL_CALLS_MAX: usize = 1_024;
/// Linear memories, tables and core instances of one component.
pub const COMPONENT_MEMORIES_MAX: u32 = 8;
pub const COMPONENT_TABLES_MAX: u32 = 32;
pub const COMPONENT_CORE_INSTANCES_MAX: u32 = 64;
/// Tables for each call: a main module and the tables of the adapters around it.
pub const TABLES_PER_CALL: u32 = 4;
/// Entries of one table. Interpreters as guests have large ones.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Seeds of calls that a thread reads from the operating system at once: 512 bytes.
pub const CALL_SEEDS_PER_READ: usize = 16;
/// Bytes of an instance's own bookkeeping in the engine.
pub const INSTANCE_BYTES_MAX: usize = 10 << 20;
/// Slots of the pool that stay warm, for each core. A slot keeps up to a quarter of a megabyte of the component that
/// used it last, and each new component warms its own slots first. More warm slots would make the memory of a host grow
/// with its first swaps.
pub const POOL_WARM_SLOTS_PER_CORE: u32 = 8;
/// Slots whose pages are returned to the system together. With more than one, a run would return the memory of the runs
/// before it: 58 MB take milliseconds, which its party would wait for and be charged with (`fair::slices`).
pub const POOL_DECOMMIT_BATCH: usize = 1;
/// Nice value of a compiler process. Requests have priority.
pub const COMPILE_NICE: i32 = 10;
/// Threads of a compiler process. More would take cores from requests in spite of the low priority.
pub const COMPILE_THREADS: usize = 2;
/// Open files of a compiler process: three pipes, and one file at a time.
pub const COMPILE_FILES_MAX: u64 = 32;
/// Bytes of machine code that compilations of one plugin reuse. The rest is compiled again each time.
pub const FUNCTION_CACHE_BYTES_MAX: usize = 64 << 20;
/// Bytes of a compilation request, of its report, and of its other output.
pub const COMPILE_MESSAGE_BYTES_MAX: u64 = 64 << 10;
/// Types of a component, in all of its core modules together. The compiler compares them with each other.
pub const COMPONENT_TYPES_MAX: u64 = 20_000;
/// Initial entries of all tables of a component. Each is a part of the compiled code.
pub const COMPONENT_TABLE_ELEMENTS_MAX: u64 = 500_000;
/// Instances that one instance of a component creates within itself. Each takes code.
pub const COMPONENT_INSTANCES_MAX: u64 = 10_000;
/// Bytes that a small component may need for its compilation, unless `compile.memory-bytes` is less. If half of that
/// setting is more, the component gets half of it.
pub const COMPILE_MEMORY_BYTES: u64 = 384 << 20;
/// Additional bytes that a compilation gets for each byte of its component.
pub const COMPILE_MEMORY_FACTOR: u64 = 32;
/// The fraction of `compile.time-ms` that a compilation may compute, and again for each `COMPILE_STEP_BYTES` of its
/// component. Other load on the machine makes a compilation last longer, but not compute longer.
pub const COMPILE_TIME_DIVISOR: u64 = 20;
pub const COMPILE_STEP_BYTES: u64 = 4 << 20;
/// Milliseconds between two reads of a file, which must be equal before it counts as completely written.
pub const SETTLE_MS: u64 = 50;
/// Milliseconds between two comparisons of the metadata of component files and plugins.toml, which find changes that no
/// folder watch reports.
pub const FILES_POLL_MS: u64 = 2_000;
/// Milliseconds after which the host stops waiting for a file that keeps changing or whose read does not end, until the
/// next change.
pub const SETTLE_MS_MAX: u64 = 30_000;
/// Milliseconds without a newer change of a plugin after which a waiting change is prepared. If the last preparation
/// was shorter, its duration applies instead.
pub const CHANGES_QUIET_MS: u64 = 500;
/// Components of one plugin whose crashes of the compiler are counted.
pub const CRASHED_COMPONENTS_MAX: usize = 10;
/// Lines of the swap journal that are read to find what to serve after a start, and what to roll back to. A component
/// may have several, so this is twice the largest `components-kept`.
pub const SWAP_HISTORY_MAX: usize = 100;
/// Milliseconds that a call waits for its generation. A swap that has ended the writes of the other data version writes
/// one line of the swap journal before it publishes the generation.
pub const PUBLISH_WAIT_MS: u64 = 2_000;
/// Lines about overtaken changes that are written in one transaction, and held in memory until then.
pub const OVERTAKEN_LINES_MAX: usize = 256;
/// Milliseconds between two attempts to find out whether a line of the swap journal is durable.
pub const JOURNAL_CONFIRM_MS: u64 = 1_000;
/// Milliseconds before a change that was rejected for a cause outside of its component is prepared again. The pause
/// doubles.
pub const SWAP_RETRY_MS: u64 = 5_000;
/// The longest of these pauses.
pub const SWAP_RETRY_MS_MAX: u64 = 600_000;
/// Crashes of the compiler after which a component is not prepared again until its file or settings change. A crash is
/// almost always a property of the component. A few attempts outlast a short resource shortage of the machine.
pub const COMPILE_CRASHES_MAX: u32 = 4;
/// Queued commands for the task that swaps.
pub const RELOAD_QUEUE: usize = 256;
/// Milliseconds without a compilation or the end of a first load, after which timers and effects start without the
/// missing plugins.
pub const FIRST_LOADS_STALL_MS: u64 = 30_000;

// Maintenance.

/// Interval between two checks of the free disk space. At full load some ten megabytes are written meanwhile.
pub const DISK_CHECK_MS: u64 = 1_000;
/// While less than twice `free-disk-bytes-min` is free, a tenant may write `free-disk-bytes-min` divided by this.
pub const DISK_SHARES: u64 = 16; // a tenant uses an eighth of what is left, since the log holds each byte as well
/// Checks of the disk after which a tenant may write its share again, if the disk has lost less than a share meanwhile.
pub const DISK_SHARE_CHECKS: u64 = 600; // ten minutes
/// Interval between two deletions of rows past their retention.
pub const RETENTION_EVERY_MS: u64 = 60_000;
/// Interval between two searches for the oldest pending webhook: some milliseconds for each thousand endpoints.
pub const OLDEST_PENDING_CHECK_MS: u64 = 15_000;

// Searches for records.

/// Entries of one page.
pub const FIND_ENTRIES_MAX: u32 = 1_000;
/// Bodies of one page together. A page ends before it exceeds this, but contains at least one entry.
pub const FIND_BYTES_MAX: usize = 8 << 20;
/// Values of one `one-of`.
pub const ONE_OF_MAX: usize = 100;
/// Values of a `one-of` that are looked up one by one in an index and merged. Each takes one SELECT, or several on a
/// later page.
pub const ONE_OF_MERGED_MAX: usize = 16;
/// Bytes of a received cursor: encoded values of an index.
pub const CURSOR_BYTES_MAX: usize = 16 << 10;
/// The maximum that `count` returns.
pub const COUNT_MAX: u32 = 1_000_000;

// Growth.

/// Rows that retention deletes in one transaction: a few milliseconds in which nothing else is written.
pub const PRUNE_ROWS: u32 = 1_000;
/// Deliveries that retention deletes in one transaction, with the attempts of each.
pub const DELIVERIES_PRUNED_AT_ONCE: u32 = 250;
/// Batch ids that are kept regardless of their age. The newest contains the version to continue from, and the outcome
/// of each may still be queried.
pub const BATCHES_KEPT: u32 = 1_000;
/// Estimated bytes of a row besides its content: columns, indexes, free space in pages.
pub const ROW_BYTES: u64 = 200;
/// Lines of the swap journal in one response.
pub const SWAPS_LISTED_MAX: u32 = 1_000;
