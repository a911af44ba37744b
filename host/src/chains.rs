//! Blockchains: which there are for whom, what plugins ask of them, and who is told when something moves.
//!
//! Owns the networks of this host and the watching of them. Adapters are `tenon_chains`'s; how often something is sent again is
//! the business of `tasks`, since a transaction goes out like any other effect. Invariants:
//!
//! - A tenant of the test environment meets test networks alone, a live one main networks.
//! - What is told is written together with the note that it was told; a block counts as read after that.
//! - Nothing is told as final before it has its confirmations, nothing as gone while it stands in a block.
//!
//! - `wire`: questions and errands as calls to "chain:NAME", and their answers. `service`: answers them.
//! - `book`: what is watched, followed and seen, in memory. `watcher`: the loop around one network.
//! - `reading`: what a new block means for what is in the book; `asking`: which transactions it is worth to ask about; both pure.
//!   `dropping`: which will never stand in a block; pure as well. `tell`: writing it.

mod asking;
mod book;
mod dropping;
mod reading;
mod service;
mod tell;
mod watcher;
pub mod wire;

use std::{collections::BTreeMap, sync::Arc};

use tenon_chains::Chain;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    changes::scope::Scope,
    clock::Clock,
    commit::committer::Committer,
    db::{Database, DbError},
};

pub use service::serve;

/// Of what a call is to.
const PREFIX: &str = "chain:";

/// Test networks and main networks never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    Test,
    Main,
}

impl Side {
    /// Whose data "organization/environment" is.
    pub fn of(tenant: &str) -> Side {
        if tenant.ends_with("/live") { Side::Main } else { Side::Test }
    }
}

/// The networks of this host. Cheap to clone.
#[derive(Clone, Default)]
pub struct Chains(Arc<BTreeMap<NetworkName, Arc<dyn Chain>>>);

/// A side, and a blockchain as it is called.
type NetworkName = (Side, Arc<str>);

impl Chains {
    pub fn new(networks: impl IntoIterator<Item = (Side, Arc<dyn Chain>)>) -> Chains {
        let named = |(side, chain): (Side, Arc<dyn Chain>)| ((side, chain.facts().blockchain.as_str().into()), chain);
        Chains(Arc::new(networks.into_iter().map(named).collect()))
    }

    /// The network that this tenant sees.
    pub fn find(&self, tenant: &str, blockchain: &str) -> Option<&Arc<dyn Chain>> {
        self.0.get(&(Side::of(tenant), Arc::from(blockchain)))
    }

    pub fn all(&self) -> impl Iterator<Item = (Side, &Arc<dyn Chain>)> {
        self.0.iter().map(|((side, _), chain)| (*side, chain))
    }
}

impl std::fmt::Debug for Chains {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Chains({})", self.0.len())
    }
}

/// The name of the blockchain in the destination of a call.
pub fn blockchain_of(destination: &str) -> Option<&str> {
    destination.strip_prefix(PREFIX)
}

/// What watching is made of.
#[derive(Clone)]
pub struct Parts {
    pub chains: Chains,
    pub database: Database,
    pub committer: Committer,
    pub clock: Clock,
}

/// Reads blocks and tells plugins, until it is stopped.
pub struct Watching {
    workers: Vec<JoinHandle<()>>,
}

impl Watching {
    /// Before the first call of a plugin, so that nothing that is watched from then on goes unnoticed.
    #[expect(clippy::disallowed_methods, reason = "the workers of this room; `stop` awaits them")]
    pub async fn start(parts: Parts, stopped: watch::Receiver<bool>) -> Result<Watching, DbError> {
        let (book, keeper) = book::open(&parts).await?;
        let mut watchers = Vec::new();
        for (side, chain) in parts.chains.all() {
            watchers.push(watcher::Watcher::open(&parts, side, chain.clone(), book.clone()).await?);
        }
        // Nothing is awaited from the first worker on: one that runs is always returned.
        let mut workers = vec![tokio::spawn(keeper.run(stopped.clone()))];
        workers.extend(watchers.into_iter().map(|watcher| tokio::spawn(watcher.run(stopped.clone()))));
        Ok(Watching { workers })
    }

    pub async fn stop(self) {
        for worker in self.workers {
            if let Err(error) = worker.await {
                tracing::error!("the watching of a blockchain ended badly: {error}");
            }
        }
    }
}

/// Whose network it is.
fn is_of(scope: &Scope, side: Side) -> bool {
    Side::of(scope.tenant()) == side
}

#[cfg(test)]
mod tests;
