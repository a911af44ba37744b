use proptest::prelude::*;

use super::logic::{Condition, Join, Operator};
use super::*;

const NOTHING: &Fields<'static> = &|_| None;

fn activity(code: &str, next: &[&str]) -> Activity {
    Activity {
        key: code.to_owned(),
        code: code.to_owned(),
        status: title_of(code),
        next: next.iter().map(|code| (*code).to_owned()).collect(),
        complete: next.is_empty(),
        ..Activity::default()
    }
}

fn graph(edges: &[(&str, &[&str])]) -> Vec<Activity> {
    edges.iter().map(|(code, next)| activity(code, next)).collect()
}

fn plain() -> Vec<Activity> {
    graph(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["completed"]),
        ("completed", &[]),
    ])
}

fn sentences(activities: Vec<Activity>) -> Vec<String> {
    let faults = Flow::check(activities).err().unwrap_or_default();
    faults.iter().map(|fault| fault.sentence().into_owned()).collect()
}

/// The one thing that is wrong, without the words around it.
fn check(activities: Vec<Activity>, expected: &str) {
    assert_eq!(sentences(activities), [["The flow field is not accepted: ", expected, "."].concat()]);
}

#[test]
fn the_default_configuration_is_one_like_any_other() {
    let flow = transport();
    assert_eq!(Flow::check(flow.activities().to_vec()), Ok(flow.clone()));
    let mut code = CREATED;
    let mut way = vec![code];
    while let Some(next) = flow.after(code, NOTHING).first() {
        code = &next.code;
        way.push(code);
    }
    assert_eq!(way, ["created", "dispatched", "started", "enroute", "completed"]);
    assert!(flow.completes("completed") && !flow.completes("enroute") && !flow.completes("nowhere"));
}

#[test]
fn activities_of_ones_own_stand_between_those_that_everybody_has() {
    let own = graph(&[
        ("created", &["paid"]),
        ("paid", &["dispatched"]),
        ("dispatched", &["accepted", "started"]),
        ("accepted", &["started"]),
        ("started", &["enroute"]),
        ("enroute", &["enroute_again", "delivered", "left_at_door"]),
        ("enroute_again", &["enroute"]),
        ("delivered", &[]),
        ("left_at_door", &[]),
    ]);
    assert!(Flow::check(own).is_ok());
}

#[test]
fn canceled_and_failed_may_be_described() {
    let described = |code: &str| Activity { complete: false, ..activity(code, &[]) };
    let own = [plain(), vec![described(CANCELED), described(FAILED)]].concat();
    assert!(Flow::check(own).is_ok());
    check([plain(), vec![activity(FAILED, &[])]].concat(), "the activity failed cannot complete an order");
    let leads_on = Activity { complete: false, ..activity(CANCELED, &["created"]) };
    assert!(sentences([plain(), vec![leads_on]].concat())[0].contains("is an end and leads on"));
}

#[test]
fn every_fault_of_an_activity_has_its_sentence() {
    let with = |change: &dyn Fn(&mut Activity)| {
        let mut activities = plain();
        change(&mut activities[3]);
        activities
    };
    check(with(&|one| one.color = Some("red".into())), "the color of the activity completed is not like #1a2b3c");
    check(with(&|one| one.status.clear()), "the activity completed needs a key and a status");
    check(with(&|one| one.next = vec!["started".into()]), "the activity completed is an end and leads on");
    let empty = Logic { join: Join::And, conditions: Vec::new() };
    let why = "in the logic of the activity completed, there are not 1 to 16 conditions";
    check(with(&|one| one.logic = vec![empty.clone()]), why);
    let long = sentences(with(&|one| one.details = "x".repeat(DETAILS_CHARS_MAX + 1)));
    assert_eq!(long, ["The details field may not be longer than 500 characters."]);
}

#[test]
fn every_fault_of_the_names_has_its_sentence() {
    check([plain(), vec![activity("completed", &[])]].concat(), "the code completed is there twice");
    let unknown = graph(&[("created", &["x"]), ("dispatched", &["started"]), ("started", &["done"]), ("done", &[])]);
    check(unknown, "the activity created leads to \"x\", which is unknown");
    let absent = graph(&[("created", &["started"]), ("started", &["completed"]), ("completed", &[])]);
    check(absent, "it has no activity dispatched");
    let many: Vec<Activity> = (0..65).map(|number| activity(&format!("a{number}"), &[])).collect();
    check(many, "it has more than 64 activities");
    assert_eq!(sentences(Vec::new()).len(), 3);
    for code in ["", "Created", "en route", "x".repeat(65).as_str()] {
        assert!(sentences([plain(), vec![activity(code, &[])]].concat())[0].contains("is no code of"), "{code}");
    }
}

#[test]
fn every_fault_of_the_shape_has_its_sentence() {
    let lost = [plain(), graph(&[("lost", &["completed"])])].concat();
    check(lost, "no way leads to the activity lost");
    let around = graph(&[
        ("created", &["dispatched", "started"]),
        ("dispatched", &["started"]),
        ("started", &["done"]),
        ("done", &[]),
    ]);
    check(around, "a way to the activity started goes around dispatched");
    let early = graph(&[
        ("created", &["dispatched", "done"]),
        ("dispatched", &["started"]),
        ("started", &["done"]),
        ("done", &[]),
    ]);
    check(early, "a way to the activity done goes around started");
    let again = graph(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["dispatched", "done"]),
        ("done", &[]),
    ]);
    let found = sentences(again);
    assert!(found.len() == 2 && found.iter().all(|sentence| sentence.contains("a way leads back to the activity")));
    let mut endless = graph(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["on", "done"]),
        ("done", &[]),
        ("on", &["off"]),
        ("off", &["on"]),
    ]);
    let found = sentences(endless.clone());
    assert!(found.len() == 2 && found[0].contains("no way leads from the activity on to one that completes"));
    endless[5].next.push("done".to_owned());
    assert!(Flow::check(endless).is_ok());
}

#[test]
fn an_activity_whose_conditions_do_not_hold_does_not_come_next() {
    let mut own = graph(&[
        ("created", &["dispatched"]),
        ("dispatched", &["started"]),
        ("started", &["second", "first"]),
        ("second", &[]),
        ("first", &[]),
    ]);
    let condition = Condition { field: "type".into(), operator: Operator::Equal, value: "haulage".into() };
    own[3].logic = vec![Logic { join: Join::If, conditions: vec![condition] }];
    own[3].sequence = 2;
    own[4].sequence = 1;
    let flow = Flow::check(own).unwrap();
    let after = |order_type: &'static str| {
        let fields = move |_: &str| Some(order_type.to_owned());
        flow.after(STARTED, &fields).iter().map(|next| next.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(after("transport"), ["first"]);
    assert_eq!(after("haulage"), ["first", "second"]);
    assert!(flow.follow(STARTED, "second", NOTHING).is_none() && flow.follow(STARTED, "first", NOTHING).is_some());
    assert!(flow.after("nowhere", NOTHING).is_empty());
}

#[test]
fn codes_have_titles() {
    for (code, title) in [("driver_enroute", "Driver Enroute"), ("x", "X"), ("", ""), ("LEFT at_door", "Left At Door")]
    {
        assert_eq!(title_of(code), title);
    }
}

proptest! {
    /// However its author draws it: a way that reaches a completion was dispatched and started once each, in this
    /// order.
    #[test]
    fn every_way_through_a_checked_flow_is_dispatched_and_started_once(
        edges in prop::collection::vec((0usize..7, 0usize..7), 0..7),
        choices in prop::collection::vec(0usize..8, 40),
    ) {
        let mut own = [plain(), graph(&[("a", &[]), ("b", &[]), ("c", &[])])].concat();
        for (from, to) in edges {
            let next = own[to].code.clone();
            if !own[from].next.contains(&next) {
                own[from].complete = false;
                own[from].next.push(next);
            }
        }
        // What nothing leads to is left out.
        let known: Vec<String> = own.iter().flat_map(|one| one.next.clone()).collect();
        own.retain(|one| one.code == CREATED || known.contains(&one.code));
        let Ok(flow) = Flow::check(own) else { return Ok(()) };
        let mut way = vec![CREATED.to_owned()];
        for choice in choices {
            let here = way.last().unwrap();
            let next = flow.after(here, NOTHING);
            let Some(next) = next.get(choice % next.len().max(1)) else { break };
            way.push(next.code.clone());
        }
        let gates: Vec<&String> = way.iter().filter(|code| *code == DISPATCHED || *code == STARTED).collect();
        prop_assert!(gates.len() <= 2 && gates.first().is_none_or(|first| *first == DISPATCHED));
        if flow.completes(way.last().unwrap()) {
            prop_assert_eq!(gates.len(), 2);
        }
    }
}
