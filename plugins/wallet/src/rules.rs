//! The rules of the interface: plain Rust, without SDK, JSON or clock. Time is an argument, in milliseconds since 1970.

pub mod address;
pub mod amount;
pub mod arrival;
pub mod asset;
pub mod blockchain;
pub mod books;
pub mod broadcast;
pub mod code;
pub mod compliance;
pub mod delivery;
pub mod deposit;
pub mod event;
pub mod fee;
pub mod invalid;
pub mod kind;
pub mod limits;
pub mod network;
pub mod outgoing;
pub mod page;
pub mod payout;
pub mod quote;
pub mod rate;
pub mod reference;
pub mod refusal;
pub mod request;
pub mod screening;
pub mod settings;
pub mod settlement;
#[cfg(test)]
mod simulation;
pub mod status;
pub mod step;
pub mod swap;
pub mod sweep;
pub mod target;
pub mod virtual_account;
