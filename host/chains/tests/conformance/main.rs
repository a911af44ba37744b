//! Tests of chain adapters.
//!
//! - `conformance`: requirements of every adapter, written against the trait. `faults`: features of the simulated
//!   adapter only.
//! - `totals`: invariants of the ledger over thousands of random steps. `oracle`: comparison with other libraries.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod conformance;
mod faults;
mod oracle;
mod testbed;
mod totals;
