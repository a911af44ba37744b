//! Limits of what components log, print and send as headers.

/// Lines of one call that reach the log: `log.write`, and what the guest prints as one line.
pub const CALL_LOG_LINES_MAX: u32 = 200;
/// Bytes of those lines.
pub const CALL_LOG_BYTES_MAX: usize = 256 << 10;
/// Lines of one generation that reach the log within a second, and the same number again for its faults.
pub const PLUGIN_LOG_LINES_PER_SECOND_MAX: u32 = 1_000;
/// Bytes of those lines: a disk of 100 GB takes days to fill.
pub const PLUGIN_LOG_BYTES_PER_SECOND_MAX: usize = 256 << 10;
/// Bytes of the output of a component, and of its backtrace, in the reason of a rejection or a fault.
pub const REFUSAL_OUTPUT_BYTES_MAX: usize = 2_048;
/// Frames of the backtrace in such a reason.
pub const REFUSAL_FRAMES_MAX: usize = 20;
/// Bytes of the name of a function or module in a backtrace.
pub const FRAME_NAME_BYTES_MAX: usize = 200;
/// Bytes of the value of one header of an answer. Proxies and clients reject longer ones.
pub const HEADER_VALUE_BYTES_MAX: usize = 8 << 10;
/// Bytes of all names and values of the headers of an answer.
pub const HEADERS_BYTES_MAX: usize = 32 << 10;
/// Milliseconds between two log lines about one dropped header of one plugin.
pub const DROPPED_HEADER_LINE_MS: u64 = 60_000;
/// Headers of one plugin whose last such line is tracked. Bounded, because a plugin may send arbitrary names.
pub const DROPPED_HEADERS_TRACKED_MAX: usize = 256;
/// Bytes of one of several reasons of a rejection, and of a single one, with the output of the component.
pub const REFUSAL_REASON_BYTES_MAX: usize = 500;
pub const REFUSAL_BYTES_MAX: usize = 5_000;
/// Reasons of a rejection that are listed. Further ones are counted.
pub const REFUSAL_REASONS_MAX: usize = 10;
