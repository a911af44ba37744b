//! Decides whether a change set may be applied, and makes it durable.
//!
//! - `draft`: the view of one call. It records reads and collects writes.
//! - `overlay`: accepted changes that the oldest running call may not have read from the database.
//! - `decide`: a pure function from overlay and change set to an accepted change or the reason of a conflict.
//! - `committer`: the queue, the batches, and the callers that wait for them.
//! - `own`: changes that the host itself makes.

pub mod committer;
pub mod decide;
pub mod draft;
pub mod overlay;
pub mod own;

#[cfg(test)]
pub(crate) mod testing;
