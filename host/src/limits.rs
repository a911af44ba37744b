//! Every number of the host that an operator does not set: name with unit, value, why.

// The database.

/// Connections that read. Two cores serve few readers; each has its own thread and cache.
pub const DB_READERS: u32 = 4;
/// Prepared statements kept for each connection: four sizes of insert for each collection, and the pages that are asked for.
pub const DB_STATEMENTS_CACHED: usize = 512;
/// How long a statement waits for another process's lock on the file (an operator's `sqlite3`) before it fails.
pub const BUSY_TIMEOUT_MS: u64 = 5_000;
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
pub const CHANGE_SET_BYTES_MAX: usize = 8 << 20; // fits a batch; beyond it a call holds back everybody
/// Keys that one call may look at or write.
pub const CALL_KEYS_MAX: usize = 20_000; // all of them are compared under the committer's lock: about a millisecond
/// Accepted change sets that wait for the disk; more is answered with 503.
pub const COMMIT_QUEUE_MAX: usize = 8_192; // a quarter of a second of full load
/// The same in bytes.
pub const COMMIT_QUEUE_BYTES_MAX: usize = 64 << 20; // memory that nothing can evict
/// Change sets in one transaction.
pub const BATCH_CHANGES_MAX: usize = 512; // beyond 128 throughput hardly grows, beyond 512 only the tail does
/// Bytes in one transaction.
pub const BATCH_BYTES_MAX: usize = 16 << 20; // keeps a commit under a second on a slow disk
/// What the overlay keeps of records that nobody needs for deciding.
pub const OVERLAY_BYTES_MAX: usize = 64 << 20; // part of the memory that an idle host may use
/// Above this, calls that keep entries from being evicted begin again.
pub const OVERLAY_PINNED_BYTES_MAX: usize = 256 << 20; // only a call of half a minute at full load gets there
/// Estimate of an entry without its name and content.
pub const OVERLAY_ENTRY_BYTES: usize = 200; // key, entry, place in the index
/// Steps of the clock hand besides two for each entry that came in.
pub const OVERLAY_EVICT_STEPS: usize = 8; // well under a microsecond, and twice as fast as entries come
/// Collections whose last write is remembered before those that are durable are forgotten.
pub const OVERLAY_COLLECTIONS_MAX: usize = 10_000; // one for each tenant and collection
/// Numbers of a counter that are set aside at once.
pub const COUNTER_BLOCK: u64 = 64; // one write for so many numbers; what is left is lost at a restart
/// Counters with numbers set aside.
pub const COUNTERS_MAX: usize = 10_000; // about two megabytes
/// Tries to learn the outcome of a commit before its callers are told that it is not known.
pub const OUTCOME_TRIES_MAX: u32 = 5; // with the waits below about a second and a half
/// Wait before asking again for the outcome of a commit.
pub const OUTCOME_RETRY_MS: u64 = 300; // a database that restarts takes seconds
/// Pages that the writer's connection keeps in memory, in KiB.
pub const WRITER_CACHE_KIB: u32 = 64 << 10;

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
/// Rows whose new columns are filled in one statement; times the largest body, the memory that it takes.
pub const BACKFILL_ROWS: u32 = 32;
/// Statements of a back-fill in one transaction.
pub const BACKFILL_STATEMENTS: u32 = 16;

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
/// Batch ids that are kept whatever their age: the newest tells the version to go on from, all may still be asked for.
pub const BATCHES_KEPT: u32 = 1_000;
/// Bytes of a row besides its content, for estimates: columns, indexes, room in pages.
pub const ROW_BYTES: u64 = 200;
/// Lines of the operators' journal in one answer.
pub const SWAPS_LISTED_MAX: u32 = 1_000;
