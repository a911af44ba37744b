//! The rules of the interface: plain Rust, without SDK, JSON or clock. Time is an argument, in milliseconds since 1970.

pub mod authority;
pub mod change;
pub mod contact;
pub mod driver;
pub mod entity;
pub mod flow;
pub mod invalid;
pub mod location;
pub mod next;
pub mod order;
pub mod payload;
pub mod place;
pub mod progress;
pub mod proof;
pub mod refusal;
pub mod text;
pub mod tracker;
pub mod tracking;
pub mod vehicle;
pub mod waypoint;
pub mod webhook;
