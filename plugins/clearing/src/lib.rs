//! The clearing house interface (spec/clearing), both sides: the partner that receives payments, the platform that sends
//! them.
//!
//! Owns `rules`, plain Rust without SDK, JSON or clock. Routes, records and the component come on top of them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod rules;
