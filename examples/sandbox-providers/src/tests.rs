//! The plugin on the host in memory, by what customers see.

mod callbacks;
mod deliveries;
mod gateway;
mod hostile;
mod manifest;
mod payouts;
mod sanctions;
mod support;
mod swaps;
mod virtual_accounts;
