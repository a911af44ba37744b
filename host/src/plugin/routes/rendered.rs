//! Documents about a table of routes, rendered once: the table never changes.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use parking_lot::Mutex;

/// Each document as it is sent, by a name that its renderer chooses. Names must be few: nothing is removed.
#[derive(Default)]
pub struct Rendered(Mutex<HashMap<String, Arc<OnceLock<Bytes>>>>);

impl Rendered {
    /// The document of this name. Renders it where this is the first request for it.
    pub fn get(&self, name: &str, render: impl FnOnce() -> String) -> Bytes {
        let known = self.0.lock().get(name).cloned();
        let document = known.unwrap_or_else(|| self.0.lock().entry(name.to_owned()).or_default().clone());
        document.get_or_init(|| Bytes::from(render())).clone()
    }
}
