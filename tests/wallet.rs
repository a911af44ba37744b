//! The wallet interface over HTTP: with real keys, on simulated blockchains, on the real host (spec/wallet, docs/wallet).
//!
//! - `stage`: a host with the interface and its providers, an account, its wallets; what an operator does to a blockchain.
//! - `flows`: money from end to end. `faults`: whatever happens in between.
//! - `secrets`: where seeds and keys must not be.
//! - `page`: what a payer sees of it, in a browser.
//! - `strangers`: keys that open something else.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod coverage;
mod faults;
mod flows;
mod page;
mod secrets;
pub mod stage;
mod strangers;
