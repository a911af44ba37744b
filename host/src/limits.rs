//! Every number of the host that an operator does not set: name with unit, value, why.
//!
//! What an operator sets stands in `config::keys`, with default and bounds. `tokens`: those of OAuth. `tasks`: those
//! of tasks and outgoing calls. `webhooks`: those of webhooks. `chains`: those of blockchains and keys. `credentials`: those of
//! what plugins hand out. `output`: those of what components log, print and send. `pages`: those of the page that shows interfaces.
//! `requests`: those of what requests hold. `operators`: those of the operators' listener, files, the command line and backups.
//! `outbound`: those of outgoing calls and destinations. `events`: those of signatures, pulled events and streams.
//! `manifests`: those of what components declare.

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

// What a plugin may ask of the host in one call.

/// Bytes of one log message, and of its fields; longer ones are cut. A line that a person can still read.
pub const LOG_MESSAGE_BYTES_MAX: usize = 4_096;
/// Bytes that `ids.random` gives at once. Enough for any key or nonce.
pub const RANDOM_BYTES_MAX: usize = 1_024;
/// Bytes of the prefix of a public id.
pub const ID_PREFIX_BYTES_MAX: usize = 32;
/// Letters and digits after the prefix of a public id: 36^10 of them, about 51 bits, so that a clash within one tenant is
/// rare; `insert` refuses a clash.
pub const PUBLIC_ID_SUFFIX_CHARS: usize = 10;
/// Bytes that a guest may print (a panic message, a `println!` left behind); what follows is refused.
pub const GUEST_OUTPUT_BYTES_MAX: usize = 16_384;
/// Handles (streams, pollables of closed WASI) that one call may hold.
pub const RESOURCE_HANDLES_MAX: usize = 256;
/// Random bytes that closed WASI returns at once: as many as `getRandomValues` of the Web. The host holds them uncharged while
/// the guest receives them.
pub const WASI_RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Ids of one `get-many`.
pub const GET_MANY_IDS_MAX: usize = 1_000;
/// Bodies that one `get-many` loads together: they are in memory before they are metered.
pub const GET_MANY_BYTES_MAX: usize = 32 << 20;
/// Conditions of one `find` or `count`.
pub const CONDITIONS_MAX: usize = 32;
/// Transfers of one `post`.
pub const TRANSFERS_MAX: usize = 1_000;
/// Digits of an amount, as the contract has it; what is larger than 2^255 - 1 is refused besides.
pub const AMOUNT_DIGITS_MAX: usize = 77;
/// Handles of resources that a component may hold; the contract has none, closed WASI a few.
pub const COMPONENT_HANDLES_MAX: usize = 1_000;
/// Bytes of a request's body that a route may ask for, where the operator's `http.body-bytes-max` is not more: that one is
/// for routes that say nothing.
pub const ROUTE_BODY_BYTES_MAX: u64 = 8 << 20;
/// Headers of one answer of a plugin.
pub const HEADERS_MAX: usize = 64;
/// How often a call loses against others before it takes the turn.
pub const LOSSES_BEFORE_TURN: u32 = 4;
/// Of the time that a call has when it asks for a place to run in: after so much of it in waiting it is refused.
pub const PLACE_WAIT_PERCENT: u32 = 70;
/// Requests with one idempotency key that wait for the first of them; more are told that it is still running.
pub const IDEMPOTENCY_WAITING_MAX: usize = 256;
/// Runs of one call, all reasons together; a call that is still not through is answered `unavailable`.
pub const RUNS_MAX: u32 = 1_000;
/// Milliseconds that an accepted call waits for the disk beyond its deadline, before it says `outcome-unknown`.
pub const DURABLE_WAIT_MS: u64 = 30_000;
/// Seconds after which a caller should try again where a plugin is at its limit of concurrent calls.
pub const RETRY_AFTER_SECONDS: u32 = 1;

// The database.

/// Connections that read. Two cores serve few readers; each has its own thread and cache.
pub const DB_READERS: u32 = 4;
/// Connections for pages and counts, apart from those that load single records.
pub const DB_SEARCHERS: usize = 4;
/// Of these, what one plugin and tenant may use at the same time.
pub const DB_SEARCHERS_EACH: usize = 2;
/// Steps of SQLite's machine after which a question looks whether anybody still waits for it: about a millisecond.
pub const SEARCH_LOOK_STEPS: i32 = 20_000;
/// Plugins and tenants whose shares are remembered before those that ask nothing are forgotten.
pub const SEARCH_SHARES_MAX: usize = 1_000;
/// Prepared statements for each connection: up to seven sizes of insert and of delete for each collection, and the searches. SQLx drops
/// those that were used longest ago.
pub const DB_STATEMENTS_CACHED: usize = 512;
/// Texts that write several tables, kept prepared: one for each combination of tables and size.
pub const BATCH_TEXTS_MAX: usize = 64; // 25 MiB where each writes 64 rows to ten tables; usually a tenth of that
/// Statements in one of these texts. A batch with more runs them one by one.
pub const BATCH_PARTS_MAX: usize = 32;
/// How long a statement waits for another process's lock on the file (an operator's `sqlite3`) before it fails.
pub const BUSY_TIMEOUT_MS: u64 = 5_000;
/// Pages of the write-ahead log that are folded into the file together; SQLite's default is 1 000. A page that many batches change is then
/// written once. The index of the log finds a page in one step up to some 4 000.
pub const WAL_CHECKPOINT_PAGES: u32 = 4_000;
/// The write-ahead log is cut above this size; SQLite's own checkpoints keep it far below unless a reader stands in the way.
pub const WAL_BYTES_MAX: u64 = 64 << 20;
/// How often the size of the log is looked at.
pub const WAL_LOOK_MS: u64 = 1_000;
/// How long cutting the log may wait for readers: commits wait as long.
pub const CHECKPOINT_WAIT_MS: u64 = 50;

// Change sets and the committer.

/// One record's JSON text.
pub const RECORD_BYTES_MAX: usize = 1 << 20; // more is a file, not a record
/// Ids of records, names of guards, counters, accounts, assets and transfers.
pub const KEY_BYTES_MAX: usize = 200; // they are keys of indexes
/// The memo of a ledger transfer.
pub const MEMO_BYTES_MAX: usize = 1_000; // a line for people
/// Bodies, payloads and journal entries that one call collects.
pub const CHANGE_SET_BYTES_MAX: usize = 8 << 20; // two batches; beyond it a call holds back everybody
/// Bytes held by the host for a call that are charged to its memory together. Less is free.
pub const HELD_STEP_BYTES: u64 = 64 << 10; // a page of a guest
/// Estimate of the most that the host holds for a call: what it collects and reads, the keys of both, a list of endpoints, its
/// questions, and the result of one host call.
pub const HELD_BYTES_MAX: u64 = 128 << 20;
/// Keys that one call may look at or write.
pub const CALL_KEYS_MAX: usize = 20_000; // all of them are compared under the committer's lock: about a millisecond
/// Accepted change sets that wait for the disk; more is answered with 503. One tenant alone may fill half of it.
pub const COMMIT_QUEUE_MAX: usize = 8_192; // a quarter of a second of full load
/// The same in bytes.
pub const COMMIT_QUEUE_BYTES_MAX: usize = 16 << 20; // four batches, of which one tenant fills two
/// Change sets in one transaction.
pub const BATCH_CHANGES_MAX: usize = 512; // beyond 128 throughput hardly grows, beyond 512 only the tail does
/// Bytes in one transaction.
pub const BATCH_BYTES_MAX: usize = 4 << 20; // what comes meanwhile waits for as long as they are written: some 60 ms
/// Bytes from which a change set is large: large ones are accepted up to the size of one batch, tenants in turn.
pub const LARGE_CHANGES_BYTES_MIN: usize = 8 << 10; // eight times what a call usually writes
/// Bytes of the large change sets that wait for room, or are accepted and not durable; more is answered with 503.
pub const LARGE_CHANGES_BYTES_MAX: usize = 64 << 20; // memory that nothing can evict
/// Estimate of a row of a change set, without its body.
pub const CHANGE_ROW_BYTES: usize = 200; // keys, index entries
/// Bytes of the overlay's cache: records that no call needs for deciding.
pub const OVERLAY_BYTES_MAX: usize = 64 << 20; // part of the memory that an idle host may use
/// Entries of the overlay that are not durable yet, or that running calls need for deciding. Above this, the oldest calls run again.
pub const OVERLAY_PINNED_BYTES_MAX: usize = 256 << 20; // only a call of half a minute at full load gets there
/// Estimate of an entry without its name and content.
pub const OVERLAY_ENTRY_BYTES: usize = 200; // key, entry, place in the index
/// Calls of one tenant and plugin that run at the same time, for each core. A call that waits for the disk, for a reply or for a
/// password does not count. Four keep a core busy while some of them wait for the database.
pub const TENANT_RUNS_PER_CORE: u64 = 4;
/// Bytes of cached answers of all plugins and tenants.
pub const ANSWER_CACHE_BYTES_MAX: usize = 32 << 20; // eight thousand orders with what they refer to
/// Bytes of one answer that is cached.
pub const CACHED_ANSWER_BYTES_MAX: u64 = 64 << 10; // larger ones cost more to send than to compute
/// Estimate of a cached answer without its key, bytes and reads.
pub const ANSWER_CACHE_ENTRY_BYTES: usize = 300;
/// Reads of one cached answer. They are registered under the lock of the committer.
pub const CACHED_ANSWER_READS_MAX: usize = 128; // some 10 µs
/// Estimate of one registered read.
pub const REGISTERED_READ_BYTES: usize = 64; // two hashes, a version, a count, free places of the table
/// Microseconds of one core that a cached answer takes at least, admission and sending included. Callers are paced by it.
pub const CACHED_ANSWER_CORE_US: u64 = 20;
/// Bytes of a cached answer that take one more microsecond.
pub const CACHED_ANSWER_BYTES_PER_CORE_US: u64 = 2_048;
/// Steps of the clock hand besides two for each entry that came in.
pub const OVERLAY_EVICT_STEPS: usize = 8; // well under a microsecond, and twice as fast as entries come
/// Bytes above the limit of the cache for which the clock hand makes one more step.
pub const OVERLAY_EVICT_BYTES_PER_STEP: usize = 4 << 10; // 16 MiB above it are 4 096 steps: some ten microseconds
/// Collections whose last write is remembered before those that are durable are forgotten.
pub const OVERLAY_COLLECTIONS_MAX: usize = 10_000; // one for each tenant and collection
/// Numbers of a counter that are set aside at once.
pub const COUNTER_BLOCK: u64 = 64; // one write for so many numbers; what is left is lost at a restart
/// Counters of which one call takes numbers: the first number of each may cost a transaction.
pub const CALL_COUNTERS_MAX: usize = 100;
/// Counters with numbers set aside.
pub const COUNTERS_MAX: usize = 10_000; // about two megabytes
/// Tries to learn the outcome of a commit before its callers are told that it is not known.
pub const OUTCOME_TRIES_MAX: u32 = 5; // with the waits below about a second and a half
/// Wait before asking again for the outcome of a commit.
pub const OUTCOME_RETRY_MS: u64 = 300; // a database that restarts takes seconds
/// Milliseconds between two checks for foreign writes while no batch is written: how long reads may be served from a cache
/// that another program has outdated.
pub const FOREIGN_WRITE_CHECK_MS: u64 = 1_000;
/// Pages that the writer's connection keeps in memory, in KiB.
pub const WRITER_CACHE_KIB: u32 = 64 << 10;
/// How often the host checks whether the database is idle. If it is, the writer's connection frees its cached pages.
pub const IDLE_LOOK_MS: u64 = 3_000;
/// Transactions between two checks up to which the database counts as idle. Reading their pages again takes them microseconds.
pub const IDLE_TRANSACTIONS_MAX: u32 = 100;

// What a plugin stores.

/// Collections of one plugin.
pub const COLLECTIONS_MAX: usize = 64;
/// Indexes of one collection: each costs a write for each change of a record.
pub const INDEXES_MAX: usize = 16;
/// Fields of one index.
pub const INDEX_FIELDS_MAX: usize = 8;
/// Indexed JSON fields of one collection, one column each; a bit each while they are read out of a body.
pub const INDEXED_FIELDS_MAX: usize = 32;
/// Bytes of a name in a manifest: plugins, collections, indexes.
pub const NAME_BYTES_MAX: usize = 48;
/// Bytes of a path into a JSON body ("customer.id").
pub const FIELD_PATH_BYTES_MAX: usize = 128;
/// Levels of lists and objects in a JSON text that is stored; SQLite's JSON stops at 1 000, guests' stacks far earlier.
pub const JSON_DEPTH_MAX: usize = 64;
/// Bytes of a text in an indexed field: longer ones belong into fields without an index.
pub const INDEXED_TEXT_BYTES_MAX: usize = 512;
/// Rows that a new index takes in, per second: low, so that the estimate errs to the long side.
pub const INDEX_ROWS_PER_SECOND: u64 = 200_000;
/// The longest that an index may stop all writes without an operator saying so.
pub const INDEX_SECONDS_MAX: u64 = 5;
/// Searches for records that a new version cannot read, before its deploy is refused because old ones are still written.
pub const ADMIT_SEARCHES_MAX: u32 = 3;
/// Rows whose new columns are filled in one statement; times the largest body, the memory that it takes.
pub const BACKFILL_ROWS: u32 = 32;
/// Statements of a back-fill in one transaction.
pub const BACKFILL_STATEMENTS: u32 = 16;

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
/// Scopes of one key: they are read with the key, and looked through on each request that asks for one.
pub const KEY_SCOPES_MAX: usize = 64;

// HTTP.

/// Head of a request over HTTP/1.1: request line and headers. Larger is 431 before anything is routed. A connection holds as
/// much for each head that is not complete.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Requests at the same time on one HTTP/2 connection.
pub const STREAMS_PER_CONNECTION: u32 = 128;
/// A connection on which nothing was served for this long is closed (at the latest after twice as long).
pub const CONNECTION_IDLE_MS: u64 = 75_000;
/// How long a peer may leave what was sent to it untaken before the system cuts its connection; longer than the patience of
/// a stream, which then says why it ended.
pub const PEER_SILENT_MS: u32 = 60_000;
/// Pause after the system refused a connection (out of descriptors), so that the loop does not spin.
pub const ACCEPT_PAUSE_MS: u64 = 50;
/// Milliseconds after a log line in which further failures to accept, and further ends of connections of the same peer for the same
/// reason, get no line of their own. The next line counts them.
pub const REPEATS_LOGGED_MS: u64 = 10_000;
/// Peers that have such lines at the same time.
pub const REPEATING_PEERS_MAX: usize = 256;
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

/// How often the files of the certificate are looked at. What was found twice is taken: two seconds after a renewal.
pub const CERTIFICATE_LOOK_MS: u64 = 1_000;
/// A file of certificates or a key: the bundle of a whole system has some 250 KB.
pub const PEM_FILE_BYTES_MAX: u64 = 4 << 20;
/// Of plain HTTP on a port that speaks TLS, what is read before it is refused.
pub const PLAIN_GREETING_BYTES: usize = 4 << 10;
/// A live key over plain HTTP is a line in the log; not more often than this, though each is refused.
pub const PLAIN_HTTP_TOLD_MS: u64 = 10_000;

// The engine and the swap.

/// Milliseconds between two ticks of the epoch: how exactly a guest's computing time is measured, and how long one that
/// computes keeps its thread before others get their turn. At 10, guests that loop on all threads made each write of
/// others take twice as long as at 2.
pub const EPOCH_TICK_MS: u64 = 2;
/// The same where no guest runs: a host that rests wakes up less often. The first guest after a rest has its first tick this late.
pub const IDLE_TICK_MS: u64 = 10;
/// Tasks that a thread of the runtime runs before it looks at the network again. A guest that computes gives way at each
/// tick only: with tokio's own 61, guests that loop on all threads would keep everybody's bytes waiting for 100 ms and more.
pub const TASKS_BETWEEN_LOOKS: u32 = 4;
/// Bytes: WebAssembly frames of one call. Guests keep their data in linear memory, so that frames stay small.
pub const WASM_STACK_BYTES: usize = 512 << 10;
/// Bytes: the stack of one call, frames of the host's functions included.
pub const CALL_STACK_BYTES: usize = 1 << 20;
/// Bytes that a slot of the pool keeps resident between two calls. An ordinary call writes 3 to 12 pages; a slot that once
/// ran a larger one resets this much after each later call.
pub const MEMORY_RESIDENT_BYTES: usize = 128 << 10;
pub const TABLE_RESIDENT_BYTES: usize = 64 << 10;
pub const STACK_RESIDENT_BYTES: usize = 64 << 10;
/// Bytes that one linear memory may ever have; what plugins.toml allows has to stay below it.
pub const POOL_MEMORY_BYTES: usize = 1 << 30;
/// Calls at the same time that the pool is laid out for, at least and at most. A slot is address space, not memory.
pub const POOL_CALLS_MIN: usize = 128;
pub const POOL_CALLS_MAX: usize = 1_024;
/// Linear memories, tables and core instances of one component.
pub const COMPONENT_MEMORIES_MAX: u32 = 8;
pub const COMPONENT_TABLES_MAX: u32 = 32;
pub const COMPONENT_CORE_INSTANCES_MAX: u32 = 64;
/// Tables for each call: a main module and the tables of the adapters around it.
pub const TABLES_PER_CALL: u32 = 4;
/// Entries of one table: interpreters as guests have large ones.
pub const TABLE_ELEMENTS_MAX: usize = 100_000;
/// Seeds of calls that a thread reads from the operating system at a time: 512 bytes.
pub const CALL_SEEDS_PER_READ: usize = 16;
/// Bytes of an instance's own bookkeeping in the engine.
pub const INSTANCE_BYTES_MAX: usize = 10 << 20;
/// Slots of the pool that stay warm, for each core. A slot keeps up to a quarter of a megabyte of the component that used it last, and
/// each new component warms slots of its own first: more of them would make the memory of a host grow with its first swaps.
pub const POOL_WARM_SLOTS_PER_CORE: u32 = 8;
/// Slots whose pages are given back to the system together. With more than one, a run would give back the memory of the runs
/// before it: 58 MB take milliseconds, which its party would wait for and be charged with (`fair::slices`).
pub const POOL_DECOMMIT_BATCH: usize = 1;
/// The nice value of a process that compiles: requests come first.
pub const COMPILE_NICE: i32 = 10;
/// Threads of a process that compiles: more would take cores from requests, in spite of the low priority.
pub const COMPILE_THREADS: usize = 2;
/// Open files of a process that compiles: three pipes, and one file at a time.
pub const COMPILE_FILES_MAX: u64 = 32;
/// Bytes of the machine code that compilations of one plugin reuse; the rest is compiled again each time.
pub const FUNCTION_CACHE_BYTES_MAX: usize = 64 << 20;
/// Bytes of a compilation's request, of its report, and of what it prints besides.
pub const COMPILE_MESSAGE_BYTES_MAX: u64 = 64 << 10;
/// Types of a component, in all of its core modules together: the compiler compares them with each other.
pub const COMPONENT_TYPES_MAX: u64 = 20_000;
/// Entries that all tables of a component start with: each is a part of the compiled code.
pub const COMPONENT_TABLE_ELEMENTS_MAX: u64 = 500_000;
/// Instances that one instance of a component makes within itself: code is made for each.
pub const COMPONENT_INSTANCES_MAX: u64 = 10_000;
/// Bytes that a small component may need for its compilation, where `compile.memory-bytes` is no less. It gets half of those if
/// that is more.
pub const COMPILE_MEMORY_BYTES: u64 = 384 << 20;
/// Bytes that a compilation gets besides, for each byte of its component.
pub const COMPILE_MEMORY_FACTOR: u64 = 32;
/// The part of `compile.time-ms` that a compilation may compute, and again for so many bytes of its component. Other work on
/// the machine makes a compilation last longer, but not compute longer.
pub const COMPILE_TIME_DIVISOR: u64 = 20;
pub const COMPILE_STEP_BYTES: u64 = 4 << 20;
/// Milliseconds apart that a file is read twice before it counts as completely written.
pub const SETTLE_MS: u64 = 50;
/// Milliseconds between two comparisons of the metadata of component files and plugins.toml, which find changes that no watch
/// of a folder reports.
pub const FILES_POLL_MS: u64 = 2_000;
/// Milliseconds after which a file that never stops changing, or whose reading does not end, is given up until the next change.
pub const SETTLE_MS_MAX: u64 = 30_000;
/// Milliseconds without a newer change of a plugin after which a waiting change is prepared. If the last preparation was shorter, its
/// duration counts instead.
pub const CHANGES_QUIET_MS: u64 = 500;
/// Published components of one plugin whose bytes are kept for a rollback.
pub const COMPONENTS_KEPT: usize = 10;
/// Lines of the swap journal that are read to find what to serve after a start, and what to roll back to.
pub const SWAP_HISTORY_MAX: usize = 100;
/// Milliseconds that a call waits for the generation that it belongs to: between the moment from which data of the other
/// version is no longer written and the publication lies one line of the journal of swaps.
pub const PUBLISH_WAIT_MS: u64 = 2_000;
/// Lines about overtaken changes that are written in one transaction, and held in memory before they are.
pub const OVERTAKEN_LINES_MAX: usize = 256;
/// Milliseconds between two attempts to find out whether a line of the journal of swaps is durable.
pub const JOURNAL_CONFIRM_MS: u64 = 1_000;
/// Milliseconds before a change that was refused for a cause outside of its component is prepared again. The pause doubles.
pub const SWAP_RETRY_MS: u64 = 5_000;
/// The longest of these pauses.
pub const SWAP_RETRY_MS_MAX: u64 = 600_000;
/// Crashes of the compiler after which a component is prepared no more until its file or settings change. A crash is almost always a property of the
/// component; a few attempts outlast a machine that is short of something for a minute.
pub const COMPILE_CRASHES_MAX: u32 = 4;
/// Commands that wait for the one task that swaps.
pub const RELOAD_QUEUE: usize = 256;
/// Milliseconds without a compilation and without the end of a first load, after which timers and effects start without the
/// plugins that are missing.
pub const FIRST_LOADS_STALL_MS: u64 = 30_000;

// Upkeep.

/// How often the free space of the disk is looked at: at full load some ten megabytes are written meanwhile.
pub const DISK_LOOK_MS: u64 = 1_000;
/// While less than twice `free-disk-bytes-min` is free, a tenant may write `free-disk-bytes-min` divided by this.
pub const DISK_SHARES: u64 = 16; // a tenant uses an eighth of what is left, since the log holds each byte as well
/// Looks at the disk after which a tenant may write its share again, if the disk has lost less than a share meanwhile.
pub const DISK_SHARE_LOOKS: u64 = 600; // ten minutes
/// How often rows past their retention are deleted.
pub const RETENTION_EVERY_MS: u64 = 60_000;
/// How often the oldest webhook that waits is looked for: some milliseconds for each thousand endpoints.
pub const OLDEST_LOOK_MS: u64 = 15_000;

// Looking for records.

/// Entries of one page.
pub const FIND_ENTRIES_MAX: u32 = 1_000;
/// Bodies of one page together; a page ends early rather than to pass it, but holds one entry at least.
pub const FIND_BYTES_MAX: usize = 8 << 20;
/// Conditions of one query.
pub const FIND_CONDITIONS_MAX: usize = 32;
/// Values of one `one-of`.
pub const ONE_OF_MAX: usize = 100;
/// Values of a `one-of` that are looked up one by one in an index and merged: each is a SELECT, or several on a later page.
pub const ONE_OF_MERGED_MAX: usize = 16;
/// Bytes of a cursor that came from outside: values of an index, written out.
pub const CURSOR_BYTES_MAX: usize = 16 << 10;
/// The furthest that `count` counts.
pub const COUNT_MAX: u32 = 1_000_000;

// Growth.

/// Rows that retention deletes in one transaction: a few milliseconds in which nothing else is written.
pub const PRUNE_ROWS: u32 = 1_000;
/// Deliveries that retention deletes in one transaction, with the attempts of each.
pub const DELIVERIES_PRUNED_AT_ONCE: u32 = 250;
/// Batch ids that are kept whatever their age: the newest tells the version to go on from, all may still be asked for.
pub const BATCHES_KEPT: u32 = 1_000;
/// Bytes of a row besides its content, for estimates: columns, indexes, room in pages.
pub const ROW_BYTES: u64 = 200;
/// Lines of the operators' journal in one answer.
pub const SWAPS_LISTED_MAX: u32 = 1_000;
