mod sequences;
mod tours;

use super::*;
use crate::rules::flow::{self, CREATED, DISPATCHED, transport};
use crate::rules::invalid::Invalid;
use crate::rules::order::{ProofMethod, ProofWanted};
use crate::rules::proof::Subject;
use crate::rules::refusal::Refusal;

pub const NOW: u64 = 1_000;
const NO_FIELDS: &Fields<'static> = &|_| None;

fn rules(flow: &Flow) -> Rules<'_> {
    Rules { flow, fields: NO_FIELDS }
}

fn stop(id: &str, kind: StopKind) -> Stop {
    let place = id.replace("waypoint", "place");
    Stop { id: id.to_owned(), place, kind, demand: Demand::NONE, activity: None, failure: None }
}

/// From a pickup to a dropoff, for the driver "ada".
fn order() -> Progress {
    Progress {
        status: CREATED.to_owned(),
        driver: Some("ada".to_owned()),
        adhoc: false,
        demand: Demand::NONE,
        scheduled_at_ms: None,
        dispatched_at_ms: None,
        started_at_ms: None,
        stops: vec![stop("place_1", StopKind::Pickup), stop("place_2", StopKind::Dropoff)],
        current_stop: None,
        proofs: Vec::new(),
        failure: None,
    }
}

/// For whoever comes.
fn adhoc() -> Progress {
    Progress { driver: None, adhoc: true, ..order() }
}

/// As it is when it has come there on the usual way.
fn at(code: &str) -> Progress {
    let way = [CREATED, DISPATCHED, STARTED, "enroute", "completed"];
    let passed = way.iter().position(|known| *known == code).unwrap_or_default();
    Progress {
        status: code.to_owned(),
        dispatched_at_ms: (passed >= 1).then_some(1),
        started_at_ms: (passed >= 2).then_some(2),
        current_stop: (passed >= 2).then(|| "place_1".to_owned()),
        ..order()
    }
}

fn run(order: Progress, command: Command) -> Result<Step, Refusal> {
    step(order, command, rules(&transport()), NOW)
}

fn check(order: Progress, command: Command, expected: Result<&str, Refusal>) {
    let told = format!("{order:?} {command:?}");
    assert_eq!(run(order, command).map(|step| step.order.status), expected.map(str::to_owned), "{told}");
}

pub fn start() -> Command {
    Command::Start { driver: None, skip_dispatch: false }
}

pub fn accept(driver: &str) -> Command {
    Command::Start { driver: Some(driver.to_owned()), skip_dispatch: false }
}

pub fn taken(code: &str) -> Command {
    Command::Take(Taken { code: code.to_owned(), ..Taken::default() })
}

fn failed(reason: &str) -> Command {
    Command::Take(Taken { code: FAILED.to_owned(), reason: Some(reason.to_owned()), ..Taken::default() })
}

fn events(step: &Step) -> Vec<&'static str> {
    let emitted = step.effects.iter().filter_map(|effect| match effect {
        Effect::Emit(event) => Some(event.name()),
        _ => None,
    });
    emitted.collect()
}

#[test]
fn the_usual_way_leads_to_the_end() {
    let commands = [Command::Dispatch, start(), taken("enroute"), Command::Complete];
    let mut order = create(order(), None, NOW).unwrap().order;
    for (command, expected) in commands.into_iter().zip(["dispatched", "started", "enroute", "completed"]) {
        order = run(order, command).unwrap().order;
        assert_eq!(order.status, expected);
    }
    assert_eq!((order.dispatched_at_ms, order.started_at_ms), (Some(NOW), Some(NOW)));
}

/// Every status, every way, every code: allowed where the table has an edge, refused everywhere else.
#[test]
fn the_table_of_edges_says_what_is_allowed_and_nothing_else_is() {
    let flow = transport();
    let edges = edges(&flow);
    let codes = [CREATED, DISPATCHED, STARTED, "enroute", "completed", CANCELED, FAILED];
    for from in codes {
        for to in codes {
            for (way, command, skips) in asking_for(to) {
                let led = run(at(from), command.clone()).ok().filter(|step| !step.moves.is_empty());
                let is_edge =
                    |edge: &Edge| edge.from.as_deref() == Some(from) && edge.to == to && edge.by.contains(&way);
                let edge = edges.iter().find(|edge| is_edge(edge) && (skips || !edge.needs.contains("skip_dispatch")));
                let led_there = led.map(|step| step.order.status);
                assert_eq!(led_there, edge.map(|edge| edge.to.clone()), "{from} {command:?}");
            }
        }
    }
}

/// Every way in which somebody could ask for this status, and whether it skips the dispatch.
fn asking_for(code: &str) -> Vec<(Way, Command, bool)> {
    let reason = Some("nobody there".to_owned());
    let take = |skip_dispatch| {
        Command::Take(Taken { code: code.to_owned(), reason: reason.clone(), skip_dispatch, ..Taken::default() })
    };
    let mut ways = vec![
        (Way::UpdateActivity, take(false), false),
        (Way::UpdateActivity, take(true), true),
        (Way::ChangeStatus, Command::SetStatus(code.to_owned()), false),
    ];
    match code {
        DISPATCHED => ways.push((Way::Dispatch, Command::Dispatch, false)),
        STARTED => ways.extend(
            [false, true]
                .map(|skip_dispatch| (Way::Start, Command::Start { driver: None, skip_dispatch }, skip_dispatch)),
        ),
        "completed" => ways.push((Way::Complete, Command::Complete, false)),
        CANCELED => ways.push((Way::Cancel, Command::Cancel, false)),
        _ => {}
    }
    ways
}

#[test]
fn the_table_reads_as_a_page() {
    let page = markdown(&transport());
    let lines = [
        "| (nothing) | `created` | create |  |",
        "| `created` | `dispatched` | create, dispatch, update-activity, PUT status | a driver, or an ad-hoc order |",
        "| `created` | `started` | start, update-activity | `skip_dispatch`, and a driver as for `started` |",
        "| `enroute` | `completed` | update-activity, PUT status, complete | the proof, where one is required |",
        "| `enroute` | `failed` | update-activity | a `reason` |",
    ];
    for line in lines {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert_eq!(page.lines().filter(|line| line.starts_with('|')).count(), 2 + 14);
}

#[test]
fn an_order_is_created_dispatched_when_the_caller_says_so() {
    let flow = transport();
    let dispatched = create(order(), Some(rules(&flow)), NOW).unwrap();
    assert_eq!((dispatched.order.status.as_str(), dispatched.order.is_dispatched()), (DISPATCHED, true));
    assert_eq!(events(&dispatched), ["order.created", "order.driver_assigned", "order.dispatched"]);
    let nobody = Progress { driver: None, ..order() };
    assert_eq!(create(nobody.clone(), Some(rules(&flow)), NOW), Err(Refusal::NoDriverToDispatch));
    assert_eq!(events(&create(nobody, None, NOW).unwrap()), ["order.created"]);
}

#[test]
fn whom_to_dispatch_to_is_known() {
    let nobody = Progress { driver: None, ..order() };
    check(nobody.clone(), Command::Dispatch, Err(Refusal::NoDriverToDispatch));
    check(nobody.clone(), taken(DISPATCHED), Err(Refusal::NoDriverForDispatch));
    check(nobody, start(), Err(Refusal::NoDriver));
    check(at(DISPATCHED), Command::Dispatch, Err(Refusal::AlreadyDispatched));
    check(at(STARTED), Command::Dispatch, Err(Refusal::AlreadyDispatched));
    check(order(), start(), Err(Refusal::NotDispatched));
    check(at(STARTED), start(), Err(Refusal::AlreadyStarted));
    let pinged = run(adhoc(), Command::Dispatch).unwrap();
    assert!(pinged.effects.contains(&Effect::PingDrivers));
    assert!(!run(order(), Command::Dispatch).unwrap().effects.contains(&Effect::PingDrivers));
}

#[test]
fn of_two_drivers_one_gets_the_ad_hoc_order() {
    let dispatched = run(adhoc(), Command::Dispatch).unwrap().order;
    check(dispatched.clone(), start(), Err(Refusal::NobodyAccepts));
    let won = run(dispatched, accept("ada")).unwrap();
    assert_eq!((won.order.driver.as_deref(), won.order.status.as_str()), (Some("ada"), STARTED));
    assert_eq!(events(&won), ["order.driver_assigned", "order.started"]);
    check(won.order.clone(), accept("bob"), Err(Refusal::TakenByAnother));
    check(won.order.clone(), accept("ada"), Err(Refusal::AlreadyStarted));
    let ended = run(won.order, Command::Cancel).unwrap().order;
    check(ended, accept("bob"), Err(Refusal::TakenByAnother));
    check(at(DISPATCHED), accept("bob"), Err(Refusal::NotAdhoc));
    check(Progress { driver: None, ..at(DISPATCHED) }, accept("bob"), Err(Refusal::NoDriver));
    check(at(DISPATCHED), accept("ada"), Ok(STARTED));
}

#[test]
fn a_dispatch_may_be_skipped_and_is_not_made_up_for() {
    let skip = Command::Start { driver: None, skip_dispatch: true };
    let started = run(order(), skip).unwrap().order;
    assert_eq!((started.status.as_str(), started.is_dispatched()), (STARTED, false));
    check(started, Command::Dispatch, Err(Refusal::AlreadyStarted));
}

#[test]
fn what_has_ended_stays_as_it_is() {
    for (end, ending) in [("completed", Ending::Completed), (CANCELED, Ending::Canceled), (FAILED, Ending::Failed)] {
        let commands = [
            Command::Dispatch,
            Command::Schedule { at_ms: Some(5) },
            start(),
            taken("enroute"),
            taken("completed"),
            failed("late"),
            Command::SetStatus(STARTED.to_owned()),
            Command::Complete,
            Command::Cancel,
            Command::SetDestination("place_1".to_owned()),
            Command::Assign(Some("bob".to_owned())),
        ];
        for command in commands {
            check(at(end), command, Err(Refusal::Ended(ending)));
        }
        check(at(end), Command::SetStatus(end.to_owned()), Ok(end));
    }
}

#[test]
fn a_failure_has_a_reason() {
    check(at(STARTED), taken(FAILED), Err(Invalid::Required("reason").into()));
    check(at(STARTED), failed("  "), Err(Invalid::Required("reason").into()));
    let why = "an order fails by update-activity, which takes the reason".to_owned();
    let status = Invalid::NotAccepted { field: "status", why };
    check(at(STARTED), Command::SetStatus(FAILED.to_owned()), Err(status.into()));
    assert!(run(at(STARTED), failed(&"x".repeat(REASON_CHARS_MAX + 1))).is_err());
    let step = run(at("enroute"), failed(" nobody there ")).unwrap();
    assert_eq!(step.order.failure.as_deref(), Some("nobody there"));
    assert_eq!(events(&step), ["order.failed"]);
    assert!(step.effects.contains(&Effect::FreeDriver { driver: "ada".to_owned() }));
}

#[test]
fn nothing_is_completed_without_its_proof() {
    let wanted = Progress { demand: Demand::by(ProofMethod::Signature), ..at("enroute") };
    let refused = Err(Refusal::ProofRequired(Some(ProofMethod::Signature)));
    for command in [Command::Complete, taken("completed"), Command::SetStatus("completed".to_owned())] {
        check(wanted.clone(), command, refused.clone());
    }
    let proof = |method| Captured { id: "proof_1".to_owned(), subject: Subject::Order, method };
    let with = |method| Progress { proofs: vec![proof(method)], ..wanted.clone() };
    check(with(ProofMethod::Photo), Command::Complete, refused.clone());
    check(with(ProofMethod::Signature), Command::Complete, Ok("completed"));
    let named = |id: &str| {
        Command::Take(Taken { code: "completed".to_owned(), proof: Some(id.to_owned()), ..Taken::default() })
    };
    check(with(ProofMethod::Signature), named("proof_1"), Ok("completed"));
    check(with(ProofMethod::Photo), named("proof_1"), refused);
    let unknown = Invalid::Not { field: "proof", kind: "a proof of the order" };
    check(with(ProofMethod::Signature), named("proof_2"), Err(unknown.into()));
    let any = Demand { wanted: ProofWanted::Required, method: None };
    check(Progress { demand: any, ..wanted.clone() }, Command::Complete, Err(Refusal::ProofRequired(None)));
    check(Progress { demand: any, ..with(ProofMethod::Photo) }, Command::Complete, Ok("completed"));
}

#[test]
fn only_what_the_configuration_knows_is_an_activity() {
    let unknown = Invalid::Not { field: "activity", kind: "one of the order configuration" };
    check(at(STARTED), taken("teleported"), Err(unknown.into()));
    let skipped = Refusal::NotNext { from: STARTED.to_owned(), to: "completed".to_owned() };
    check(at(STARTED), taken("completed"), Err(skipped.clone()));
    check(at(STARTED), Command::Complete, Err(skipped));
    check(order(), Command::Complete, Err(Refusal::NotStarted));
    let back = Refusal::NotNext { from: "enroute".to_owned(), to: CREATED.to_owned() };
    check(at("enroute"), taken(CREATED), Err(back));
}

#[test]
fn an_order_is_scheduled_until_it_is_under_way() {
    let step = run(order(), Command::Schedule { at_ms: Some(5) }).unwrap();
    assert_eq!((step.order.scheduled_at_ms, events(&step)), (Some(5), vec!["order.updated"]));
    assert!(run(step.order, Command::Schedule { at_ms: Some(5) }).unwrap().effects.is_empty());
    check(at(DISPATCHED), Command::Schedule { at_ms: Some(5) }, Ok(DISPATCHED));
    check(at(STARTED), Command::Schedule { at_ms: Some(5) }, Err(Refusal::AlreadyStarted));
}

#[test]
fn an_order_under_way_changes_hands_and_is_never_nobodys() {
    let step = run(at(STARTED), Command::Assign(Some("bob".to_owned()))).unwrap();
    assert_eq!(step.order.driver.as_deref(), Some("bob"));
    let freed = Effect::FreeDriver { driver: "ada".to_owned() };
    let busy = Effect::TakeJob { driver: "bob".to_owned() };
    assert_eq!(step.effects, [freed, busy, Effect::Emit(Event::DriverAssigned)]);
    check(at(STARTED), Command::Assign(None), Err(Refusal::NoDriver));
    assert!(run(order(), Command::Assign(None)).unwrap().effects.is_empty());
    assert!(run(order(), Command::Assign(Some("ada".to_owned()))).unwrap().effects.is_empty());
}

#[test]
fn a_configuration_of_ones_own_is_followed() {
    let mut own = transport().activities().to_vec();
    own[0].next = vec!["paid".to_owned()];
    let paid = flow::Activity { code: "paid".into(), key: "paid".into(), status: "Paid".into(), ..own[0].clone() };
    own.push(flow::Activity { next: vec![DISPATCHED.to_owned()], ..paid });
    let flow = Flow::check(own).unwrap();
    let run = |order, command| step(order, command, rules(&flow), NOW).map(|step| step.order);
    let early = Refusal::NotNext { from: CREATED.to_owned(), to: DISPATCHED.to_owned() };
    assert_eq!(run(order(), Command::Dispatch), Err(early.clone()));
    assert_eq!(create(order(), Some(rules(&flow)), NOW), Err(early.clone()));
    assert_eq!(run(order(), Command::Start { driver: None, skip_dispatch: true }), Err(early));
    let paid = run(order(), taken("paid")).unwrap();
    assert_eq!(run(paid.clone(), Command::Dispatch).unwrap().status, DISPATCHED);
    assert_eq!(run(paid, Command::Start { driver: None, skip_dispatch: true }).unwrap().status, STARTED);
}

#[test]
fn what_was_dispatched_is_somebodys_or_offered() {
    check(at(DISPATCHED), Command::Assign(None), Err(Refusal::NoDriver));
    check(at(CREATED), Command::Assign(None), Ok(CREATED));
    let offered = Progress { driver: None, adhoc: true, ..at(DISPATCHED) };
    assert_eq!(offered.check_held(&transport()), Ok(()));
    let dropped = Progress { adhoc: false, ..offered };
    assert_eq!(dropped.check_held(&transport()), Err(Refusal::NoDriver));
    assert_eq!(Progress { status: "canceled".to_owned(), ..dropped }.check_held(&transport()), Ok(()));
}
