//! Blockchains: the networks of each environment, plugin requests to them, and reports of what happens on them.
//!
//! Owns the networks of this host and their watchers. `tenon_chains` provides the adapters. `tasks` owns retries, since
//! a transaction is sent like any other effect. Invariants:
//!
//! - A tenant of the test environment reaches only test networks, a live tenant only main networks.
//! - An event is committed together with the note that it was reported. A block counts as read after that commit.
//! - No transfer is reported as final before it has its confirmations, or as gone while it is in a block.
//!
//! - `wire`: queries and commands as calls to "chain:NAME", and their responses. `service`: executes them.
//! - `note_cache`: watched addresses, followed transactions and seen transfers, in memory. `watcher`: the loop of one
//!   network.
//! - `events`: derives events from new blocks. `polling`: selects the transactions to look up. `dropping`: detects
//!   transactions that will never be in a block. All three are pure. `reporting`: commits the events.

mod dropping;
mod events;
mod note_cache;
mod polling;
mod reporting;
mod service;
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

/// Prefix of the destination of a call to a blockchain.
const PREFIX: &str = "chain:";

/// Whether a network is a test or a main network. The two are strictly separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkKind {
    Test,
    Main,
}

impl NetworkKind {
    /// Returns the kind of network for a tenant "organization/environment".
    pub fn of(tenant: &str) -> NetworkKind {
        if tenant.ends_with("/live") { NetworkKind::Main } else { NetworkKind::Test }
    }
}

/// The networks of this host. Cheap to clone.
#[derive(Clone, Default)]
pub struct Chains(Arc<BTreeMap<NetworkName, Arc<dyn Chain>>>);

/// A network kind and the name of a blockchain.
type NetworkName = (NetworkKind, Arc<str>);

impl Chains {
    pub fn new(networks: impl IntoIterator<Item = (NetworkKind, Arc<dyn Chain>)>) -> Chains {
        let named =
            |(kind, chain): (NetworkKind, Arc<dyn Chain>)| ((kind, chain.facts().blockchain.as_str().into()), chain);
        Chains(Arc::new(networks.into_iter().map(named).collect()))
    }

    /// Finds the network of this blockchain for a tenant.
    pub fn find(&self, tenant: &str, blockchain: &str) -> Option<&Arc<dyn Chain>> {
        self.0.get(&(NetworkKind::of(tenant), Arc::from(blockchain)))
    }

    pub fn all(&self) -> impl Iterator<Item = (NetworkKind, &Arc<dyn Chain>)> {
        self.0.iter().map(|((kind, _), chain)| (*kind, chain))
    }
}

impl std::fmt::Debug for Chains {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Chains({})", self.0.len())
    }
}

/// Returns the name of the blockchain in the destination of a call.
pub fn blockchain_of(destination: &str) -> Option<&str> {
    destination.strip_prefix(PREFIX)
}

/// Dependencies of [`ChainWatchers`].
#[derive(Clone)]
pub struct Parts {
    pub chains: Chains,
    pub database: Database,
    pub committer: Committer,
    pub clock: Clock,
}

/// Background workers that read blocks and report events to plugins until shutdown.
pub struct ChainWatchers {
    workers: Vec<JoinHandle<()>>,
}

impl ChainWatchers {
    /// Starts the workers. Plugins may serve already: the first poll reads the blocks since the stored cursor, and the
    /// last `CHAIN_FRESH_BLOCKS` blocks again for every watched address.
    #[expect(clippy::disallowed_methods, reason = "the workers of this module; `stop` awaits them")]
    pub async fn start(parts: Parts, stopped: watch::Receiver<bool>) -> Result<ChainWatchers, DbError> {
        let (cache, updater) = note_cache::open(&parts).await?;
        let mut watchers = Vec::new();
        for (kind, chain) in parts.chains.all() {
            watchers.push(watcher::Watcher::open(&parts, kind, chain.clone(), cache.clone()).await?);
        }
        // No await after the first spawn: every running worker is returned.
        let mut workers = vec![tokio::spawn(updater.run(stopped.clone()))];
        workers.extend(watchers.into_iter().map(|watcher| tokio::spawn(watcher.run(stopped.clone()))));
        Ok(ChainWatchers { workers })
    }

    pub async fn stop(self) {
        for worker in self.workers {
            if let Err(error) = worker.await {
                tracing::error!("blockchain watcher panicked: {error}");
            }
        }
    }
}

/// Returns whether the scope's tenant uses networks of this kind.
fn belongs_to(scope: &Scope, kind: NetworkKind) -> bool {
    NetworkKind::of(scope.tenant()) == kind
}

#[cfg(test)]
mod tests;
