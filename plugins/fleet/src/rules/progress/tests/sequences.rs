//! Whatever is asked in whatever order, the invariants hold.

use proptest::prelude::*;

use super::*;

fn some_command() -> impl Strategy<Value = Command> {
    let driver = prop::option::of(prop::sample::select(vec!["ada".to_owned(), "bob".to_owned()]));
    // Ends are rare, or no order would come far.
    let codes = [
        vec!["enroute"; 20],
        vec!["completed"; 20],
        vec![STARTED; 6],
        vec![CREATED, DISPATCHED, DISPATCHED, CANCELED, FAILED, FAILED, "x"],
    ];
    let code = || prop::sample::select(codes.concat());
    let place = prop::sample::select(vec!["place_1", "place_2", "waypoint_3", "place_9"]);
    let reason = prop::option::of(Just("nobody there".to_owned()));
    let taken =
        (code(), reason, driver.clone(), any::<bool>(), prop::option::weighted(0.1, Just("proof_1".to_owned())));
    prop_oneof![
        4 => Just(Command::Dispatch),
        4 => prop::option::of(0u64..9).prop_map(|at_ms| Command::Schedule { at_ms }),
        4 => (driver.clone(), any::<bool>()).prop_map(|(driver, skip_dispatch)| Command::Start { driver, skip_dispatch }),
        80 => taken.prop_map(|(code, reason, driver, skip_dispatch, proof)| {
            Command::Take(Taken { code: code.to_owned(), proof, reason, driver, skip_dispatch })
        }),
        4 => code().prop_map(|code| Command::SetStatus(code.to_owned())),
        4 => Just(Command::Complete),
        1 => Just(Command::Cancel),
        4 => place.prop_map(|id| Command::SetDestination(id.to_owned())),
        4 => driver.prop_map(Command::Assign),
    ]
}

fn some_order() -> impl Strategy<Value = Progress> {
    let methods = vec![None, Some(ProofMethod::Photo), Some(ProofMethod::Scan)];
    let demand = (any::<bool>(), prop::sample::select(methods))
        .prop_map(|(required, method)| Demand { wanted: required.into(), method });
    let proved = prop::collection::btree_set(1usize..=3, 0..=3);
    (any::<bool>(), any::<bool>(), 0usize..4, demand, proved).prop_map(
        |(adhoc, has_driver, waypoints, demand, proved)| {
            let tour = (1..=waypoints).map(|number| stop(&format!("waypoint_{number}"), StopKind::Waypoint));
            let proofs = proved.into_iter().map(|number| Captured {
                id: format!("proof_{number}"),
                subject: Subject::Stop(format!("waypoint_{number}")),
                method: ProofMethod::Photo,
            });
            Progress {
                adhoc,
                driver: has_driver.then(|| "ada".to_owned()),
                stops: if waypoints == 0 { order().stops } else { tour.collect() },
                demand,
                proofs: proofs.collect(),
                ..order()
            }
        },
    )
}

/// What is completed was proved, by the proof that was asked for.
fn check_proofs(order: &Progress, flow: &Flow) -> Result<(), TestCaseError> {
    if order.demand.wanted == ProofWanted::Optional {
        return Ok(());
    }
    let is_proved = |subject: Option<&str>| {
        let method_fits = |proof: &&Captured| order.demand.method.is_none_or(|method| method == proof.method);
        let fits = |proof: &Captured| subject.is_none_or(|stop| proof.subject == Subject::Stop(stop.to_owned()));
        order.proofs.iter().filter(method_fits).any(fits)
    };
    prop_assert!(order.ending(flow) != Some(Ending::Completed) || is_proved(None), "{order:?}");
    for stop in order.stops.iter().filter(|stop| stop.is_completed(flow)) {
        prop_assert!(is_proved(Some(&stop.id)), "{order:?}");
    }
    Ok(())
}

fn check_order(order: &Progress, flow: &Flow) -> Result<(), TestCaseError> {
    let ending = order.ending(flow);
    prop_assert!(!order.is_started() || order.driver.is_some(), "a started order has a driver: {order:?}");
    prop_assert_eq!(order.failure.is_some(), ending == Some(Ending::Failed));
    let all_done = order.stops.iter().all(|stop| stop.is_done(flow));
    if order.has_tour() && order.is_started() {
        let current = order.current_stop.as_deref().and_then(|id| order.stops.iter().find(|stop| stop.id == id));
        prop_assert!(current.is_some_and(|stop| ending.is_some() || !stop.is_done(flow)), "{order:?}");
        prop_assert!(!all_done || ending.is_some(), "{order:?}");
    }
    if ending == Some(Ending::Completed) {
        prop_assert!(order.is_started() && (all_done || !order.has_tour()), "{order:?}");
    }
    Ok(())
}

/// Over the edges of the table; on a tour the last stop ends the order from `started`.
fn check_moves(before: &Progress, step: &Step, edges: &[Edge]) -> Result<(), TestCaseError> {
    for (from, to) in &step.moves {
        let is_edge = edges.iter().any(|edge| edge.from == *from && edge.to == *to);
        let ends_tour = before.has_tour() && from.as_deref() == Some(STARTED) && to == "completed";
        prop_assert!(is_edge || ends_tour, "{from:?} to {to}");
    }
    prop_assert_eq!(step.moves.is_empty(), before.status == step.order.status);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_invariants_hold_whatever_is_asked(
        order in some_order(),
        at_once in any::<bool>(),
        commands in prop::collection::vec(some_command(), 1..80),
    ) {
        let flow = transport();
        let edges = edges(&flow);
        let Ok(first) = create(order, at_once.then_some(rules(&flow)), NOW) else { return Ok(()) };
        let mut order = first.order;
        let mut ends = 0;
        for command in commands {
            let Ok(next) = step(order.clone(), command.clone(), rules(&flow), NOW) else { continue };
            check_moves(&order, &next, &edges)?;
            check_order(&next.order, &flow)?;
            check_proofs(&next.order, &flow)?;
            if order.ending(&flow).is_some() {
                prop_assert_eq!(&next, &Step { order: order.clone(), moves: Vec::new(), effects: Vec::new() });
            }
            ends += events(&next).iter().filter(|name| ["order.completed", "order.canceled", "order.failed"].contains(name)).count();
            order = next.order;
        }
        prop_assert_eq!(ends, usize::from(order.ending(&flow).is_some()));
    }
}
