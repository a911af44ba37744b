//! The serving table behind one pointer. A request loads the table once and uses it to its end.
//!
//! `reload` decides which generations serve. Invariant: a table is replaced as a whole by one store, so that no request
//! sees half of a swap.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::{generation::Generation, routes::RouteTable};
use crate::config::PluginConfig;

/// The route table of all serving plugins. A swap replaces it as a whole.
pub type Table = RouteTable<Arc<Generation>>;

/// The plugin sections of plugins.toml, whether the plugins serve or not.
pub type Configured = Arc<ArcSwap<BTreeMap<Arc<str>, PluginConfig>>>;

/// Builds the table of all serving generations. The error contains all conflicts between plugins.
pub type BuildTable<T> = fn(&[Arc<Generation>]) -> Result<T, Vec<String>>;

/// Holds the serving table. `T` is the table of routes. It is a parameter so that tests of swaps need no routes.
pub struct Registry<T> {
    table: ArcSwap<T>,
    build: BuildTable<T>,
    published: watch::Sender<u64>,
}

impl<T: Send + Sync + 'static> Registry<T> {
    /// Returns a registry with an empty table.
    pub fn new(build: BuildTable<T>) -> Result<Registry<T>, Vec<String>> {
        let (published, _) = watch::channel(0);
        Ok(Registry { table: ArcSwap::from_pointee(build(&[])?), build, published })
    }

    /// Returns the serving table. One atomic read.
    pub fn current(&self) -> Arc<T> {
        self.table.load_full()
    }

    /// Returns a receiver of the number of publications, to wait for the next one.
    pub fn publications(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }
}

/// The interface of the registry for the task that swaps.
pub trait Publish: Send + Sync + 'static {
    /// Builds a table without publishing it. Calling the returned function publishes it.
    fn prepare(self: Arc<Self>, serving: &[Arc<Generation>]) -> Result<PublishNow, Vec<String>>;
}

/// Publishes a table when called. Dropping it has no effect.
pub type PublishNow = Box<dyn FnOnce() + Send>;

impl<T: Send + Sync + 'static> Publish for Registry<T> {
    fn prepare(self: Arc<Self>, serving: &[Arc<Generation>]) -> Result<PublishNow, Vec<String>> {
        let table = Arc::new((self.build)(serving)?);
        Ok(Box::new(move || {
            self.table.store(table);
            self.published.send_modify(|count| *count = count.saturating_add(1));
        }))
    }
}
