//! The one test binary: the house's rules, and the real program with real components.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::disallowed_methods)] // tests spawn what they then wait for

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
