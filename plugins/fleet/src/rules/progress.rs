//! How an order moves through its configuration (research/fleet 3, made strict): the state machine.
//!
//! Owns what each command does in each state, whichever way it comes: an action, an activity, a changed field.
//! Invariants: only an edge of the configuration is taken, `canceled` and `failed` apart; an order that has ended stays
//! as it is; nothing completes without the proof that is required; one driver accepts an ad-hoc order; a started order
//! has a driver, and while it has several stops its current stop is one that is not done. A refusal changes nothing.
//!
//! With one stop after another (any waypoint) the order itself only goes to `started` and to its end: what lies between
//! happens to the current stop.

mod edges;
mod moves;
mod step;
mod stops;
#[cfg(test)]
mod tests;

pub use edges::{Edge, Way, edges, markdown};
pub use moves::{create, is_ready, step};
pub use step::{Effect, Event, Step};

use super::flow::{CANCELED, FAILED, Fields, Flow, STARTED};
use super::proof::{Captured, Demand};
use super::refusal::{Ending, Refusal};

/// Characters of the reason of a failure.
pub const REASON_CHARS_MAX: usize = 500;

/// What an order is moved by: where it stands, and what decides where it may go.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The code of its last activity. Only a step changes it.
    pub status: String,
    /// By id.
    pub driver: Option<String>,
    /// Whoever accepts it carries it out.
    pub adhoc: bool,
    pub demand: Demand,
    pub scheduled_at_ms: Option<u64>,
    pub dispatched_at_ms: Option<u64>,
    pub started_at_ms: Option<u64>,
    /// In the order of the tour: pickup, waypoints, dropoff.
    pub stops: Vec<Stop>,
    /// By id; set when it is started.
    pub current_stop: Option<String>,
    pub proofs: Vec<Captured>,
    /// Why it failed.
    pub failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    pub id: String,
    /// The id of the place.
    pub place: String,
    pub kind: StopKind,
    pub demand: Demand,
    /// The code of its last activity; `None`: none since the order was started. Only a step changes it.
    pub activity: Option<String>,
    pub failure: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    Pickup,
    Waypoint,
    Dropoff,
}

/// What can be asked of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Dispatch,
    /// `None`: at no time any more.
    Schedule {
        at_ms: Option<u64>,
    },
    /// `driver`: who accepts an ad-hoc order.
    Start {
        driver: Option<String>,
        skip_dispatch: bool,
    },
    /// update-activity.
    Take(Taken),
    /// A changed `status`.
    SetStatus(String),
    Complete,
    Cancel,
    /// By the id of a stop, or of its place.
    SetDestination(String),
    /// A changed `driver`; `None`: nobody.
    Assign(Option<String>),
}

/// An activity that was posted. Only its code counts: what it does is the configuration's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub code: String,
    /// The id of a proof.
    pub proof: Option<String>,
    /// Of `failed`.
    pub reason: Option<String>,
    /// Of `started`: who accepts an ad-hoc order.
    pub driver: Option<String>,
    pub skip_dispatch: bool,
}

/// What the steps of one order go by.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub flow: &'a Flow,
    pub fields: &'a Fields<'a>,
}

impl Progress {
    pub fn ending(&self, flow: &Flow) -> Option<Ending> {
        match self.status.as_str() {
            CANCELED => Some(Ending::Canceled),
            FAILED => Some(Ending::Failed),
            code if flow.completes(code) => Some(Ending::Completed),
            _ => None,
        }
    }

    /// What was dispatched is in somebody's hands, or is offered to all.
    pub fn check_held(&self, flow: &Flow) -> Result<(), Refusal> {
        let is_held = self.driver.is_some() || self.adhoc || !self.is_dispatched() || self.ending(flow).is_some();
        if is_held { Ok(()) } else { Err(Refusal::NoDriver) }
    }

    pub fn is_dispatched(&self) -> bool {
        self.dispatched_at_ms.is_some()
    }

    pub fn is_started(&self) -> bool {
        self.started_at_ms.is_some()
    }

    /// Whether any driver may accept it, or might have if nobody had.
    pub fn is_offered(&self, flow: &Flow) -> bool {
        self.adhoc && self.is_dispatched() && self.ending(flow).is_none()
    }

    /// Whether activities after the start are those of its stops.
    pub fn has_tour(&self) -> bool {
        self.stops.iter().any(|stop| stop.kind == StopKind::Waypoint)
    }

    /// By its own id or that of its place; of several at one place the first that is not done.
    pub fn find_stop(&self, id: &str, flow: &Flow) -> Option<&Stop> {
        let mut named = self.stops.iter().filter(|stop| stop.id == id || stop.place == id);
        named.clone().find(|stop| !stop.is_done(flow)).or_else(|| named.next())
    }
}

impl Stop {
    /// Where it stands in the configuration.
    pub fn code(&self) -> &str {
        self.activity.as_deref().unwrap_or(STARTED)
    }

    pub fn is_completed(&self, flow: &Flow) -> bool {
        flow.completes(self.code())
    }

    /// Completed or failed: nobody drives there any more.
    pub fn is_done(&self, flow: &Flow) -> bool {
        self.code() == FAILED || self.is_completed(flow)
    }
}
