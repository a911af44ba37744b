//! Handlers and tasks on a host in memory, with real keys and a blockchain that does what the test says.

mod addresses;
mod chain;
mod deposits;
mod payment_links;
mod support;
mod wallets;
mod withdrawals;
