//! The wallet interface over HTTP: with real keys, on simulated blockchains, on the real host (spec/wallet,
//! docs/wallet).
//!
//! - `stage`: a host with the interface and its providers, an account, its wallets; what an operator does to a
//!   blockchain.
//! - `flows`: money from end to end. `faults`: whatever happens in between. `repeats`: the same request again.
//! - `wallets`, `addresses`, `holdings`: what there is. `withdrawals`, `gasless`: what leaves. `deposits`, `sweeps`:
//!   what arrives. `transactions`, `webhooks`: what became of it.
//! - `signing`, `recovery`, `links`, `fiat`, `swaps`, `gateway`, `settlements`, `virtual_accounts`, `callbacks`: a
//!   family each, asked for what it promises and for what it refuses.
//! - `acts`, `look`: what tests of several families do, and look at; `mining`: blocks where the clock stands still.
//! - `secrets`: where seeds and keys must not be.
//! - `page`: what a payer sees of it, in a browser.
//! - `switched_off`: addresses that nothing leaves. `strangers`: keys that open something else. `keyless`: none that is
//!   good.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod acts;
mod addresses;
mod callbacks;
mod coverage;
mod deposits;
mod faults;
mod fiat;
mod flows;
mod gasless;
mod gateway;
mod holdings;
mod keyless;
mod links;
mod look;
mod mining;
mod page;
mod recovery;
mod repeats;
mod secrets;
mod settlements;
mod signing;
pub mod stage;
mod strangers;
mod swaps;
mod sweeps;
mod switched_off;
mod transactions;
mod virtual_accounts;
mod wallets;
mod webhooks;
mod withdrawals;

/// 2026-05-07T08:30:00Z
const START_MS: u64 = 1_778_142_600_000;
