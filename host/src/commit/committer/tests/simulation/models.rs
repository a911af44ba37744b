//! The second data model of the simulation. Swaps alternate between it and the first one.

use std::sync::Arc;

use crate::db::model::DataModel;
use crate::manifest;

/// Returns the first model with one more unique index.
pub(super) fn tagged() -> Arc<DataModel> {
    let index =
        |name: &str, field: &str, unique| manifest::Index { name: name.into(), fields: vec![field.into()], unique };
    let indexes = vec![index("by-title", "title", true), index("by-kind", "kind", false), index("by-tag", "tag", true)];
    let things = manifest::Collection { name: "things".into(), indexes };
    Arc::new(DataModel::new("notes", &[things], 1, None).unwrap())
}
