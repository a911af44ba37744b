//! Documents about a table of routes. Each is rendered once, because the table never changes.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use parking_lot::Mutex;

/// Rendered documents by name. Nothing is removed, so the number of names must be bounded.
#[derive(Default)]
pub struct Rendered(Mutex<HashMap<String, Arc<OnceLock<Bytes>>>>);

impl Rendered {
    /// Returns the document of a name. The first request renders it.
    pub fn get(&self, name: &str, render: impl FnOnce() -> String) -> Bytes {
        let known = self.0.lock().get(name).cloned();
        let document = known.unwrap_or_else(|| self.0.lock().entry(name.to_owned()).or_default().clone());
        document.get_or_init(|| Bytes::from(render())).clone()
    }
}
