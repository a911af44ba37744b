//! The only integration test binary: tests of the real program with real components, and checks of the sources.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::disallowed_methods)] // Tests wait for the tasks that they spawn.

mod cached;
mod clearing;
mod conformance;
mod contention;
mod crash;
mod docs;
mod effects;
mod fleet;
mod guests;
mod host;
mod house;
mod idempotency;
mod isolation;
mod support;
mod swap;
mod tasks;
mod wallet;
