//! Swaps of plugins while requests run, on the real host, observed by clients and operators.

mod bombs;
mod burst;
mod chameleons;
mod files;
mod journal;
mod load;
mod many_swaps;
mod operator_requests;
mod rejected_components;
mod settings;
mod stored_data;
mod traffic;
mod two_plugins;
mod writers;
