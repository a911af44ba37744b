//! Every message in every situation of a payment, on each side, over HTTP. The rules themselves say which situations there are
//! and what each message comes to in them; the host must answer and show the same.
//!
//! All payments of a stage share one clock: they are told in rounds, and before one of the rounds everything may be late.

mod partner;
mod platform;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use clearing::rules::{
    invalid::Field,
    limits::DELIVERY_REPEATS_MS,
    message::Raw,
    state::State,
    step::{Effect, Message, Reply, Timer},
};
use serde_json::Value;
use tenon::admin::wire::TimestampText;

use super::{
    coverage::Side,
    look::{at_once, edges},
    stage::Stage,
};
use crate::support::Response;

/// Behind every time of every scheme.
const LATE_MS: u64 = 4_000_000;
/// Those that lead to a situation, and the last, in which a message is tried.
const ROUNDS: usize = 3;
const NEVER: usize = ROUNDS;

/// A payment of one side, as the rules alone move it.
trait Ruled: Clone + PartialEq {
    type Told: Copy + Debug + 'static;
    const ALL: &'static [Self::Told];
    const SIDE: Side;

    fn uetr(&self) -> &str;
    /// Whether the rules take it; what they refuse changes nothing.
    fn tell(&mut self, told: Self::Told) -> bool;
    fn pass_ms(&mut self, milliseconds: u64);
    /// The same over HTTP.
    async fn send(&self, stage: &Stage, told: Self::Told) -> Response;
    /// Members of the transaction as it must be shown.
    fn expected(&self) -> Value;
    fn done(&self) -> &Done;
}

/// What is told in each round, if anything is.
type Story<T> = Vec<Option<T>>;

/// In each situation each message. What changes nothing leads to no situation; `late`: before which round.
fn stories<R: Ruled>(begun: &R, late: usize) -> Vec<Story<R::Told>> {
    let mut situations: Vec<(Story<R::Told>, R)> = vec![(Vec::new(), begun.clone())];
    for round in 0..ROUNDS {
        if round == late {
            situations.iter_mut().for_each(|(_, ruled)| ruled.pass_ms(LATE_MS));
        }
        if round + 1 < ROUNDS {
            situations = one_further(&situations);
        }
    }
    let tried = |(story, _): (Story<R::Told>, R)| {
        R::ALL.iter().map(move |told| [story.as_slice(), &[Some(*told)]].concat()).collect::<Vec<_>>()
    };
    situations.into_iter().flat_map(tried).collect()
}

fn one_further<R: Ruled>(situations: &[(Story<R::Told>, R)]) -> Vec<(Story<R::Told>, R)> {
    let mut further: Vec<(Story<R::Told>, R)> = Vec::new();
    for (story, ruled) in situations {
        let all = R::ALL.iter().map(|told| Some(*told));
        for told in std::iter::once(None).chain(all) {
            let mut next = ruled.clone();
            let is_told = told.is_none_or(|told| next.tell(told));
            if is_told && further.iter().all(|(_, known)| *known != next) {
                further.push(([story.as_slice(), &[told]].concat(), next));
            }
        }
    }
    further
}

/// Tells all of them their stories, and compares what is answered and shown. Gives back what they have become.
async fn play<R: Ruled>(stage: &Stage, mut payments: Vec<(R, Story<R::Told>)>, late: usize) -> Vec<R> {
    for round in 0..ROUNDS {
        if round == late {
            stage.pass_ms(LATE_MS).await;
            payments.iter_mut().for_each(|(ruled, _)| ruled.pass_ms(LATE_MS));
        }
        let answers = payments.iter().map(async |(ruled, story)| match story[round] {
            Some(told) => Some((told, ruled.send(stage, told).await)),
            None => None,
        });
        let answers = at_once(answers).await;
        stage.rest().await;
        for ((ruled, story), answer) in payments.iter_mut().zip(answers) {
            let Some((told, answer)) = answer else { continue };
            let (before, is_taken) = (ruled.expected(), ruled.tell(told));
            let said = (answer.status < 300, answer.status == 422);
            assert_eq!(said, (is_taken, !is_taken), "{story:?}, round {round} of {before}: {}", answer.text());
        }
    }
    check_shown(stage, &payments).await;
    check_events(stage, &payments).await;
    check_timers(stage, &payments).await;
    payments.into_iter().map(|(ruled, _)| ruled).collect()
}

async fn check_shown<R: Ruled>(stage: &Stage, payments: &[(R, Story<R::Told>)]) {
    let all = stage.staff(R::SIDE).all("/v1/clearing/transactions", "transactions").await;
    assert_eq!(all.len(), payments.len());
    let all: BTreeMap<&str, &Value> = all.iter().map(|shown| (shown["uetr"].as_str().unwrap(), shown)).collect();
    for (ruled, story) in payments {
        let (shown, expected) = (all[ruled.uetr()], ruled.expected());
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&shown[member], value, "{member} after {story:?}: {shown:#}\n{expected:#}");
        }
        let taken = ruled.done().edges.iter().map(|(from, to)| (from.name().to_owned(), to.name().to_owned()));
        assert_eq!(edges(shown), taken.collect::<Vec<_>>(), "{story:?}");
    }
}

async fn check_events<R: Ruled>(stage: &Stage, payments: &[(R, Story<R::Told>)]) {
    let mut emitted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in stage.host.events().await {
        emitted.entry(event.subject).or_default().push(event.event_type);
    }
    for (ruled, story) in payments {
        let names = emitted.remove(ruled.uetr()).unwrap_or_default();
        assert_eq!(names, ruled.done().events, "{story:?}");
    }
}

/// What waits, and until when; but decisions that are tried again are the host's business.
async fn check_timers<R: Ruled>(stage: &Stage, payments: &[(R, Story<R::Told>)]) {
    let mut waiting: BTreeMap<String, String> = BTreeMap::new();
    for timer in stage.tasks("timer").await {
        let [id, due_at] = ["id", "due_at"].map(|member| timer[member].as_str().unwrap_or_default().to_owned());
        waiting.insert(id, due_at);
    }
    waiting.retain(|id, _| !id.starts_with("decide:"));
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for (ruled, _) in payments {
        let timers = ruled.done().timers.iter();
        expected.extend(
            timers.map(|(timer, at)| (format!("{}:{}", timer.name(), ruled.uetr()), TimestampText(*at).to_string())),
        );
    }
    assert_eq!(waiting, expected);
}

/// The states that any of them is in.
fn states<R: Ruled>(payments: &[R]) -> Vec<String> {
    let states = payments.iter().map(|ruled| ruled.expected()["state"].as_str().unwrap().to_owned());
    states.collect::<BTreeSet<String>>().into_iter().collect()
}

/// What the steps of a payment have led to besides its record.
#[derive(Clone, Debug, Default, PartialEq)]
struct Done {
    timers: BTreeMap<Timer, u64>,
    balances: BTreeMap<String, i128>,
    events: Vec<&'static str>,
    edges: Vec<(State, State)>,
    /// Notifications of the bank's own system.
    notices: usize,
}

/// A message that goes out.
struct Sent {
    message: Message,
    /// Until it is taken or refused, not for three seconds only.
    is_lasting: bool,
}

impl Done {
    fn take(&mut self, moves: Vec<(State, State)>, effects: Vec<Effect>) -> Option<Sent> {
        self.edges.extend(moves);
        let mut sent = None;
        for effect in effects {
            match effect {
                Effect::Schedule { timer, at_ms } => drop(self.timers.insert(timer, at_ms)),
                Effect::Cancel(timer) => drop(self.timers.remove(&timer)),
                Effect::Emit(event) => self.events.push(event.name()),
                Effect::Notify { .. } => self.notices += 1,
                Effect::Post(posting) => {
                    *self.balances.entry(posting.debit.name()).or_default() -= i128::from(posting.minor);
                    *self.balances.entry(posting.credit.name()).or_default() += i128::from(posting.minor);
                }
                Effect::Send { message, pauses, .. } => {
                    sent = Some(Sent { message, is_lasting: pauses.between_ms == DELIVERY_REPEATS_MS });
                }
            }
        }
        sent
    }

    /// Those that are due, which are no longer waiting then.
    fn due(&mut self, now_ms: u64) -> Vec<Timer> {
        let due: Vec<Timer> = self.timers.iter().filter(|(_, at)| **at <= now_ms).map(|(timer, _)| *timer).collect();
        self.timers.retain(|_, at_ms| *at_ms > now_ms);
        due
    }
}

/// What the peer is told by the uetr: a digit of it, counted from its end.
fn digit(uetr: &str, from_end: usize) -> usize {
    usize::from(uetr.as_bytes()[uetr.len() - 1 - from_end] - b'0')
}

/// As the plugin reads it.
fn raw(body: &Value) -> Raw {
    Field::ALL.into_iter().fold(Raw::default(), |raw, field| match &body[field.name()] {
        Value::Null => raw,
        Value::String(text) => raw.with(field, text.as_str()),
        number => raw.with(field, number.to_string()),
    })
}

/// Of a message that got this status, if it ever comes to an end.
fn reply(status: u16, is_lasting: bool) -> Option<Reply> {
    let reply = Reply::of_status(Some(status));
    let ends = matches!(reply, Reply::Accepted | Reply::Refused) || !is_lasting;
    ends.then_some(reply)
}
