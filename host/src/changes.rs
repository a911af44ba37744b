//! Change sets: the values that one call leaves behind, and that the database stores.
//!
//! Plain values without behaviour. This room lies below the database; `commit` decides about change sets and makes them durable.
//!
//! - `scope`: plugin and tenant, which confine every read and write.
//! - `change_set`: everything that one call wants changed, with what it read.
//! - `envelope`: the members around the payload of an event.
//! - `host_collections`: the collections that the host declares for every plugin.
//! - `endpoint`: an endpoint of webhooks.
//! - `timer`, `effect`: a durable timer; an outgoing call that follows a commit.
//! - `chain`: watched addresses and transactions of blockchains.
//! - `credential`: a key or token that a plugin issues.
//! - `destination`: a server that a tenant has named.
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
