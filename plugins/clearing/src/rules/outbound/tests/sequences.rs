//! Invariants that hold after any sequence of commands.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_edge_is_invented_and_each_event_is_emitted_once(
        kind in proptest::sample::select(Kind::ALL.to_vec()),
        resolves: bool,
        story in proptest::collection::vec(proptest::sample::select(ALL.to_vec()), 0..14),
    ) {
        let route = if resolves && kind.is_authorised() { Route::Determine } else { Route::Send(None) };
        let begun = begin(kind, route);
        let (mut record, mut moves, mut effects) = (begun.record, begun.moves, begun.effects);
        for happens in story {
            if let Ok(step) = happen(record.clone(), happens) {
                record = step.record;
                moves.extend(step.moves);
                effects.extend(step.effects);
            }
        }
        prop_assert!(moves.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert!(moves.iter().all(|(from, to)| from.may_become(*to)));
        let events: Vec<&str> =
            effects.iter().filter_map(|effect| if let Effect::Emit(event) = effect { Some(event.name()) } else { None }).collect();
        let once: std::collections::BTreeSet<&&str> = events.iter().collect();
        prop_assert_eq!(once.len(), events.len(), "emitted twice: {:?}", &events);
    }

    #[test]
    fn response_and_acknowledgement_may_cross(
        more in proptest::collection::vec(proptest::sample::select(vec![Taken, Approved, DueEarly]), 0..5),
        seed in proptest::sample::select(vec![[Taken, Approved], [Approved, Taken]]),
    ) {
        let begun = begin(Kind::Authorisation, Route::Send(None)).record;
        let story = [seed.as_slice(), more.as_slice()].concat();
        prop_assert_eq!(after(&begun, &story), after(&begun, &[Taken, Approved]));
    }
}
