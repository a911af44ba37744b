//! The wallet interface over HTTP: with real keys, on simulated blockchains, on the real host (spec/wallet, docs/wallet).
//!
//! - `stage`: a host with the interface and its providers, an account, its wallets; what an operator does to a blockchain.
//! - `flows`: money from end to end. `faults`: whatever happens in between. `repeats`: the same request again.
//! - `wallets`, `addresses`, `holdings`: what there is. `withdrawals`, `gasless`: what leaves. `deposits`, `sweeps`: what arrives.
//!   `transactions`, `webhooks`: what became of it. `keyless`: who is told nothing.
//! - `acts`, `look`: what tests of several families do, and look at.
//! - `secrets`: where seeds and keys must not be.
//! - `page`: what a payer sees of it, in a browser.
//! - `strangers`: keys that open something else.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod acts;
mod addresses;
mod coverage;
mod deposits;
mod faults;
mod flows;
mod gasless;
mod holdings;
mod keyless;
mod look;
mod page;
mod repeats;
mod secrets;
pub mod stage;
mod strangers;
mod sweeps;
mod transactions;
mod wallets;
mod webhooks;
mod withdrawals;

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;
