//! What the sandbox decides, from tables: plain Rust, without SDK or clock. Nothing here is random: the same request has the same end.

pub mod amount;
pub mod banks;
pub mod fate;
pub mod limits;
pub mod offers;
pub mod order;
pub mod payout;
pub mod prices;
pub mod sanctions;
pub mod signature;
