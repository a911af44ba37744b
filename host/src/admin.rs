//! The operators' listener: what runs, swaps, keys, webhooks, checks, health, metrics.
//!
//! Never serves an interface of a plugin, and never does the work itself: it checks who asks, reads the question, calls
//! `Operations`, and words the answer.
//!
//! - `operations`: what operators can ask for, as a trait that `boot` connects. `wire`: its JSON, shared with `cli`.
//! - `guard`: token, Host, Origin. `token`: the file that holds the token. `problem`: errors. `routes`: the table.
//! - `secret_json`: answers that show a secret. `actions`: what operators did, in the log, and what they did not get, in their journal.
//! - `plugins`, `keys`, `clients`, `checks`, `webhooks`, `tasks`, `outbox`, `audit`, `backups`, `seeds`, `chains`: the handlers.
//!   `asked`: what they are asked, read out of a request.

mod actions;
mod asked;
mod audit;
mod backups;
mod chains;
mod checks;
mod clients;
mod guard;
mod keys;
pub mod operations;
mod outbox;
mod plugins;
mod problem;
mod routes;
mod secret_json;
mod seeds;
mod tasks;
pub mod token;
mod webhooks;
pub mod wire;

pub use guard::Guard;
pub use operations::{Operations, Refusal};
pub use plugins::OPERATOR_HEADER;
pub use routes::router;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::serve_fake_host;
