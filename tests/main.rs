//! The one test binary: the house's rules, and the real program with real components.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod crash;
mod guests;
mod house;
mod fleet;
mod host;
mod support;
mod swap;
