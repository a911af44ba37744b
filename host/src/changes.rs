//! Change sets: the changes that one call makes, as the database stores them.
//!
//! Plain values: nothing here accesses the database or the network. `db` and `commit` depend on this module: `commit`
//! decides about change sets and makes them durable.
//!
//! - `scope`: plugin and tenant, which confine every read and write.
//! - `change_set`: all changes of one call, with the versions that it read.
//! - `envelope`: the JSON template around the payload of an event.
//! - `host_collections`: the collections that the host declares for every plugin.
//! - `endpoint`: a webhook endpoint and its ids.
//! - `timer`, `effect`: a durable timer, and an outgoing call that follows a commit.
//! - `chain`: watched addresses and transactions of blockchains.
//! - `credential`: a key or token that a plugin issues.
//! - `destination`: a server that a tenant has configured.
//! - `operator_action`: an action of an operator.
//! - `outgoing`: an outgoing call and its response.

pub mod chain;
pub mod change_set;
pub mod credential;
pub mod destination;
pub mod effect;
pub mod endpoint;
pub mod envelope;
pub mod host_collections;
pub mod operator_action;
pub mod outgoing;
pub mod scope;
pub mod timer;
