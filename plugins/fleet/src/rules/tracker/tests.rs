use super::*;
use crate::rules::flow::{CREATED, STARTED, transport};
use crate::rules::progress::StopKind;
use crate::rules::proof::Demand;

const NOW: u64 = 10_000_000;

fn stop(id: &str, kind: StopKind) -> Stop {
    Stop { id: id.to_owned(), place: id.to_owned(), kind, demand: Demand::NONE, activity: None, failure: None }
}

fn order(status: &str, current: Option<&str>) -> Progress {
    let is_started = ["started", "enroute", "completed"].contains(&status);
    Progress {
        status: status.to_owned(),
        driver: Some("ada".to_owned()),
        adhoc: false,
        demand: Demand::NONE,
        scheduled_at_ms: None,
        dispatched_at_ms: (status != CREATED).then_some(1),
        started_at_ms: is_started.then_some(1),
        stops: vec![stop("a", StopKind::Pickup), stop("b", StopKind::Dropoff)],
        current_stop: current.map(str::to_owned),
        proofs: Vec::new(),
        failure: None,
    }
}

fn at(longitude: f64) -> Position {
    Position::new(0.0, longitude).unwrap()
}

/// Stops at 0 and 1 degrees of the equator, the driver at `driver`.
fn tracked(order: &Progress, driver: Option<f64>, age_s: u64) -> Tracker {
    let places = [Some(at(0.0)), Some(at(1.0))];
    let driver = driver.map(|driver| DriverFix { position: at(driver), at_ms: NOW - age_s * 1_000, online: true });
    track(order, &transport(), Known { places: &places, driver, now_ms: NOW })
}

fn is_about(found: f64, degrees: f64) -> bool {
    (found - degrees * 111_195.0 * 1.3).abs() < 200.0
}

#[test]
fn every_state_has_its_mode() {
    let nobody = Progress { driver: None, ..order(CREATED, None) };
    let table = [
        (nobody, "unassigned"),
        (order(CREATED, None), "pre_start"),
        (order("dispatched", None), "dispatched"),
        (order("enroute", Some("a")), "active"),
        (order("completed", Some("b")), "completed"),
        (order("canceled", None), "canceled"),
        (order("failed", None), "failed"),
    ];
    for (order, expected) in table {
        let mode = Mode::of(&order, &transport());
        assert_eq!(mode.name(), expected);
        assert_eq!(mode.is_terminal(), order.ending(&transport()).is_some());
        assert!(!mode.message().is_empty());
    }
}

#[test]
fn an_order_on_its_way_has_so_much_behind_it() {
    let halfway = tracked(&order("enroute", Some("b")), Some(0.5), 10);
    let figures = halfway.figures;
    assert_eq!((figures.total_stops, figures.completed_stops), (2, 1));
    assert!(is_about(figures.remaining.distance_m, 0.5) && is_about(figures.completed_distance_m, 0.5));
    assert!((49..=50).contains(&figures.percentage));
    assert!(is_about(figures.active_stop.unwrap().distance_m, 0.5) && figures.start.is_none());
    assert_eq!((halfway.active_stop.as_deref(), halfway.next_stop), (Some("b"), None));
    assert_eq!((halfway.location_age_s, halfway.warnings), (Some(10), Vec::new()));
}

#[test]
fn a_driver_who_is_far_away_has_nothing_behind_him() {
    let far = tracked(&order(STARTED, Some("a")), Some(-1.0), 10);
    assert_eq!((far.figures.percentage, far.figures.completed_stops), (0, 0));
    assert!(
        is_about(far.figures.remaining.distance_m, 2.0) && is_about(far.figures.active_stop.unwrap().distance_m, 1.0)
    );
    assert_eq!((far.active_stop.as_deref(), far.next_stop.as_deref()), (Some("a"), Some("b")));
}

#[test]
fn before_the_start_it_is_told_when_it_may_begin() {
    let waiting = tracked(&order("dispatched", None), Some(-1.0), 10);
    assert!(is_about(waiting.figures.start.unwrap().distance_m, 1.0) && waiting.figures.active_stop.is_none());
    assert!(is_about(waiting.figures.remaining.distance_m, 1.0));
    assert_eq!((waiting.figures.percentage, waiting.figures.completed_distance_m), (0, 0.0));
}

#[test]
fn only_what_is_completed_is_at_a_hundred() {
    let arrived = tracked(&order("enroute", Some("b")), Some(1.0), 10);
    assert_eq!(arrived.figures.percentage, 99);
    let completed = tracked(&order("completed", Some("b")), Some(1.0), 10);
    assert_eq!((completed.figures.percentage, completed.figures.completed_stops), (100, 2));
    assert_eq!((completed.active_stop, completed.figures.remaining), (None, Estimate::default()));
    let canceled = tracked(&order("canceled", None), None, 0);
    assert_eq!((canceled.figures.percentage, canceled.warnings), (0, Vec::new()));
}

#[test]
fn what_is_not_known_is_told() {
    let names = |tracker: Tracker| tracker.warnings.into_iter().map(Warning::name).collect::<Vec<_>>();
    let active = order("enroute", Some("a"));
    assert_eq!(names(tracked(&active, Some(0.0), STALE_S)), Vec::<&str>::new());
    assert_eq!(names(tracked(&active, Some(0.0), STALE_S + 1)), ["stale_driver_location", "low_confidence_eta"]);
    assert_eq!(names(tracked(&active, None, 0)), ["stale_driver_location", "low_confidence_eta"]);
    let known = Known { places: &[None, Some(at(1.0))], driver: None, now_ms: NOW };
    let missing = track(&order("dispatched", None), &transport(), known);
    assert_eq!(missing.figures.remaining, Estimate::default());
    assert_eq!(names(missing), ["missing_locations", "low_confidence_eta"]);
}

#[test]
fn an_order_that_should_have_begun_is_late() {
    let due = |status: &str, at_ms| Progress { scheduled_at_ms: Some(at_ms), ..order(status, None) };
    assert_eq!(tracked(&due("dispatched", NOW - 90_000), None, 0).delay_s, 90);
    assert_eq!(tracked(&due("dispatched", NOW + 90_000), None, 0).delay_s, 0);
    assert_eq!(tracked(&due("enroute", NOW - 90_000), None, 0).delay_s, 0);
}

#[test]
fn on_a_tour_stops_that_were_left_out_are_still_ahead() {
    let mut tour = order(STARTED, Some("b"));
    tour.stops = vec![stop("a", StopKind::Waypoint), stop("b", StopKind::Waypoint)];
    let left_out = tracked(&tour, Some(1.0), 10);
    assert_eq!((left_out.active_stop.as_deref(), left_out.next_stop.as_deref()), (Some("b"), Some("a")));
    assert!(is_about(left_out.figures.remaining.distance_m, 1.0));
    tour.stops[1].activity = Some("completed".to_owned());
    tour.current_stop = Some("a".to_owned());
    let back = tracked(&tour, Some(1.0), 10);
    assert_eq!((back.figures.completed_stops, back.active_stop.as_deref(), back.next_stop), (1, Some("a"), None));
}
