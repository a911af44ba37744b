//! Every message and timer in every situation, through the handlers, against the rules themselves: a situation is whatever a
//! few happenings lead to, and after each of them the host must show the record that the rules say, and nothing else.

mod inbound;
mod outbound;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rules::books::Posting;
use crate::rules::simulation::random::Random;
use crate::rules::step::{Effect, Timer};

/// Longer ones than every pair, drawn by a seed.
const DRAWN: usize = 150;

/// Every one and every two of these, and some longer sequences.
fn stories<T: Copy>(all: &[T]) -> Vec<Vec<T>> {
    let pairs = all.iter().flat_map(|first| all.iter().map(|second| vec![*first, *second]));
    let mut random = Random::of_seed(all.len() as u64);
    let mut draw = |length| (0..length).map(|_| all[random.below(all.len() as u64) as usize]).collect();
    let drawn: Vec<Vec<T>> = (0..DRAWN).map(|nth| draw(3 + nth % 4)).collect();
    std::iter::once(Vec::new()).chain(all.iter().map(|one| vec![*one])).chain(pairs).chain(drawn).collect()
}

/// What the effects of the rules' steps add up to.
#[derive(Clone, Default)]
struct Ledger {
    timers: BTreeMap<&'static str, u64>,
    balances: BTreeMap<String, i128>,
    events: Vec<&'static str>,
    /// The message that is on its way, if one is.
    sent: bool,
}

impl Ledger {
    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Schedule { timer, at_ms } => drop(self.timers.insert(timer.name(), at_ms)),
                Effect::Cancel(timer) => drop(self.timers.remove(timer.name())),
                Effect::Send { .. } => self.sent = true,
                Effect::Post(posting) => self.post(&posting),
                Effect::Emit(event) => self.events.push(event.name()),
                Effect::Notify { .. } => panic!("no bank's own system is asked here"),
            }
        }
    }

    fn post(&mut self, posting: &Posting) {
        *self.balances.entry(posting.debit.name()).or_default() -= i128::from(posting.minor);
        *self.balances.entry(posting.credit.name()).or_default() += i128::from(posting.minor);
    }

    /// The first timer that is due: the earliest, of several the first by name, as the host in memory has it.
    fn next_due(&mut self, now_ms: u64) -> Option<Timer> {
        let due = self.timers.iter().filter(|(_, at_ms)| **at_ms <= now_ms).min_by_key(|(_, at_ms)| **at_ms);
        let name = *due?.0;
        self.timers.remove(name);
        let all = [Timer::Decide, Timer::DecisionBudget, Timer::Completion, Timer::Determination, Timer::Response];
        all.into_iter().find(|timer| timer.name() == name)
    }
}

/// Of a shown transaction: all but when and how it came to be so.
fn essence(mut shown: Value) -> Value {
    let members = shown.as_object_mut().unwrap();
    members.remove("history");
    members.remove("received_at");
    shown
}
