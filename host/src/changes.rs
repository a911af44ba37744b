//! The change set and the committer: what one call wants changed, whether it still may, and how it becomes durable.
//!
//! - `scope`: plugin and tenant; the one place that confines every read and write.
//! - `change_set`: the plain value that a call leaves behind.
//! - `overlay`: what was accepted already, durable or not, since the oldest running call began.
//! - `decide`: the pure function `(overlay, change set) -> accepted | what no longer holds`.
//! - `committer`: the queue, the batches, who waits for what.
//! - `envelope`: what surrounds the payload of an event.
//! - `endpoint`: where events are delivered to, as a plain value.
//! - `timer`, `effect`: a durable timer, and a call that follows a commit, as plain values.
//! - `chain`: what is watched on blockchains, as plain values.
//! - `credential`: a key or token that a plugin hands out, as a plain value.
//! - `destination`: a server that a tenant has named, as a plain value.
//! - `operator_action`: what an operator did, as a plain value.
//! - `outgoing`: a call to somebody else, and what came back, as plain values.
//! - `own`: changes that the host itself makes.
//! - `draft`: one call's view: reads that are noted, writes that are collected.

pub mod chain;
pub mod change_set;
pub mod committer;
pub mod credential;
pub mod decide;
pub mod destination;
pub mod draft;
pub mod effect;
pub mod endpoint;
pub mod envelope;
pub mod operator_action;
pub mod outgoing;
pub mod overlay;
pub mod own;
pub mod scope;
pub mod timer;

#[cfg(test)]
pub(crate) mod testing;
