//! Every number of the host that an operator does not set: name with unit, value, why.
//!
//! What an operator sets stands in `config::keys`, with default and bounds.

/// Bytes of one component sent to the operators' listener. The plugin's own limit is checked afterwards; this one keeps
/// a mistaken upload from filling the memory before anything has looked at it.
pub const ADMIN_COMPONENT_BYTES_MAX: usize = 256 << 20;

/// Bytes of any other body on the operators' listener: they are small JSON texts.
pub const ADMIN_BODY_BYTES_MAX: usize = 64 << 10;

/// Lines of the operators' journal in one answer.
pub const ADMIN_JOURNAL_LINES_MAX: usize = 1_000;

/// Lines of the operators' journal where the question names no limit: about one screen.
pub const ADMIN_JOURNAL_LINES_DEFAULT: usize = 50;

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
