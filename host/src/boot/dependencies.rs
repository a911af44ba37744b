//! Dependencies of the subsystems that call plugins: calls of requests, chain watchers, tasks.

use std::sync::Arc;

use super::subsystems::Subsystems;
use crate::{
    chains,
    db::disk::DiskGauge,
    plugin::call::{self, Calls},
    tasks,
};

impl Subsystems {
    pub(super) fn calls(&self, disk: DiskGauge) -> Arc<Calls> {
        Arc::new(Calls::new(call::Parts {
            committer: self.committer.clone(),
            clock: self.clock.clone(),
            disk,
            slots: self.loader.engine().slots().clone(),
            budget: self.budget.clone(),
            destinations: self.destinations.clone(),
        }))
    }

    pub(super) fn chain_watchers(&self) -> chains::Parts {
        chains::Parts {
            chains: self.chains.clone(),
            database: self.database.clone(),
            committer: self.committer.clone(),
            clock: self.clock.clone(),
        }
    }

    pub(super) fn tasks(&self, calls: Arc<Calls>) -> tasks::Parts {
        let registry = self.registry.clone();
        let serving = move |plugin: &str| {
            let table = registry.current();
            table.find_plugin(plugin).map(|mounted| mounted.owner.clone())
        };
        tasks::Parts {
            database: self.database.clone(),
            committer: self.committer.clone(),
            calls,
            destinations: self.destinations.clone(),
            serving: Arc::new(serving),
            clock: self.clock.clone(),
            metrics: self.metrics.tasks(),
        }
    }
}
