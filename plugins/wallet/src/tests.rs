//! Handlers and tasks on a host in memory, with real keys and a blockchain that does what the test says.

mod addresses;
mod callbacks;
mod chain;
mod day;
mod deposits;
mod fiat;
mod gateway;
mod manifest;
mod nodes;
mod payment_links;
mod payment_pages;
mod provider;
mod recovery;
mod settlements;
mod signing;
mod support;
mod swaps;
mod transactions;
mod virtual_accounts;
mod wallets;
mod withdrawals;
