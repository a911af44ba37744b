//! Invariants that hold after any sequence of commands.

use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

const STARTS: [Kind; 4] = [Kind::Authorisation, Kind::AuthorisationSync, Kind::CreditTransfer, Kind::DirectDebit];

/// Everything that happened to one payment.
struct Life {
    record: Inbound,
    balances: BTreeMap<String, i128>,
    postings: Vec<String>,
    said: Vec<Outcome>,
    moves: Vec<(State, State)>,
}

impl Life {
    fn begin(kind: Kind) -> Life {
        let step = receive(payment(kind), Budgets::default(), NOW_MS).unwrap();
        let (balances, postings, said, moves) = Default::default();
        let record = step.record.clone();
        let mut life = Life { record, balances, postings, said, moves };
        life.take(step);
        life
    }

    fn go_on(&mut self, happens: Happens) {
        if let Ok(step) = happen(self.record.clone(), happens) {
            self.take(step);
        }
    }

    fn take(&mut self, step: Step<Inbound>) {
        self.record = step.record;
        self.moves.extend(step.moves);
        for effect in step.effects {
            match effect {
                Effect::Post(posting) => {
                    self.postings.push(posting.id());
                    *self.balances.entry(posting.debit.name()).or_default() -= i128::from(posting.minor);
                    *self.balances.entry(posting.credit.name()).or_default() += i128::from(posting.minor);
                }
                Effect::Send { message: Message::Response { outcome, .. }, .. } => self.said.push(outcome),
                _ => {}
            }
        }
    }

    /// Returns the sum of the accounts whose names begin so.
    fn on(&self, account: &str) -> i128 {
        self.balances.iter().filter(|(name, _)| name.starts_with(account)).map(|(_, balance)| balance).sum()
    }
}

fn any_happens() -> impl Strategy<Value = Happens> {
    proptest::sample::select(ALL.to_vec())
}

/// Commands that may come in any order without changing how it ends, each at least once.
fn in_any_order(needed: &'static [Happens]) -> impl Strategy<Value = Vec<Happens>> {
    let harmless = [needed, &[DueEarly, OverdueEarly, Overdue, Contradicts]].concat();
    proptest::collection::vec(proptest::sample::select(harmless), 0..6)
        .prop_map(move |more| [needed, more.as_slice()].concat())
        .prop_shuffle()
}

proptest! {
    #[test]
    fn no_money_is_made_and_no_edge_invented(
        kind in proptest::sample::select(STARTS.to_vec()),
        story in proptest::collection::vec(any_happens(), 0..12),
    ) {
        let mut life = Life::begin(kind);
        for happens in story {
            life.go_on(happens);
            prop_assert_eq!(life.balances.values().sum::<i128>(), 0);
        }
        prop_assert!(life.moves.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert!(life.moves.iter().all(|(from, to)| from.may_become(*to)));
        let once: std::collections::BTreeSet<&String> = life.postings.iter().collect();
        prop_assert_eq!(once.len(), life.postings.len(), "posted twice: {:?}", &life.postings);
        prop_assert!(life.said.len() <= 1, "said {:?}", &life.said);
    }

    #[test]
    fn the_books_say_what_the_state_says(
        kind in proptest::sample::select(STARTS.to_vec()),
        story in proptest::collection::vec(any_happens(), 0..12),
    ) {
        let mut life = Life::begin(kind);
        story.into_iter().for_each(|happens| life.go_on(happens));
        let record = &life.record;
        let approved = matches!(record.decision, Decision::Approved(_));
        let (held, unapplied, customer) = match (kind, record.state) {
            (Kind::CreditTransfer, State::Completed) if approved => (0, 0, 10_050),
            (Kind::CreditTransfer, _) if matches!(record.decision, Decision::Rejected(_)) => (0, 0, 0),
            (Kind::CreditTransfer, _) => (0, 10_050, 0),
            (Kind::DirectDebit, State::Approved) => (0, 0, -10_050),
            (_, State::Completed) => (0, 0, 10_050),
            (_, State::Approved) if record.completion.is_none() => (10_050, 0, 0),
            _ => (0, 0, 0),
        };
        prop_assert_eq!((life.on("held/"), life.on("unapplied/"), life.on("customer/")), (held, unapplied, customer));
    }

    #[test]
    fn a_completion_may_overtake_the_approval(story in in_any_order(&[Approve, Settled])) {
        let mut life = Life::begin(Kind::Authorisation);
        story.into_iter().for_each(|happens| life.go_on(happens));
        prop_assert_eq!(&life.record, &after(Kind::Authorisation, &[Approve, Settled]));
        prop_assert_eq!((life.balances["held/62001"], life.balances["customer/62001"]), (0, 10_050));
    }

    #[test]
    fn what_is_not_settled_is_released_in_any_order(story in in_any_order(&[Approve, Unsettled])) {
        let mut life = Life::begin(Kind::Authorisation);
        story.into_iter().for_each(|happens| life.go_on(happens));
        prop_assert_eq!(&life.record, &after(Kind::Authorisation, &[Approve, Unsettled]));
        prop_assert_eq!((life.on("held/"), life.on("customer/"), life.on("settlement/")), (0, 0, 0));
    }
}
