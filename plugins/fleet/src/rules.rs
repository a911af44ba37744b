//! The rules of the interface: plain Rust, without SDK, JSON or clock.

pub mod driver;
pub mod invalid;
pub mod location;
pub mod order;
pub mod place;
pub mod text;
pub mod webhook;
