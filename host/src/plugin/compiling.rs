//! The plugins that are being compiled now, for progress reports.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

/// Cheap to clone; all clones share one set.
#[derive(Clone, Default)]
pub struct Compiling {
    plugins: Arc<watch::Sender<BTreeSet<Arc<str>>>>,
}

impl Compiling {
    /// Adds a plugin until the returned value is dropped.
    pub fn begin(&self, plugin: &Arc<str>) -> Compilation {
        self.plugins.send_modify(|plugins| {
            plugins.insert(plugin.clone());
        });
        Compilation { compiling: self.clone(), plugin: plugin.clone() }
    }

    pub fn current(&self) -> BTreeSet<Arc<str>> {
        self.plugins.borrow().clone()
    }

    pub fn subscribe(&self) -> watch::Receiver<BTreeSet<Arc<str>>> {
        self.plugins.subscribe()
    }
}

/// A compilation in progress.
pub struct Compilation {
    compiling: Compiling,
    plugin: Arc<str>,
}

impl Drop for Compilation {
    fn drop(&mut self) {
        self.compiling.plugins.send_modify(|plugins| {
            plugins.remove(&self.plugin);
        });
    }
}
