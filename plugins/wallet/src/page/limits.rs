//! Every number of the page, with its unit and why.

/// Between two questions while something changes: blocks of the quickest blockchains come as often.
pub const POLL_MS: u32 = 3_000;
/// Between two questions when nothing has changed for long.
pub const POLL_MS_MAX: u32 = 15_000;
/// Between two questions when there is no answer.
pub const RETRY_MS_MAX: u32 = 60_000;
/// Seconds between two loads of the page where it has no script.
pub const REFRESH_S: u32 = 15;
/// Seconds from "paid" to the address that the payer is led to: long enough to read it, and to say no.
pub const LEAD_S: u32 = 5;
/// Light modules around a QR code (ISO/IEC 18004).
pub const QUIET_MODULES: i32 = 4;
