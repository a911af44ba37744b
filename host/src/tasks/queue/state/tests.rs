use proptest::prelude::*;

use super::*;

const MOST: usize = 2;
const NOW: Timestamp = 100;

fn ids(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

fn reported(names: &[&str]) -> Reported {
    Reported { due: ids(names), next: None, is_partial: false }
}

fn partial() -> Reported {
    Reported { is_partial: true, ..Reported::default() }
}

fn settled(name: &str) -> Result<(Arc<str>, WorkOutcome), JoinError> {
    Ok((Arc::from(name), WorkOutcome::Settled))
}

#[test]
fn reported_record_is_started_without_a_search() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a", "a", "b"]), NOW);
    assert!(!state.must_search());
    assert_eq!(state.start_due(), ids(&["a", "b"]));
}

#[test]
fn record_reported_while_it_is_running_is_started_again() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a"]), NOW);
    state.start_due();
    state.receive(reported(&["a"]), NOW);
    assert_eq!(state.start_due(), ids(&[]), "it is running");
    state.finish(settled("a"));
    assert_eq!(state.start_due(), ids(&["a"]));
    state.finish(settled("a"));
    assert_eq!(state.start_due(), ids(&[]));
}

#[test]
fn records_beyond_the_limit_of_the_queue_are_searched_for() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a", "b", "c", "d"]), NOW);
    assert_eq!(state.start_due(), ids(&["a", "b"]));
    state.finish(settled("a"));
    assert!(state.must_search());
    state.found(FirstTasks { due: ids(&["b", "c", "d"]), next: None });
    assert_eq!(state.start_due(), ids(&["c"]));
}

#[test]
fn later_record_is_searched_for_when_it_is_due() {
    let mut state = QueueState::new(MOST);
    state.receive(Reported { next: Some(NOW + 5), ..reported(&["a"]) }, NOW);
    assert_eq!((state.must_search(), state.next_search()), (false, Some(NOW + 5)));
    state.receive(Reported::default(), NOW + 5);
    state.start_due();
    assert!(state.must_search());
}

#[test]
fn postponed_record_is_searched_for_again() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a"]), NOW);
    state.start_due();
    state.finish(Ok((Arc::from("a"), WorkOutcome::Postponed)));
    assert!(state.must_search());
}

#[test]
fn record_that_was_not_due_is_searched_for_again() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a"]), NOW);
    state.start_due();
    state.receive(reported(&["a"]), NOW);
    state.finish(Ok((Arc::from("a"), WorkOutcome::NotDue)));
    assert!(state.must_search());
    state.found(FirstTasks { due: ids(&[]), next: Some(NOW + 5) });
    assert_eq!(state.next_search(), Some(NOW + 5));
}

#[test]
fn all_free_slots_are_filled_from_the_backlog() {
    let mut state = QueueState::new(MOST);
    state.receive(partial(), NOW);
    state.found(FirstTasks { due: ids(&["a", "b", "c"]), next: None });
    state.start_due();
    state.finish(settled("a"));
    state.finish(settled("b"));
    assert!(state.must_search(), "one is known, and two may start");
    state.found(FirstTasks { due: ids(&["c", "d", "e"]), next: None });
    assert_eq!(state.start_due(), ids(&["c", "d"]));
}

#[test]
fn running_record_is_checked_again_after_unreported_commits() {
    let mut state = QueueState::new(MOST);
    state.receive(reported(&["a"]), NOW);
    state.start_due();
    state.receive(partial(), NOW);
    state.found(FirstTasks { due: ids(&["a"]), next: None });
    state.finish(settled("a"));
    assert_eq!(state.start_due(), ids(&["a"]));
}

#[test]
fn failed_search_is_repeated() {
    let mut state = QueueState::new(MOST);
    state.receive(partial(), NOW);
    assert!(state.must_search());
    state.search_failed(NOW + 1_000);
    assert_eq!((state.must_search(), state.next(NOW + 1_000)), (false, Some(NOW + 1_000)));
    state.receive(Reported::default(), NOW + 1_000);
    assert!(state.must_search());
}

proptest! {
    /// Records become due, start and finish in any order. In the end, each was worked on after it last became due.
    #[test]
    fn every_due_record_is_worked_on(steps in prop::collection::vec((0_u8..3, 0_u8..6), 1..200)) {
        let (mut state, mut stored, mut at_work) = (QueueState::new(MOST), IndexSet::new(), Vec::<Arc<str>>::new());
        for (step, number) in steps {
            let id: Arc<str> = number.to_string().into();
            match step {
                0 => {
                    stored.insert(id.clone());
                    state.receive(Reported { due: vec![id], ..Reported::default() }, NOW);
                }
                1 => work(&mut state, &mut stored, &mut at_work),
                _ => if let Some(id) = at_work.pop() {
                    state.finish(Ok((id, WorkOutcome::Settled)));
                },
            }
        }
        for _ in 0..20 {
            work(&mut state, &mut stored, &mut at_work);
            at_work.drain(..).for_each(|id| state.finish(Ok((id, WorkOutcome::Settled))));
        }
        prop_assert!(stored.is_empty(), "left: {stored:?}");
    }
}

fn work(state: &mut QueueState, stored: &mut IndexSet<Arc<str>>, at_work: &mut Vec<Arc<str>>) {
    if state.must_search() {
        state.found(FirstTasks { due: stored.iter().take(state.search_limit()).cloned().collect(), next: None });
    }
    for id in state.start_due() {
        assert!(!at_work.contains(&id), "{id} is running already");
        stored.shift_remove(&id);
        at_work.push(id);
    }
}
