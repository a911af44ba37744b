//! The wire form of tracker and eta. Metres and seconds are whole.

use serde::Serialize;
use tenon_plugin::{Stop, json, time};

use super::Followed;
use crate::records::shapes::{Number, Point};
use crate::rules::location::Position;
use crate::rules::location::distance::{Estimate, estimate};
use crate::rules::progress::{Stop as RuleStop, StopKind};
use crate::rules::tracker::{Mode, PROVIDER, STALE_S, Warning};

#[derive(Serialize)]
struct TrackerText<'a> {
    provider: &'a str,
    fallback_provider: Option<()>,
    generated_at: String,
    confidence: f64,
    warnings: Vec<&'a str>,
    driver: Option<DriverText>,
    progress: ProgressText,
    lifecycle: Lifecycle<'a>,
    stops: Vec<StopText<'a>>,
    active_stop: Option<StopText<'a>>,
    next_stop: Option<StopText<'a>>,
    route: RouteText,
    eta: EtaText<'a>,
    insights: Insights,
    capabilities: Capabilities,
}

#[derive(Serialize)]
struct DriverText {
    location: Point,
    location_age_seconds: Option<u64>,
    online: bool,
}

#[derive(Serialize)]
struct ProgressText {
    percentage: u8,
    completed_stops: usize,
    remaining_stops: usize,
    total_stops: usize,
    completed_distance_m: Number,
    remaining_distance_m: Number,
}

#[derive(Clone, Serialize)]
struct Lifecycle<'a> {
    status: &'a str,
    mode: &'a str,
    message: &'a str,
    is_terminal: bool,
    has_started: bool,
    show_live_eta: bool,
    show_start_eta: bool,
}

#[derive(Serialize)]
struct StopText<'a> {
    /// Of the place, as in a payload.
    id: &'a str,
    waypoint_id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    order: usize,
    status: &'a str,
    complete: bool,
    failed: bool,
    location: Point,
}

#[derive(Serialize)]
struct RouteText {
    distance_m: Number,
    duration_s: Number,
    duration_in_traffic_s: Option<()>,
    polyline: Option<()>,
    /// Longitude first.
    coordinates: Vec<[Number; 2]>,
    legs: Vec<Leg>,
}

#[derive(Serialize)]
struct Leg {
    distance_m: Number,
    duration_s: Number,
}

#[derive(Serialize)]
struct EtaText<'a> {
    active_stop_seconds: Option<u64>,
    completion_seconds: Option<u64>,
    active_stop_at: Option<String>,
    completion_at: Option<String>,
    start_seconds: Option<u64>,
    start_at: Option<String>,
    provider: &'a str,
    confidence: f64,
    lifecycle: Lifecycle<'a>,
    warnings: Vec<&'a str>,
}

#[derive(Serialize)]
struct Insights {
    is_delayed: bool,
    delay_seconds: u64,
    is_location_stale: bool,
    is_off_route: bool,
}

/// What these figures are made of.
#[derive(Serialize)]
struct Capabilities {
    traffic: bool,
    polyline: bool,
    live_location: bool,
}

impl Followed {
    pub fn tracker(&self) -> Result<String, Stop> {
        let figures = &self.figures.figures;
        let stop = |id: &Option<String>| {
            let at = self.progress.stops.iter().position(|stop| Some(&stop.id) == id.as_ref())?;
            self.stop_text(at)
        };
        let age_s = self.figures.location_age_s;
        json::to_text(&TrackerText {
            provider: PROVIDER,
            fallback_provider: None,
            generated_at: time::to_text(self.now_ms),
            confidence: self.figures.confidence,
            warnings: self.warnings(),
            driver: self.online.map(|online| DriverText {
                location: Point::of(self.driver.map(|driver| driver.position)),
                location_age_seconds: age_s,
                online,
            }),
            progress: ProgressText {
                percentage: figures.percentage,
                completed_stops: figures.completed_stops,
                remaining_stops: figures.total_stops.saturating_sub(figures.completed_stops),
                total_stops: figures.total_stops,
                completed_distance_m: Number(figures.completed_distance_m.round()),
                remaining_distance_m: Number(figures.remaining.distance_m.round()),
            },
            lifecycle: self.lifecycle(),
            stops: (0..self.progress.stops.len()).filter_map(|at| self.stop_text(at)).collect(),
            active_stop: stop(&self.figures.active_stop),
            next_stop: stop(&self.figures.next_stop),
            route: self.route(),
            eta: self.eta_text(),
            insights: Insights {
                is_delayed: self.figures.delay_s > 0,
                delay_seconds: self.figures.delay_s,
                is_location_stale: age_s.is_some_and(|age_s| age_s > STALE_S),
                is_off_route: false,
            },
            capabilities: Capabilities { traffic: false, polyline: false, live_location: self.driver.is_some() },
        })
    }

    pub fn eta(&self) -> Result<String, Stop> {
        json::to_text(&self.eta_text())
    }

    fn eta_text(&self) -> EtaText<'_> {
        let figures = &self.figures.figures;
        let is_live = self.figures.mode == Mode::Active && figures.active_stop.is_some();
        let active = figures.active_stop.map(seconds);
        let completion = is_live.then(|| seconds(figures.remaining));
        let start = figures.start.map(seconds);
        let at = |after: Option<u64>| after.map(|after| time::to_text(self.now_ms.saturating_add(after * 1_000)));
        EtaText {
            active_stop_seconds: active,
            completion_seconds: completion,
            active_stop_at: at(active),
            completion_at: at(completion),
            start_seconds: start,
            start_at: at(start),
            provider: PROVIDER,
            confidence: self.figures.confidence,
            lifecycle: self.lifecycle(),
            warnings: self.warnings(),
        }
    }

    fn warnings(&self) -> Vec<&'static str> {
        self.figures.warnings.iter().copied().map(Warning::name).collect()
    }

    fn lifecycle(&self) -> Lifecycle<'_> {
        let mode = self.figures.mode;
        Lifecycle {
            status: &self.progress.status,
            mode: mode.name(),
            message: mode.message(),
            is_terminal: mode.is_terminal(),
            has_started: self.progress.is_started(),
            show_live_eta: mode.shows_live_eta(),
            show_start_eta: mode.shows_start_eta(),
        }
    }

    fn stop_text(&self, at: usize) -> Option<StopText<'_>> {
        let stop: &RuleStop = self.progress.stops.get(at)?;
        let stored = self.payload.route.find(&stop.id)?;
        Some(StopText {
            id: &stored.place,
            waypoint_id: &stored.id,
            kind: match stop.kind {
                StopKind::Pickup => "pickup",
                StopKind::Waypoint => "waypoint",
                StopKind::Dropoff => "dropoff",
            },
            order: at,
            status: stop.activity.as_deref().unwrap_or("pending"),
            complete: stop.is_completed(&self.flow),
            failed: stop.failure.is_some(),
            location: Point::of(self.positions.get(at).copied().flatten()),
        })
    }

    fn route(&self) -> RouteText {
        let known: Vec<Position> = self.positions.iter().copied().flatten().collect();
        let legs: Vec<Estimate> =
            known.iter().zip(known.iter().skip(1)).map(|(from, to)| estimate(*from, *to)).collect();
        RouteText {
            distance_m: Number(legs.iter().map(|leg| leg.distance_m).sum::<f64>().round()),
            duration_s: Number(legs.iter().map(|leg| leg.duration_s).sum::<f64>().round()),
            duration_in_traffic_s: None,
            polyline: None,
            coordinates: known.iter().map(|at| [Number(at.longitude()), Number(at.latitude())]).collect(),
            legs: legs
                .into_iter()
                .map(|leg| Leg {
                    distance_m: Number(leg.distance_m.round()),
                    duration_s: Number(leg.duration_s.round()),
                })
                .collect(),
        }
    }
}

/// Rounded up: nobody comes earlier than that.
fn seconds(estimate: Estimate) -> u64 {
    estimate.duration_s.ceil() as u64
}
