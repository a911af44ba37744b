//! What serves now: one table behind one pointer. A request takes the table once and keeps what it found in it.
//!
//! Never decides what should serve (that is `reload`). Invariant: a table is replaced as a whole, by one store; nobody
//! ever sees half of a swap.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::generation::Generation;

/// Makes the table from everything that is to serve; every clash between plugins at once where it cannot.
pub type BuildTable<T> = fn(&[Arc<Generation>]) -> Result<T, Vec<String>>;

/// `T` is the table of routes; a parameter, so that swapping can be tested without any.
pub struct Registry<T> {
    table: ArcSwap<T>,
    build: BuildTable<T>,
    published: watch::Sender<u64>,
}

impl<T: Send + Sync + 'static> Registry<T> {
    /// Begins with nothing to serve.
    pub fn new(build: BuildTable<T>) -> Result<Registry<T>, Vec<String>> {
        let (published, _) = watch::channel(0);
        Ok(Registry { table: ArcSwap::from_pointee(build(&[])?), build, published })
    }

    /// What serves now. One atomic read.
    pub fn current(&self) -> Arc<T> {
        self.table.load_full()
    }

    /// Counts the publications, for those who wait for the next one.
    pub fn publications(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }
}

/// The half of the registry that the task of the swap sees.
pub trait Publish: Send + Sync + 'static {
    /// Builds the table aside. Calling what it returns publishes it.
    fn prepare(self: Arc<Self>, serving: &[Arc<Generation>]) -> Result<PublishNow, Vec<String>>;
}

/// Stores the pointer. Dropped uncalled, nothing has happened.
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
