//! Waypoints: stops of a tour, with what a place does not have (research/fleet 1.1.2).

use super::change::{Change, Faults, TextField};
use super::invalid::Invalid;
use super::order::ProofMethod;
use super::proof::Demand;

const NOTES: TextField = ("notes", 2_000);
const CUSTOMER: TextField = ("customer", 64);
const TYPE: TextField = ("type", 64);
pub const DEFAULT_TYPE: &str = "dropoff";
/// Seconds at a stop: a day.
const SERVICE_S: (f64, f64) = (0.0, 86_400.0);

#[derive(Clone, Debug, PartialEq)]
pub struct Waypoint {
    pub kind: String,
    pub demand: Demand,
    pub notes: Option<String>,
    /// The id of a contact.
    pub customer: Option<String>,
    pub window: Window,
    /// Whole seconds.
    pub service_time_s: Option<f64>,
}

/// When somebody is there. Invariant of a settled one: it does not end before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub start_ms: Option<u64>,
    pub end_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub kind: Change<String>,
    pub pod_required: Option<bool>,
    pub pod_method: Change<String>,
    pub notes: Change<String>,
    pub customer: Change<String>,
    pub window_start_ms: Change<u64>,
    pub window_end_ms: Change<u64>,
    pub service_time_s: Change<f64>,
}

impl Default for Waypoint {
    fn default() -> Waypoint {
        Waypoint {
            kind: DEFAULT_TYPE.to_owned(),
            demand: Demand::NONE,
            notes: None,
            customer: None,
            window: Window::default(),
            service_time_s: None,
        }
    }
}

/// What was asked for, on top of the waypoint before where there is one. Without a method of its own the order's
/// counts.
pub fn settle(before: Option<Waypoint>, asked: Asked) -> Result<Waypoint, Vec<Invalid>> {
    let before = before.unwrap_or_default();
    let mut faults = Faults::default();
    let method = match asked.pod_method {
        Change::Absent => before.demand.method,
        Change::Cleared => None,
        Change::To(name) => ProofMethod::of_name(&name).map_err(|fault| faults.note(fault)).ok(),
    };
    let window = Window {
        start_ms: asked.window_start_ms.over(before.window.start_ms),
        end_ms: asked.window_end_ms.over(before.window.end_ms),
    };
    faults.keep(window.check());
    let waypoint = Waypoint {
        kind: faults.line(TYPE, asked.kind, Some(before.kind)).unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
        demand: Demand { wanted: asked.pod_required.map_or(before.demand.wanted, Into::into), method },
        notes: faults.lines(NOTES, asked.notes, before.notes),
        customer: faults.line(CUSTOMER, asked.customer, before.customer),
        window,
        service_time_s: faults.number("service_time", asked.service_time_s.over(before.service_time_s), SERVICE_S),
    };
    if waypoint.service_time_s.is_some_and(|seconds| seconds.fract() != 0.0) {
        faults.note(Invalid::Not { field: "service_time", kind: "a whole number of seconds" });
    }
    faults.finish(waypoint)
}

impl Window {
    pub fn check(self) -> Result<(), Invalid> {
        match (self.start_ms, self.end_ms) {
            (Some(start_ms), Some(end_ms)) if end_ms < start_ms => {
                Err(Invalid::Not { field: "time_window_end", kind: "a date that is not before time_window_start" })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::order::ProofWanted;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    #[test]
    fn a_waypoint_is_a_dropoff_without_more() {
        let waypoint = settle(None, Asked::default()).unwrap();
        assert_eq!((waypoint.kind.as_str(), waypoint.demand), ("dropoff", Demand::NONE));
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let asked =
            Asked { pod_required: Some(true), pod_method: to("photo"), notes: to("ring\ntwice"), ..Asked::default() };
        let before = settle(None, asked).unwrap();
        assert_eq!(before.demand, Demand::by(ProofMethod::Photo));
        assert_eq!(settle(Some(before.clone()), Asked::default()), Ok(before.clone()));
        let changed =
            Asked { pod_method: Change::Cleared, notes: Change::Cleared, kind: Change::Cleared, ..Asked::default() };
        let changed = settle(Some(before), changed).unwrap();
        assert_eq!((changed.demand.wanted, changed.demand.method), (ProofWanted::Required, None));
        assert_eq!((changed.notes, changed.kind.as_str()), (None, "dropoff"));
    }

    #[test]
    fn a_window_ends_after_it_begins() {
        let window = |start_ms, end_ms| Window { start_ms, end_ms }.check().is_ok();
        assert!(window(None, Some(1)) && window(Some(1), None) && window(Some(1), Some(1)));
        assert!(!window(Some(2), Some(1)));
        let before = Waypoint { window: Window { start_ms: Some(5), end_ms: Some(9) }, ..Waypoint::default() };
        assert!(settle(Some(before), Asked { window_end_ms: Change::To(4), ..Asked::default() }).is_err());
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked {
            pod_method: to("oath"),
            notes: to("\0"),
            service_time_s: Change::To(0.5),
            window_start_ms: Change::To(2),
            window_end_ms: Change::To(1),
            ..Asked::default()
        };
        assert_eq!(settle(None, wrong).unwrap_err().len(), 4);
    }
}
