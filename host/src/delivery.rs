//! Webhooks: events become deliveries, deliveries become attempts.
//!
//! Owns signing. What goes out is signed exactly as it goes out; calls themselves are made by `outbound`.

pub mod signing;
