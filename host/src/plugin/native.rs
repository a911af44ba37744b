//! Plugins that are linked into a program instead of being components: to measure the cost of the sandbox, and to debug
//! rules with native tools. The `tenon` program has none. A component of the same name must still pass the whole
//! pipeline, and only its code is replaced.
//!
//! Native plugins are not isolated: their errors affect the whole host.

use std::{collections::BTreeMap, sync::Arc};

use tenon_bindings::exports::tenon::plugin::handler::{Answer, Request, Task, Verdict};

use crate::capability::CallState;

/// The handler of a plugin, as a function of this process.
pub trait Native: Send + Sync + 'static {
    /// Handles a request. `Err` is a fault, as in the contract. May block for the duration of a database read.
    fn handle(&self, request: &Request, state: &mut CallState) -> Result<Answer, String>;

    /// Runs a task.
    fn run(&self, task: &Task, state: &mut CallState) -> Result<Verdict, String>;
}

/// Native plugins by their name in plugins.toml.
pub type Natives = BTreeMap<Arc<str>, Arc<dyn Native>>;
