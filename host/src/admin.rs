//! The operators' listener: plugin status, deploys, keys, webhooks, checks, health and metrics.
//!
//! Each topic is one file: its routes, and the handler of each route, which parses the request and carries it out with
//! the subsystems in [`Services`]. The JSON types are in `wire`, which the command line shares. CONTRIBUTING.md has the
//! recipe for another command. The listener never serves the interface of a plugin.
//!
//! - Topics: `plugins`, `profile`, `journal`, `keys`, `clients`, `webhooks`, `tasks`, `outbox`, `audit`, `ledger`,
//!   `secrets`, `seeds`, `chains`, `backups`, `health`.
//! - `router`: the routes of all topics. `routes`: how a topic declares them. `actions`: the log and journal lines of
//!   requests that change something.
//! - `guard`: checks of the token and of the Host and Origin headers. `token`: the file that holds the token.
//! - `inputs`: extractors of path, query, body and operator. `error`: error responses. `secret_json`: responses that
//!   contain a secret. `services`: the subsystems, and checks of names that several topics share. `backup_task`: the
//!   task that writes a backup.

mod actions;
pub mod audit;
pub mod backup_task;
mod backups;
mod chains;
mod clients;
mod error;
mod guard;
pub mod health;
mod inputs;
mod journal;
mod keys;
mod ledger;
mod outbox;
pub mod plugins;
mod profile;
mod router;
mod routes;
mod secret_json;
mod secrets;
mod seeds;
mod services;
mod tasks;
pub mod token;
mod webhooks;
pub mod wire;

pub use actions::RunningActions;
pub use error::AdminError;
pub use guard::Guard;
pub use inputs::OPERATOR_HEADER;
pub use router::router;
pub use services::Services;

#[cfg(test)]
mod tests;
