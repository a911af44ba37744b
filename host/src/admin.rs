//! The operators' listener: plugin status, deploys, keys, webhooks, checks, health and metrics.
//!
//! The listener authenticates a request, parses it, calls `Operations` and renders the result. It never serves the
//! interface of a plugin, and it implements no operation itself.
//!
//! - `operations`: the trait with all operator requests. `boot` implements it. `wire`: its JSON types, shared with
//!   `cli`.
//! - `guard`: checks of the token and of the Host and Origin headers. `token`: the file that holds the token.
//! - `routes`: the route table. `inputs`: extractors of path, query and body. `error`: error responses.
//! - `secret_json`: responses that contain a secret.
//! - `actions`: the log line of each operator action, and the journal line of each action that failed.
//! - `plugins`, `keys`, `clients`, `checks`, `webhooks`, `tasks`, `outbox`, `audit`, `backups`, `seeds`, `chains`: the
//!   handlers.

mod actions;
mod audit;
mod backups;
mod chains;
mod checks;
mod clients;
mod error;
mod guard;
mod inputs;
mod keys;
pub mod operations;
mod outbox;
mod plugins;
mod routes;
mod secret_json;
mod seeds;
mod tasks;
pub mod token;
mod webhooks;
pub mod wire;

pub use guard::Guard;
pub use operations::{AdminError, Operations};
pub use plugins::OPERATOR_HEADER;
pub use routes::router;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::serve_fake_host;
