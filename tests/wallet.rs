//! The wallet interface over HTTP: with real keys, on simulated blockchains, on the real host (spec/wallet, docs/wallet).
//!
//! - `stage`: a host with the interface and its providers, an account, its wallets; what an operator does to a blockchain.
//! - `flows`: money from end to end. `faults`: whatever happens in between.
//! - `secrets`: where seeds and keys must not be.
//! - `page`: what a payer sees of it, in a browser.
//! - `signing`, `recovery`, `links`, `fiat`, `swaps`, `gateway`, `settlements`, `virtual_accounts`, `callbacks`: a family each, asked
//!   for what it promises and for what it refuses. `acts`: what they do alike; `switched_off`: addresses that nothing leaves;
//!   `mining`: blocks where the clock stands still.
//! - `coverage`: what there is to be tested, and that each row of it is.
//!
//! A test says what it covers (`covers`), and fails where that was not seen on the wire.

mod acts;
mod callbacks;
mod coverage;
mod faults;
mod fiat;
mod flows;
mod gateway;
mod links;
mod mining;
mod page;
mod recovery;
mod secrets;
mod settlements;
mod signing;
pub mod stage;
mod swaps;
mod switched_off;
mod virtual_accounts;
