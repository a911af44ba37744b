//! Plugins that are linked into a program instead of being components: to measure what the sandbox costs, and to step
//! through rules with native tools. The `tenon` program has none; a component of the same name still has to pass the whole
//! pipeline, and only its code is replaced.
//!
//! Never isolated: what such a plugin does wrong, the host does wrong.

use std::{collections::BTreeMap, sync::Arc};

use tenon_bindings::exports::tenon::plugin::handler::{Answer, Request, Task, Verdict};

use crate::capability::CallState;

/// The handler of a plugin, as a function of this process.
pub trait Native: Send + Sync + 'static {
    /// `Err` is a fault, as in the contract. May block for as long as a read of the database takes.
    fn handle(&self, request: &Request, state: &mut CallState) -> Result<Answer, String>;

    /// The same for a task.
    fn run(&self, task: &Task, state: &mut CallState) -> Result<Verdict, String>;
}

/// By the name in plugins.toml.
pub type Natives = BTreeMap<Arc<str>, Arc<dyn Native>>;
