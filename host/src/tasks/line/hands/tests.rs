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

fn settled(name: &str) -> Result<(Arc<str>, Worked), JoinError> {
    Ok((Arc::from(name), Worked::Settled))
}

#[test]
fn reported_record_is_taken_up_without_a_search() {
    let mut hands = Hands::new(MOST);
    hands.receive(reported(&["a", "a", "b"]), NOW);
    assert!(!hands.must_look());
    assert_eq!(hands.take_up(), ids(&["a", "b"]));
}

#[test]
fn record_reported_while_it_is_at_work_is_taken_up_again() {
    let mut hands = Hands::new(MOST);
    hands.receive(reported(&["a"]), NOW);
    hands.take_up();
    hands.receive(reported(&["a"]), NOW);
    assert_eq!(hands.take_up(), ids(&[]), "it is at work");
    hands.put_down(settled("a"));
    assert_eq!(hands.take_up(), ids(&["a"]));
    hands.put_down(settled("a"));
    assert_eq!(hands.take_up(), ids(&[]));
}

#[test]
fn more_than_the_line_can_hold_is_searched_for() {
    let mut hands = Hands::new(MOST);
    hands.receive(reported(&["a", "b", "c", "d"]), NOW);
    assert_eq!(hands.take_up(), ids(&["a", "b"]));
    hands.put_down(settled("a"));
    assert!(hands.must_look());
    hands.found(FirstTasks { due: ids(&["b", "c", "d"]), next: None });
    assert_eq!(hands.take_up(), ids(&["c"]));
}

#[test]
fn later_record_is_searched_for_when_it_is_due() {
    let mut hands = Hands::new(MOST);
    hands.receive(Reported { next: Some(NOW + 5), ..reported(&["a"]) }, NOW);
    assert_eq!((hands.must_look(), hands.look_at()), (false, Some(NOW + 5)));
    hands.receive(Reported::default(), NOW + 5);
    hands.take_up();
    assert!(hands.must_look());
}

#[test]
fn postponed_record_is_searched_for_again() {
    let mut hands = Hands::new(MOST);
    hands.receive(reported(&["a"]), NOW);
    hands.take_up();
    hands.put_down(Ok((Arc::from("a"), Worked::Postponed)));
    assert!(hands.must_look());
}

#[test]
fn record_at_work_is_checked_again_after_unreported_commits() {
    let mut hands = Hands::new(MOST);
    hands.receive(reported(&["a"]), NOW);
    hands.take_up();
    hands.receive(partial(), NOW);
    hands.found(FirstTasks { due: ids(&["a"]), next: None });
    hands.put_down(settled("a"));
    assert_eq!(hands.take_up(), ids(&["a"]));
}

#[test]
fn failed_search_is_repeated() {
    let mut hands = Hands::new(MOST);
    hands.receive(partial(), NOW);
    assert!(hands.must_look());
    hands.fail_look(NOW + 1_000);
    assert_eq!((hands.must_look(), hands.next(NOW + 1_000)), (false, Some(NOW + 1_000)));
    hands.receive(Reported::default(), NOW + 1_000);
    assert!(hands.must_look());
}

proptest! {
    /// Records fall due, are taken up and put down in any order; in the end each was worked on after it last fell due.
    #[test]
    fn every_due_record_is_worked_on(steps in prop::collection::vec((0_u8..3, 0_u8..6), 1..200)) {
        let (mut hands, mut stored, mut at_work) = (Hands::new(MOST), IndexSet::new(), Vec::<Arc<str>>::new());
        for (step, number) in steps {
            let id: Arc<str> = number.to_string().into();
            match step {
                0 => {
                    stored.insert(id.clone());
                    hands.receive(Reported { due: vec![id], ..Reported::default() }, NOW);
                }
                1 => work(&mut hands, &mut stored, &mut at_work),
                _ => if let Some(id) = at_work.pop() {
                    hands.put_down(Ok((id, Worked::Settled)));
                },
            }
        }
        for _ in 0..20 {
            work(&mut hands, &mut stored, &mut at_work);
            at_work.drain(..).for_each(|id| hands.put_down(Ok((id, Worked::Settled))));
        }
        prop_assert!(stored.is_empty(), "left: {stored:?}");
    }
}

fn work(hands: &mut Hands, stored: &mut IndexSet<Arc<str>>, at_work: &mut Vec<Arc<str>>) {
    if hands.must_look() {
        hands.found(FirstTasks { due: stored.iter().take(hands.look_limit()).cloned().collect(), next: None });
    }
    for id in hands.take_up() {
        assert!(!at_work.contains(&id), "{id} is at work already");
        stored.shift_remove(&id);
        at_work.push(id);
    }
}
