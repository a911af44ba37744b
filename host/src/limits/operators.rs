//! Numbers of the operators' listener, of files and of the command line, and of backups.

// The operators' listener, files, the command line.

/// Bytes of one component sent to the operators' listener. The plugin's own limit is checked afterwards; this one keeps
/// a mistaken upload from filling the memory before anything has looked at it. All components that are being sent, checked or
/// prepared may have as many bytes together; further ones are read when others have left.
pub const ADMIN_COMPONENT_BYTES_MAX: usize = 256 << 20;

/// Milliseconds in which a component must have been read: the largest one over 10 Mbit/s.
pub const ADMIN_COMPONENT_READ_MS: u64 = 220_000;

/// Bytes of any other body on the operators' listener: they are small JSON texts.
pub const ADMIN_BODY_BYTES_MAX: usize = 64 << 10;

/// Lines of the operators' journal in one answer.
pub const ADMIN_JOURNAL_LINES_MAX: usize = 1_000;

/// Lines of the operators' journal where the question names no limit: about one screen.
pub const ADMIN_JOURNAL_LINES_DEFAULT: usize = 50;

/// Endpoints or deliveries in one answer.
pub const ADMIN_WEBHOOKS_MAX: u32 = 1_000;

/// Endpoints of one name that an operator is told of when one was meant.
pub const ENDPOINTS_NAMED_MAX: u32 = 20;

/// Endpoints or deliveries where the question names no limit.
pub const ADMIN_WEBHOOKS_DEFAULT: u32 = 100;

/// Messages of the outbox in one answer, and where the question names no limit.
pub const ADMIN_OUTBOX_MAX: u32 = 1_000;
pub const ADMIN_OUTBOX_DEFAULT: u32 = 100;

/// Lines of the tenants' journal that are looked at for one page of them, and the bytes of a page.
pub const AUDIT_LINES_LOOKED_AT: usize = 20_000; // well below a second
pub const AUDIT_BYTES_LISTED: usize = 16 << 20; // escaped as JSON still within what the command line reads

/// Lines and bytes that are hashed again for one answer: about a second, in which nothing of the log can be folded in.
pub const AUDIT_LINES_FOLLOWED: usize = 100_000;
pub const AUDIT_BYTES_FOLLOWED: usize = 256 << 20;

/// Characters of the name that an operator's program gives itself for the journal.
pub const OPERATOR_NAME_CHARS_MAX: usize = 64;

/// Bytes of plugins.toml: thousands of plugins fit; a mistaken path (a log, a component) does not.
pub const CONFIG_FILE_BYTES_MAX: u64 = 4 << 20;

/// Bytes of a file that holds a key or a token.
pub const PRIVATE_FILE_BYTES_MAX: u64 = 64 << 10;

/// Master keys at once: one that seals, and older ones that still open. More means that rotation was never finished.
pub const MASTER_KEYS_MAX: usize = 8;

/// Bytes of one answer of the operators' listener that the command line reads.
pub const CLI_ANSWER_BYTES_MAX: usize = 64 << 20;

/// Milliseconds that the command line waits for an answer. A deploy compiles, which takes seconds for a large component.
pub const CLI_ANSWER_MS_MAX: u64 = 120_000;

/// Bytes of a webhook that `tenon listen` takes.
pub const LISTEN_BODY_BYTES_MAX: usize = 8 << 20;

/// Milliseconds that a sender has for the head of a request to `tenon listen`, and for its body.
pub const LISTEN_HEAD_MS: u64 = 10_000;
pub const LISTEN_BODY_MS: u64 = 30_000;

/// Connections to `tenon listen` at once: more than a host opens to one endpoint.
pub const LISTEN_CONNECTIONS_MAX: usize = 256;

// Profiles of plugins.

/// Seconds that one profile of a plugin may take: as long as a person waits for it, and well below `CLI_ANSWER_MS_MAX`.
pub const PROFILE_SECONDS_MAX: u64 = 60;
/// The same where a request names none.
pub const PROFILE_SECONDS_DEFAULT: u64 = 10;
/// Samples of one profile: all ticks of a minute on four cores that do nothing else.
pub const PROFILE_SAMPLES_MAX: usize = 120_000;
/// Different stacks of one profile, each prefix counted. A plugin has some thousands; recursion over varied data has more.
pub const PROFILE_STACKS_MAX: usize = 50_000;
/// Bytes of all names of functions and operations in one profile.
pub const PROFILE_NAMES_BYTES_MAX: usize = 2 << 20; // ten thousand functions
/// Bytes that are kept of the encoded name of one function: most names of Rust have less than 300.
pub const PROFILE_NAME_BYTES_MAX: usize = 2_000;
/// Frames of one stack, the innermost ones. Plugins in Rust have 10 to 40; an interpreter as guest has several for each call.
pub const PROFILE_FRAMES_MAX: usize = 128;
/// Estimate of the most memory that a profile takes, mainly its text and the copy that is sent.
pub const PROFILE_BYTES_MAX: u64 = 64 << 20;
/// Functions that the report of a profile lists: what fits on a screen.
pub const PROFILE_FUNCTIONS_LISTED: usize = 10;
/// Milliseconds between two updates of the progress line of a profile.
pub const PROFILE_PROGRESS_MS: u64 = 250;

// Backups.

/// Files up to this size are compared index by index; of larger ones only pages and rows are looked at, since the rest takes
/// many minutes.
pub const CHECK_THOROUGH_BYTES_MAX: u64 = 4 << 30;
/// A start checks pages of the database for this long; some ten thousand of them, all of a small database.
pub const START_CHECK_MS: u64 = 50;
/// A host is not ready for so long after an I/O error of its database.
pub const IO_ERRORS_KEPT_MS: u64 = 10_000;
/// Interval at which the version of the database is noted beside it. A start detects if older commits were lost.
pub const VERSION_NOTE_MS: u64 = 5_000;
/// Attempts to inspect files that a running host changes meanwhile.
pub const SURVEY_ATTEMPTS_MAX: usize = 5;
/// How long a start waits for a command that inspects the files, which reads the whole log; and how often it tries.
pub const LOCK_WAIT_MS: u64 = 5_000;
pub const LOCK_LOOK_MS: u64 = 20;
/// How often a host looks whether its lock file is still the one that it holds.
pub const LOCK_FILE_LOOK_MS: u64 = 15_000;
/// Symbolic links from the name of a database to its file; Linux follows as many.
pub const LINKS_MAX: usize = 40;
/// Bytes that are copied or hashed at once.
pub const COPY_CHUNK_BYTES: usize = 1 << 20;
/// Bytes of the manifest of a backup: some ten thousand components fit.
pub const BACKUP_MANIFEST_BYTES_MAX: u64 = 4 << 20;
/// Bytes that stay free on a disk if no setting says how many: room for the log of a host that starts on it.
pub const SPARE_DISK_BYTES: u64 = 64 << 20;
/// How often the command line looks how far a backup or a restore has come.
pub const BACKUP_LOOK_MS: u64 = 250;
