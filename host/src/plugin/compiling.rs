//! The plugins that are being compiled now, for progress reports.

use std::sync::Arc;

use tokio::sync::watch;

/// Plugins in the order in which their compilations began. Cheap to clone; all clones share one list.
#[derive(Clone, Default)]
pub struct Compiling {
    plugins: Arc<watch::Sender<Vec<Arc<str>>>>,
}

impl Compiling {
    /// Lists a plugin until the returned value is dropped.
    pub fn begin(&self, plugin: &Arc<str>) -> Compilation {
        self.plugins.send_modify(|plugins| {
            if !plugins.contains(plugin) {
                plugins.push(plugin.clone());
            }
        });
        Compilation { compiling: self.clone(), plugin: plugin.clone() }
    }

    pub fn current(&self) -> Vec<Arc<str>> {
        self.plugins.borrow().clone()
    }

    pub fn subscribe(&self) -> watch::Receiver<Vec<Arc<str>>> {
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
            plugins.retain(|plugin| *plugin != self.plugin);
        });
    }
}
