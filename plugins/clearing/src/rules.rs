//! The rules of the interface: plain Rust, without SDK, JSON or clock. Time is an argument, in milliseconds since 1970.
//!
//! A message is read by `message`, a payment is moved by `inbound` (the partner's view) or `outbound` (the platform's);
//! both give a `step`: the new record and what else has to be done, as values.

pub mod account;
pub mod amount;
pub mod books;
pub mod concern;
pub mod content;
pub mod currency;
pub mod date;
pub mod deadline;
pub mod directory;
pub mod event;
pub mod inbound;
pub mod invalid;
pub mod kind;
pub mod limits;
pub mod message;
pub mod outbound;
pub mod refusal;
pub mod report;
pub mod scheme;
#[cfg(test)]
pub(crate) mod simulation;
pub mod state;
pub mod status;
pub mod step;
pub mod text;
pub mod uetr;
