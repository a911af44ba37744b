//! Handlers and tasks on a host in memory, with real keys and a blockchain that does what the test says.

mod addresses;
mod chain;
mod deposits;
mod manifest;
mod payment_links;
mod payment_pages;
mod recovery;
mod signing;
mod support;
mod transactions;
mod wallets;
mod withdrawals;
