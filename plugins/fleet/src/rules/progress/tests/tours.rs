//! Orders with one stop after another.

use super::*;

/// Three waypoints, started.
fn tour() -> Progress {
    let stops = ["waypoint_1", "waypoint_2", "waypoint_3"].map(|id| stop(id, StopKind::Waypoint));
    Progress { stops: stops.to_vec(), current_stop: Some("waypoint_1".to_owned()), ..at(STARTED) }
}

fn after(mut order: Progress, commands: &[Command]) -> Progress {
    for command in commands {
        order = run(order, command.clone()).unwrap().order;
    }
    order
}

fn deliver() -> [Command; 2] {
    [taken("enroute"), taken("completed")]
}

#[test]
fn activities_of_a_tour_happen_to_its_current_stop() {
    let step = run(tour(), taken("enroute")).unwrap();
    assert_eq!(step.order.status, STARTED);
    assert_eq!(step.order.stops[0].activity.as_deref(), Some("enroute"));
    let track = Effect::Track { stop: Some("waypoint_1".to_owned()), code: "enroute".to_owned() };
    let event = Event::WaypointActivity { stop: "waypoint_1".to_owned() };
    assert_eq!(step.effects, [track, Effect::Emit(event)]);
    let skipped = Refusal::NotNext { from: STARTED.to_owned(), to: "completed".to_owned() };
    check(tour(), taken("completed"), Err(skipped));
}

#[test]
fn a_stop_that_is_done_hands_over_to_the_next_and_the_last_one_ends_the_order() {
    let second = after(tour(), &deliver());
    assert_eq!((second.current_stop.as_deref(), second.status.as_str()), (Some("waypoint_2"), STARTED));
    check(second.clone(), Command::Complete, Err(Refusal::StopsNotCompleted));
    let third = after(second, &deliver());
    let last = run(after(third, &deliver()[..1]), taken("completed")).unwrap();
    assert_eq!(last.order.status, "completed");
    assert_eq!(events(&last), ["waypoint.activity", "waypoint.completed", "order.completed"]);
    assert!(last.effects.contains(&Effect::FreeDriver { driver: "ada".to_owned() }));
    check(last.order, Command::Complete, Err(Refusal::Ended(Ending::Completed)));
}

#[test]
fn no_stop_moves_before_the_order_is_started() {
    let waiting = Progress { stops: tour().stops, ..at(DISPATCHED) };
    check(waiting.clone(), taken("enroute"), Err(Refusal::StopsNotStarted));
    let started = run(waiting, start()).unwrap().order;
    assert_eq!(started.current_stop.as_deref(), Some("waypoint_1"));
}

#[test]
fn the_driver_may_choose_another_destination_that_is_not_done() {
    let chosen = run(tour(), Command::SetDestination("place_3".to_owned())).unwrap();
    assert_eq!((chosen.order.current_stop.as_deref(), events(&chosen)), (Some("waypoint_3"), vec!["order.updated"]));
    let wrapped = after(chosen.order, &deliver());
    assert_eq!(wrapped.current_stop.as_deref(), Some("waypoint_1"));
    for id in ["waypoint_3", "place_3", "place_9", ""] {
        check(wrapped.clone(), Command::SetDestination(id.to_owned()), Err(Refusal::NotADestination));
    }
    assert!(run(tour(), Command::SetDestination("waypoint_1".to_owned())).unwrap().effects.is_empty());
    let plain = run(at(STARTED), Command::SetDestination("place_2".to_owned())).unwrap().order;
    assert_eq!(plain.current_stop.as_deref(), Some("place_2"));
}

#[test]
fn a_place_that_is_visited_twice_is_gone_to_twice() {
    let mut order = tour();
    order.stops[2].place = "place_1".to_owned();
    let order = after(order, &deliver());
    let again = run(order, Command::SetDestination("place_1".to_owned())).unwrap().order;
    assert_eq!(again.current_stop.as_deref(), Some("waypoint_3"));
}

#[test]
fn a_stop_fails_alone_and_the_tour_goes_on() {
    let step = run(tour(), failed("nobody there")).unwrap();
    assert_eq!((step.order.status.as_str(), step.order.current_stop.as_deref()), (STARTED, Some("waypoint_2")));
    assert_eq!(step.order.stops[0].failure.as_deref(), Some("nobody there"));
    let delivered = after(step.order, &[deliver(), deliver()].concat());
    assert_eq!((delivered.status.as_str(), delivered.failure), ("completed", None));
    let lost = after(tour(), &[failed("a"), failed("b"), failed("c")]);
    assert_eq!((lost.status.as_str(), lost.failure.as_deref()), (FAILED, Some("a")));
    let last_failed = after(tour(), &[&deliver()[..], &deliver()[..], &[failed("c")]].concat());
    assert_eq!(last_failed.status, "completed");
}

#[test]
fn a_canceled_tour_is_canceled_as_a_whole() {
    let canceled = run(tour(), taken(CANCELED)).unwrap();
    assert_eq!((canceled.order.status.as_str(), events(&canceled)), (CANCELED, vec!["order.canceled"]));
    let waiting = Progress { stops: tour().stops, ..at(DISPATCHED) };
    check(waiting, failed("the van broke down"), Ok(FAILED));
}

#[test]
fn a_changed_status_moves_no_stop() {
    let status = |code: &str| Command::SetStatus(code.to_owned());
    check(tour(), status(STARTED), Ok(STARTED));
    check(tour(), status("completed"), Err(Refusal::StopsNotCompleted));
    check(tour(), status("enroute"), Err(Refusal::NotNext { from: STARTED.to_owned(), to: "enroute".to_owned() }));
    check(tour(), status(CANCELED), Ok(CANCELED));
}

#[test]
fn every_stop_is_proved_by_itself() {
    let mut order = Progress { demand: Demand::by(ProofMethod::Photo), ..tour() };
    order.stops[1].demand = Demand::by(ProofMethod::Signature);
    let order = after(order, &[taken("enroute")]);
    check(order.clone(), taken("completed"), Err(Refusal::ProofRequired(Some(ProofMethod::Photo))));
    let proof =
        |stop: &str, method| Captured { id: "proof_1".to_owned(), subject: Subject::Stop(stop.to_owned()), method };
    let elsewhere = Progress { proofs: vec![proof("waypoint_2", ProofMethod::Photo)], ..order.clone() };
    check(elsewhere, taken("completed"), Err(Refusal::ProofRequired(Some(ProofMethod::Photo))));
    let here = Progress { proofs: vec![proof("waypoint_1", ProofMethod::Photo)], ..order };
    let second = after(here, &[taken("completed"), taken("enroute")]);
    check(second, taken("completed"), Err(Refusal::ProofRequired(Some(ProofMethod::Signature))));
}
