//! What calls others and runs later, connected: destinations, calls of plugins, tasks.

use std::sync::Arc;

use super::Rooms;
use crate::{
    db::disk::DiskGauge,
    destinations::{self, Destinations},
    plugin::call::Calls,
    tasks,
};

impl Rooms {
    pub(super) fn destinations(&self) -> Destinations {
        let registry = self.registry.clone();
        let named = move |plugin: &str, name: &str| {
            let table = registry.current();
            let mounted = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin)?;
            mounted.config.destinations.get(name).cloned()
        };
        Destinations::new(destinations::Parts {
            client: self.client.clone(),
            outside: self.outside.clone(),
            database: self.database.clone(),
            clock: self.clock.clone(),
            named: Arc::new(named),
        })
    }

    pub(super) fn calls(&self, disk: DiskGauge, destinations: Destinations) -> Arc<Calls> {
        let slots = self.loader.engine().slots().clone();
        Arc::new(Calls::new(self.committer.clone(), self.clock.clone(), disk, slots, destinations))
    }

    pub(super) fn tasks(&self, calls: Arc<Calls>, destinations: Destinations) -> tasks::Parts {
        let registry = self.registry.clone();
        let serving = move |plugin: &str| {
            let table = registry.current();
            table.mounted().iter().find(|mounted| &*mounted.plugin == plugin).map(|mounted| mounted.owner.clone())
        };
        tasks::Parts {
            database: self.database.clone(),
            committer: self.committer.clone(),
            calls,
            destinations,
            serving: Arc::new(serving),
            clock: self.clock.clone(),
            metrics: self.metrics.tasks(),
        }
    }
}
