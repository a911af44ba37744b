//! Capabilities: what a plugin may import, one file for each interface of the contract.
//!
//! An adapter meters the call, checks limits, converts WIT values, and calls the draft of the running call. No adapter
//! accesses the network. Only `keyring` accesses the database directly, for the seed of the tenant.

mod answers;
mod chains;
mod config;
mod credentials;
mod destinations;
mod effects;
mod events;
mod ids;
mod journal;
mod keyring;
mod ledger;
mod log;
pub mod log_limit;
mod memory_meter;
pub mod outgoing;
mod passwords;
mod questions;
mod records;
pub mod sampler;
mod state;
mod subscriptions;
mod tasks;
mod wasi;

use tenon_bindings::tenon::plugin as wit;
use wasmtime::component::{HasSelf, Linker};

use crate::commit::draft::DraftError;

pub use passwords::Passwords;
pub use questions::{QuestionResult, Questions};
pub use state::{CallState, Facts, Inputs, LimitReached, LogLimits, Shared, announce_dropped};
pub use wasi::ClosedWasi;

/// Interfaces that this host offers. Each is a grant of the same name in plugins.toml.
pub const OFFERED: [&str; 15] = [
    "records",
    "ledger",
    "events",
    "subscriptions",
    "tasks",
    "effects",
    "questions",
    "destinations",
    "credentials",
    "keyring",
    "chains",
    "ids",
    "journal",
    "config",
    "log",
];

/// Links one granted interface. A name that is not in [`OFFERED`] links nothing.
pub fn link(linker: &mut Linker<CallState>, grant: &str) -> wasmtime::Result<()> {
    type Own = HasSelf<CallState>;
    match grant {
        "records" => wit::records::add_to_linker::<_, Own>(linker, |state| state),
        "ledger" => wit::ledger::add_to_linker::<_, Own>(linker, |state| state),
        "events" => wit::events::add_to_linker::<_, Own>(linker, |state| state),
        "subscriptions" => wit::subscriptions::add_to_linker::<_, Own>(linker, |state| state),
        "tasks" => wit::tasks::add_to_linker::<_, Own>(linker, |state| state),
        "effects" => wit::effects::add_to_linker::<_, Own>(linker, |state| state),
        "questions" => wit::questions::add_to_linker::<_, Own>(linker, |state| state),
        "destinations" => wit::destinations::add_to_linker::<_, Own>(linker, |state| state),
        "credentials" => wit::credentials::add_to_linker::<_, Own>(linker, |state| state),
        "keyring" => wit::keyring::add_to_linker::<_, Own>(linker, |state| state),
        "chains" => wit::chains::add_to_linker::<_, Own>(linker, |state| state),
        "ids" => wit::ids::add_to_linker::<_, Own>(linker, |state| state),
        "journal" => wit::journal::add_to_linker::<_, Own>(linker, |state| state),
        "config" => wit::config::add_to_linker::<_, Own>(linker, |state| state),
        "log" => wit::log::add_to_linker::<_, Own>(linker, |state| state),
        _ => Ok(()),
    }
}

/// Interfaces that need no grant.
pub const UNGRANTED: [&str; 2] = ["types", "answers"];

/// Links the [`UNGRANTED`] interfaces of the contract and closed WASI, for every plugin.
pub fn link_ungranted(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wit::types::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
    wit::answers::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
    wasmtime_wasi::p2::add_to_linker_async(linker)
}

/// Converts an error into a trap. A violated rule and a database error both end the call.
fn trap(error: DraftError) -> wasmtime::Error {
    wasmtime::Error::new(error)
}

impl wit::types::Host for CallState {}
