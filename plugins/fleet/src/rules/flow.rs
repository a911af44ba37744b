//! Order configurations (research/fleet 3): the activities that an order goes through, as a directed graph.
//!
//! Invariants of every [`Flow`], since only [`Flow::check`] makes one: `created` is its one root; every activity is
//! reached from there, and from every activity one that completes; `dispatched` and `started` are passed once, in this
//! order, on every way to a completion; what completes leads nowhere. `canceled` and `failed` may be described; they
//! follow everything.

mod check;
pub mod logic;
pub mod template;
#[cfg(test)]
mod tests;
mod transport;

pub use check::quoted;
pub use transport::{NAMESPACE, VERSION, transport};

use super::invalid::Invalid;
use super::order::ProofMethod;
use logic::Logic;

/// The activities that every configuration has.
pub const CREATED: &str = "created";
pub const DISPATCHED: &str = "dispatched";
pub const STARTED: &str = "started";
/// The ends that follow every activity, named in the configuration or not.
pub const CANCELED: &str = "canceled";
pub const FAILED: &str = "failed";

pub const ACTIVITIES_MAX: usize = 64;
pub const CODE_CHARS_MAX: usize = 64;
pub const TITLE_CHARS_MAX: usize = 128;
pub const DETAILS_CHARS_MAX: usize = 500;

/// The fields of an order by their paths ("meta.fragile"), as texts; `None`: absent, or null.
pub type Fields<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// One node of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    pub key: String,
    /// Lower snake case: what the status of an order becomes.
    pub code: String,
    /// A title; it and the details may hold {placeholders}.
    pub status: String,
    pub details: String,
    /// "#rrggbb".
    pub color: Option<String>,
    /// Where it stands among those that may come next.
    pub sequence: u32,
    /// Codes of those that may come next.
    pub next: Vec<String>,
    /// All of it must hold, or the activity cannot be taken.
    pub logic: Vec<Logic>,
    /// It ends the order well.
    pub complete: bool,
    pub require_pod: bool,
    pub pod_method: Option<ProofMethod>,
}

impl Activity {
    pub fn is_possible(&self, fields: &Fields<'_>) -> bool {
        self.logic.iter().all(|logic| logic.holds(fields))
    }
}

/// A configuration that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    activities: Vec<Activity>,
}

impl Flow {
    /// Every fault at once.
    pub fn check(activities: Vec<Activity>) -> Result<Flow, Vec<Invalid>> {
        let faults = check::faults(&activities);
        if faults.is_empty() { Ok(Flow { activities }) } else { Err(faults) }
    }

    pub fn activities(&self) -> &[Activity] {
        &self.activities
    }

    pub fn find(&self, code: &str) -> Option<&Activity> {
        find(&self.activities, code)
    }

    pub fn completes(&self, code: &str) -> bool {
        self.find(code).is_some_and(|activity| activity.complete)
    }

    /// What may come after the activity `code`, in the sequence of the configuration. None after an end, or where the
    /// configuration does not know `code` any more.
    pub fn after(&self, code: &str, fields: &Fields<'_>) -> Vec<&Activity> {
        let named = self.find(code).map(|activity| activity.next.as_slice()).unwrap_or_default();
        let found = named.iter().filter_map(|next| self.find(next));
        let mut possible: Vec<&Activity> = found.filter(|next| next.is_possible(fields)).collect();
        possible.sort_by_key(|activity| activity.sequence);
        possible
    }

    /// The activity `next`, if it may come after `code`.
    pub fn follow(&self, code: &str, next: &str, fields: &Fields<'_>) -> Option<&Activity> {
        self.after(code, fields).into_iter().find(|activity| activity.code == next)
    }
}

fn find<'a>(activities: &'a [Activity], code: &str) -> Option<&'a Activity> {
    activities.iter().find(|activity| activity.code == code)
}

/// "driver_enroute" as people read it: "Driver Enroute".
pub fn title_of(code: &str) -> String {
    let words = code.split(['_', ' ']).filter(|word| !word.is_empty());
    let titled = words.map(|word| {
        let mut letters = word.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        [first.as_str(), &letters.as_str().to_lowercase()].concat()
    });
    titled.collect::<Vec<_>>().join(" ")
}
