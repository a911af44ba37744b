//! What every adapter has to do (`conformance`, written against the trait), what only the simulated one does (`faults`), the
//! sums over thousands of random steps (`ledger`), and what other libraries make of the same transactions (`oracle`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bed;
mod conformance;
mod faults;
mod ledger;
mod oracle;
