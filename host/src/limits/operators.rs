//! Limits of the operators' listener, of files and of the command line, of profiles, and of backups.

// The operators' listener, files, the command line.

/// Bytes of one component sent to the operators' listener. The limit of the plugin is checked afterwards. This one
/// keeps a mistaken upload from filling the memory before it is checked. All components that are being uploaded,
/// checked or prepared share the same limit, and further ones are read when others have finished.
pub const ADMIN_COMPONENT_BYTES_MAX: usize = 256 << 20;

/// Milliseconds in which a component must be uploaded: the largest one over 10 Mbit/s.
pub const ADMIN_COMPONENT_READ_MS: u64 = 220_000;

/// Bytes of any other body on the operators' listener. These bodies are small JSON documents.
pub const ADMIN_BODY_BYTES_MAX: usize = 64 << 10;

/// Lines of the operators' journal in one response.
pub const ADMIN_JOURNAL_LINES_MAX: usize = 1_000;

/// Lines of the operators' journal for a request without a limit: about one screen.
pub const ADMIN_JOURNAL_LINES_DEFAULT: usize = 50;

/// Days until a new key expires, at most: ten years.
pub const KEY_DAYS_MAX: u32 = 3_650;

/// Actions of operators that run at once. Further ones wait.
pub const OPERATOR_ACTIONS_MAX: u32 = 1_000;

/// Characters of a hash that selects a stored component, and of a whole hash.
pub const HASH_PREFIX_CHARS_MIN: usize = 4;
pub const HASH_CHARS: usize = 64;

/// Entries of one page of a list.
pub const ADMIN_PAGE_MAX: u32 = 1_000;

/// Endpoints of the same name that the error lists if a command is ambiguous.
pub const ENDPOINTS_NAMED_MAX: u32 = 20;

/// Entries of a page for a request without a limit.
pub const ADMIN_PAGE_DEFAULT: u32 = 100;

/// Lines of the tenants' journal that are examined for one page, and the bytes of a page.
pub const AUDIT_LINES_EXAMINED: usize = 20_000; // well below a second
pub const AUDIT_BYTES_LISTED: usize = 16 << 20; // fits as escaped JSON into what the command line reads

/// Lines and bytes that are hashed again for one response: about a second, in which no checkpoint of the log is
/// possible.
pub const AUDIT_LINES_VERIFIED: usize = 100_000;
pub const AUDIT_BYTES_VERIFIED: usize = 256 << 20;

/// Characters of the name that an operator's program sends for the journal.
pub const OPERATOR_NAME_CHARS_MAX: usize = 64;

/// Bytes of plugins.toml. Thousands of plugins fit, a mistaken path (a log, a component) does not.
pub const CONFIG_FILE_BYTES_MAX: u64 = 4 << 20;

/// Bytes of a file that contains a key or a token.
pub const PRIVATE_FILE_BYTES_MAX: u64 = 64 << 10;

/// Concurrent master keys: one that seals, and older ones that still open. More indicates that a rotation was never
/// finished.
pub const MASTER_KEYS_MAX: usize = 8;

/// Bytes of one response of the operators' listener that the command line reads.
pub const CLI_RESPONSE_BYTES_MAX: usize = 64 << 20;

/// Milliseconds that the command line waits for a response. A deploy compiles, which takes seconds for a large
/// component.
pub const CLI_RESPONSE_MS_MAX: u64 = 120_000;

/// Bytes of a webhook that `tenon listen` accepts.
pub const LISTEN_BODY_BYTES_MAX: usize = 8 << 20;

/// Milliseconds for the head of a request to `tenon listen`, and for its body.
pub const LISTEN_HEAD_MS: u64 = 10_000;
pub const LISTEN_BODY_MS: u64 = 30_000;

/// Concurrent connections to `tenon listen`: more than a host opens to one endpoint.
pub const LISTEN_CONNECTIONS_MAX: usize = 256;

// Profiles of plugins.

/// Seconds of one profile of a plugin: as long as an operator waits for it, and well below `CLI_RESPONSE_MS_MAX`.
pub const PROFILE_SECONDS_MAX: u64 = 60;
/// The default for a request without a duration.
pub const PROFILE_SECONDS_DEFAULT: u64 = 10;
/// Samples of one profile: all ticks of a minute on four fully used cores.
pub const PROFILE_SAMPLES_MAX: usize = 120_000;
/// Different stacks of one profile, each prefix counted. A plugin has some thousands. Recursion over varied data has
/// more.
pub const PROFILE_STACKS_MAX: usize = 50_000;
/// Bytes of all names of functions and operations in one profile.
pub const PROFILE_NAMES_BYTES_MAX: usize = 2 << 20; // ten thousand functions
/// Bytes that are kept of the encoded name of one function. Most names of Rust have less than 300.
pub const PROFILE_NAME_BYTES_MAX: usize = 2_000;
/// Innermost frames of one stack. Plugins in Rust have 10 to 40. An interpreter as guest has several for each call.
pub const PROFILE_FRAMES_MAX: usize = 128;
/// Estimate of the most memory that a profile takes, mainly its text and the copy that is sent.
pub const PROFILE_BYTES_MAX: u64 = 64 << 20;
/// Functions that the report of a profile lists: as many as fit on a screen.
pub const PROFILE_FUNCTIONS_LISTED: usize = 10;
/// Milliseconds between two updates of the progress line of a profile.
pub const PROFILE_PROGRESS_MS: u64 = 250;

// Backups.

/// Files up to this size are compared index by index. For larger files, only pages and rows are checked, since the rest
/// takes many minutes.
pub const CHECK_THOROUGH_BYTES_MAX: u64 = 4 << 30;
/// Time in which a start checks pages of the database: some ten thousand pages, which is all of a small database.
pub const START_CHECK_MS: u64 = 50;
/// How long a host is not ready after an I/O error of its database.
pub const IO_ERRORS_KEPT_MS: u64 = 10_000;
/// Interval at which the version of the database is recorded beside it. A start detects lost commits by it.
pub const VERSION_NOTE_MS: u64 = 5_000;
/// Attempts to inspect files that a running host changes meanwhile.
pub const SURVEY_ATTEMPTS_MAX: usize = 5;
/// How long a start waits for a command that inspects the files, which reads the whole log, and the interval of its
/// attempts.
pub const LOCK_WAIT_MS: u64 = 5_000;
pub const LOCK_RETRY_MS: u64 = 20;
/// Interval at which a host checks that its lock file is still the one that it holds.
pub const LOCK_FILE_CHECK_MS: u64 = 15_000;
/// Symbolic links from the name of a database to its file. Linux follows as many.
pub const LINKS_MAX: usize = 40;
/// Bytes that are copied or hashed at once.
pub const COPY_CHUNK_BYTES: usize = 1 << 20;
/// Bytes of the manifest of a backup: some ten thousand components fit.
pub const BACKUP_MANIFEST_BYTES_MAX: u64 = 4 << 20;
/// Bytes that stay free on a disk if no setting defines them: capacity for the log of a host that starts on it.
pub const SPARE_DISK_BYTES: u64 = 64 << 20;
/// Interval at which the command line polls the progress of a backup or a restore.
pub const BACKUP_POLL_MS: u64 = 250;
