//! Caches one model of the host collections for each plugin. A change that the host itself makes has no generation that
//! provides a model, and building a model costs as much as the change.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::db::model::{DataModel, ModelError};

/// Models by plugin. Bounded by the number of plugins.
#[derive(Default)]
pub(super) struct HostModels(Mutex<HashMap<Arc<str>, Arc<DataModel>>>);

impl HostModels {
    /// Returns the model of the host collections, without collections of the plugin.
    pub fn find(&self, plugin: &Arc<str>) -> Result<Arc<DataModel>, ModelError> {
        if let Some(model) = self.0.lock().get(plugin) {
            return Ok(model.clone());
        }
        let model = Arc::new(DataModel::new(plugin, &[], 1, None)?);
        self.0.lock().insert(plugin.clone(), model.clone());
        Ok(model)
    }
}
