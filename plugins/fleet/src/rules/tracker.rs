//! Where an order is on its way, and when it will be where (research/fleet 1.1.3): the figures of tracker and eta.
//!
//! Everything is estimated along straight lines; the figures say so (`confidence`, `warnings`).

#[cfg(test)]
mod tests;

use super::flow::Flow;
use super::location::Position;
use super::location::distance::{Estimate, estimate, estimate_tour};
use super::progress::{Progress, Stop};
use super::refusal::Ending;

/// Who did the sums; there is no other to fall back to.
pub const PROVIDER: &str = "straight_line";
/// A position that is older says little.
pub const STALE_S: u64 = 300;

/// What is known besides the order itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known<'a> {
    /// Of the stops, in their order; `None` for an address that nobody has located.
    pub places: &'a [Option<Position>],
    pub driver: Option<DriverFix>,
    pub now_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverFix {
    pub position: Position,
    pub at_ms: u64,
    pub online: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Unassigned,
    PreStart,
    Dispatched,
    Active,
    Completed,
    Canceled,
    /// Of an order that has failed; clients treat it as they treat every end.
    Failed,
}

/// Words that a client shows or acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    StaleDriverLocation,
    LowConfidenceEta,
    MissingLocations,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub total_stops: usize,
    pub completed_stops: usize,
    /// Of the whole way, 0 to 100.
    pub percentage: u8,
    pub completed_distance_m: f64,
    pub remaining: Estimate,
    /// To the stop that is next.
    pub active_stop: Option<Estimate>,
    /// To where it begins, of an order that is not started.
    pub start: Option<Estimate>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    pub mode: Mode,
    pub figures: Figures,
    pub active_stop: Option<String>,
    pub next_stop: Option<String>,
    pub location_age_s: Option<u64>,
    pub warnings: Vec<Warning>,
    /// 0 to 1.
    pub confidence: f64,
    /// When the order was to begin has passed by so much, and it has not begun.
    pub delay_s: u64,
}

impl Mode {
    pub fn of(order: &Progress, flow: &Flow) -> Mode {
        match order.ending(flow) {
            Some(Ending::Completed) => Mode::Completed,
            Some(Ending::Canceled) => Mode::Canceled,
            Some(Ending::Failed) => Mode::Failed,
            None if order.is_started() => Mode::Active,
            None if order.driver.is_none() => Mode::Unassigned,
            None if order.is_dispatched() => Mode::Dispatched,
            None => Mode::PreStart,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Mode::Unassigned => "unassigned",
            Mode::PreStart => "pre_start",
            Mode::Dispatched => "dispatched",
            Mode::Active => "active",
            Mode::Completed => "completed",
            Mode::Canceled => "canceled",
            Mode::Failed => "failed",
        }
    }

    pub fn message(self) -> &'static str {
        match self {
            Mode::Unassigned => "The order waits for a driver.",
            Mode::PreStart => "The order waits to be dispatched.",
            Mode::Dispatched => "The order waits for its driver to start.",
            Mode::Active => "The order is on its way.",
            Mode::Completed => "The order was completed.",
            Mode::Canceled => "The order was canceled.",
            Mode::Failed => "The order has failed.",
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, Mode::Completed | Mode::Canceled | Mode::Failed)
    }

    pub fn shows_live_eta(self) -> bool {
        self == Mode::Active
    }

    pub fn shows_start_eta(self) -> bool {
        matches!(self, Mode::PreStart | Mode::Dispatched)
    }
}

impl Warning {
    pub fn name(self) -> &'static str {
        match self {
            Warning::StaleDriverLocation => "stale_driver_location",
            Warning::LowConfidenceEta => "low_confidence_eta",
            Warning::MissingLocations => "missing_locations",
        }
    }
}

pub fn track(order: &Progress, flow: &Flow, known: Known<'_>) -> Tracker {
    let mode = Mode::of(order, flow);
    let open = open_stops(order, flow, mode);
    let age_s = known.driver.map(|driver| known.now_ms.saturating_sub(driver.at_ms) / 1_000);
    let figures = figures(order, mode, &open, completed_stops(order, flow), known);
    let is_missing = known.places.len() < order.stops.len() || known.places.iter().any(Option::is_none);
    let is_stale = age_s.is_none_or(|age_s| age_s > STALE_S) && mode == Mode::Active;
    let noted = [
        (is_stale, Warning::StaleDriverLocation),
        (is_missing, Warning::MissingLocations),
        ((is_stale || is_missing) && !mode.is_terminal(), Warning::LowConfidenceEta),
    ];
    let is_waiting = !mode.is_terminal() && mode != Mode::Active;
    let due_ms = order.scheduled_at_ms.filter(|_| is_waiting);
    Tracker {
        mode,
        figures,
        active_stop: open.first().map(|(_, stop)| stop.id.clone()),
        next_stop: open.get(1).map(|(_, stop)| stop.id.clone()),
        location_age_s: age_s,
        warnings: noted.into_iter().filter(|(is_so, _)| *is_so).map(|(_, warning)| warning).collect(),
        confidence: if is_stale || is_missing { 0.3 } else { 0.6 },
        delay_s: due_ms.map_or(0, |due_ms| known.now_ms.saturating_sub(due_ms) / 1_000),
    }
}

/// What is still to be driven to, the current stop first, with the places that they have in the order.
fn open_stops<'a>(order: &'a Progress, flow: &Flow, mode: Mode) -> Vec<(usize, &'a Stop)> {
    if mode.is_terminal() {
        return Vec::new();
    }
    let here = order.stops.iter().position(|stop| Some(&stop.id) == order.current_stop.as_ref()).unwrap_or_default();
    let numbered = order.stops.iter().enumerate();
    let onwards: Vec<(usize, &Stop)> = numbered.clone().skip(here).collect();
    let left_out = numbered.take(here);
    // Without a tour stops are passed, not done: what lies behind is behind.
    let left_out = left_out.filter(|_| order.has_tour());
    onwards.into_iter().chain(left_out).filter(|(_, stop)| !stop.is_done(flow)).collect()
}

/// Where nothing is said of single stops, those before the current one lie behind.
fn completed_stops(order: &Progress, flow: &Flow) -> usize {
    if order.has_tour() {
        return order.stops.iter().filter(|stop| stop.is_completed(flow)).count();
    }
    if order.ending(flow) == Some(Ending::Completed) {
        return order.stops.len();
    }
    order.stops.iter().position(|stop| Some(&stop.id) == order.current_stop.as_ref()).unwrap_or_default()
}

fn figures(order: &Progress, mode: Mode, open: &[(usize, &Stop)], completed_stops: usize, known: Known<'_>) -> Figures {
    let place = |at: usize| known.places.get(at).copied().flatten();
    let ahead: Vec<Position> = open.iter().filter_map(|(at, _)| place(*at)).collect();
    let driver = known.driver.map(|driver| driver.position);
    let to_active = driver.zip(open.first().and_then(|(at, _)| place(*at))).map(|(from, to)| estimate(from, to));
    let from_driver: Vec<Position> = driver.filter(|_| mode == Mode::Active).into_iter().chain(ahead).collect();
    let remaining = estimate_tour(&from_driver);
    let whole: Vec<Position> = known.places.iter().copied().flatten().collect();
    let completed_distance_m = (estimate_tour(&whole).distance_m - remaining.distance_m).max(0.0);
    Figures {
        total_stops: order.stops.len(),
        completed_stops,
        percentage: percentage(mode, completed_distance_m, remaining.distance_m),
        completed_distance_m: if mode == Mode::Active || mode == Mode::Completed { completed_distance_m } else { 0.0 },
        remaining,
        active_stop: to_active.filter(|_| mode.shows_live_eta()),
        start: to_active.filter(|_| mode.shows_start_eta()),
    }
}

/// Only what is completed is at 100.
fn percentage(mode: Mode, completed_m: f64, remaining_m: f64) -> u8 {
    match mode {
        Mode::Completed => 100,
        Mode::Active if completed_m + remaining_m > 0.0 => {
            (completed_m / (completed_m + remaining_m) * 100.0).clamp(0.0, 99.0) as u8
        }
        _ => 0,
    }
}
