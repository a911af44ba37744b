//! Timers, effects and questions in memory: what a test looks at, answers, and lets fall due.
//!
//! Nothing happens by itself: [`TestHost::run_due`] runs what is due, [`TestHost::attempt`] begins an effect,
//! [`TestHost::settle`] says what became of it.

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::exports::tenon::plugin::handler::{Outcome, Task, Verdict};
use crate::bindings::tenon::plugin::types::{Content, Principal, Response};
use crate::host::{Effect, OutgoingCall};

/// The host gives up after so many runs that faulted; the last run is marked as such.
pub const TASK_RUNS_MAX: u32 = 9;
const KEY_BYTES_MAX: usize = 128;
const DELAYS_MAX: usize = 32;
const QUESTIONS_MAX: usize = 16;
const ROUNDS_MAX: usize = 4;

/// A timer that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingTask {
    pub tenant: String,
    pub name: String,
    pub key: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// One JSON text.
    pub payload: String,
    /// Of an effect that is settled.
    pub outcome: Option<Outcome>,
    attempts: u32,
}

/// An effect that was started and is not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct StartedEffect {
    pub tenant: String,
    pub effect: Effect,
    /// An attempt has begun: it cannot be taken back any more.
    pub attempted: bool,
}

/// By tenant, name and key.
type Place = (String, String, String);

#[derive(Clone, Default)]
pub(super) struct Outside {
    tasks: BTreeMap<Place, WaitingTask>,
    /// Told to their tasks beside `tasks`: an effect may have the name and key of a timer.
    settled: BTreeMap<Place, WaitingTask>,
    effects: BTreeMap<Place, StartedEffect>,
}

impl Outside {
    pub fn schedule(&mut self, tenant: &str, (name, key): (&str, &str), at: u64, payload: &str) {
        let waiting = new_task(tenant, (name, key), at, payload, None);
        self.tasks.insert(place(tenant, name, key), waiting);
    }

    pub fn cancel(&mut self, tenant: &str, name: &str, key: &str) -> bool {
        self.tasks.remove(&place(tenant, name, key)).is_some()
    }

    pub fn start(&mut self, tenant: &str, effect: &Effect) -> bool {
        let place = place(tenant, &effect.then, &effect.key);
        if self.effects.contains_key(&place) || self.settled.contains_key(&place) {
            return false;
        }
        let started = StartedEffect { tenant: tenant.to_owned(), effect: effect.clone(), attempted: false };
        self.effects.insert(place, started);
        true
    }

    pub fn stop(&mut self, tenant: &str, then: &str, key: &str) -> bool {
        let place = place(tenant, then, key);
        let may_go = self.effects.get(&place).is_some_and(|started| !started.attempted);
        may_go && self.effects.remove(&place).is_some()
    }

    fn due(&self, now: u64) -> Option<(Place, WaitingTask)> {
        let all = self.tasks.iter().chain(&self.settled);
        let first = all.filter(|(_, task)| task.at <= now).min_by_key(|(_, task)| task.at);
        first.map(|(place, task)| (place.clone(), task.clone()))
    }

    fn put(&mut self, place: Place, task: WaitingTask) {
        let shelf = if task.outcome.is_some() { &mut self.settled } else { &mut self.tasks };
        shelf.insert(place, task);
    }

    fn remove(&mut self, place: &Place, task: &WaitingTask) {
        let shelf = if task.outcome.is_some() { &mut self.settled } else { &mut self.tasks };
        shelf.remove(place);
    }
}

/// What the running call has asked, and what stands behind the destinations.
#[derive(Default)]
pub(super) struct Questions {
    #[allow(clippy::type_complexity, reason = "a function of a test")]
    answers: Option<Box<dyn Fn(&OutgoingCall) -> Result<Response, String>>>,
    replies: BTreeMap<String, (OutgoingCall, Result<Response, String>)>,
    asked: BTreeMap<String, OutgoingCall>,
}

impl Questions {
    pub fn begin(&mut self) {
        self.replies.clear();
        self.asked.clear();
    }

    pub fn ask(&mut self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        let known = self.replies.get(key).map(|(asked, _)| asked).or_else(|| self.asked.get(key));
        assert!(known.is_none_or(|known| known == call), "question {key} was asked before with another call");
        if let Some((_, reply)) = self.replies.get(key) {
            return Some(reply.clone());
        }
        self.asked.insert(key.to_owned(), call.clone());
        assert!(
            self.asked.len() + self.replies.len() <= QUESTIONS_MAX,
            "a call asks at most {QUESTIONS_MAX} questions"
        );
        None
    }

    /// Answers what was asked in this round.
    fn answer(&mut self) {
        assert!(!self.asked.is_empty(), "the plugin waits, and has asked nothing");
        for (key, call) in std::mem::take(&mut self.asked) {
            let answers = self.answers.as_ref().unwrap_or_else(|| panic!("no test answers {}", call.destination));
            let reply = answers(&call);
            self.replies.insert(key, (call, reply));
        }
    }
}

impl TestHost {
    /// What answers the plugin's questions.
    pub fn answers(self, answers: impl Fn(&OutgoingCall) -> Result<Response, String> + 'static) -> TestHost {
        self.questions.borrow_mut().answers = Some(Box::new(answers));
        self
    }

    /// Timers that wait, in the order of tenant, name and key.
    pub fn tasks(&self) -> Vec<WaitingTask> {
        self.committed.borrow().outside.tasks.values().cloned().collect()
    }

    /// Puts a timer of the default tenant in place.
    pub fn put_task(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.check_task(name, key);
        self.committed.borrow_mut().outside.schedule(super::TENANT, (name, key), at, payload);
    }

    /// Effects that were started and are not settled, in the order of tenant, task and key.
    pub fn effects(&self) -> Vec<StartedEffect> {
        self.committed.borrow().outside.effects.values().cloned().collect()
    }

    /// Begins an attempt of an effect of the default tenant, as the host does soon after the commit.
    pub fn attempt(&self, then: &str, key: &str) {
        let (mut state, place) = (self.committed.borrow_mut(), place(super::TENANT, then, key));
        let started = state.outside.effects.get_mut(&place);
        started.unwrap_or_else(|| panic!("no effect {then} {key} is on its way")).attempted = true;
    }

    /// Says what became of an effect, whichever tenant has started it; its task is due at once.
    pub fn settle(&self, then: &str, key: &str, outcome: Outcome) {
        let (now, mut state) = (self.now(), self.committed.borrow_mut());
        let known = state.outside.effects.keys().find(|(_, name, of)| name == then && of == key).cloned();
        let place = known.unwrap_or_else(|| panic!("no effect {then} {key} is on its way"));
        let context = state.outside.effects.remove(&place).map(|started| started.effect.context).unwrap_or_default();
        let task = new_task(&place.0, (then, key), now, &context, Some(outcome));
        state.outside.settled.insert(place, task);
    }

    /// Runs everything that is due, in the order of time, and what becomes due by it. Gives how many runs there were. Ends
    /// the test where a task faults.
    pub fn run_due(&self) -> usize {
        let mut runs = 0;
        while let Some(result) = self.run_one() {
            result.unwrap_or_else(|fault| panic!("a task faulted: {fault}"));
            runs += 1;
            assert!(runs < 10_000, "tasks beget tasks without end");
        }
        runs
    }

    /// Runs the first task that is due. `Err` is a fault: it is tried again a second later, at last marked as the last.
    pub fn run_one(&self) -> Option<Result<(), String>> {
        let (place, mut waiting) = self.committed.borrow().outside.due(self.now())?;
        self.committed.borrow_mut().outside.remove(&place, &waiting);
        let task = fired(&waiting, self.now());
        let verdict = self.run_rounds(&task);
        self.end(matches!(verdict, Ok(Verdict::Done)));
        match verdict {
            Ok(Verdict::Done) => {}
            Ok(Verdict::Later(at)) => {
                (waiting.at, waiting.attempts) = (at.max(self.now() + 1), 0);
                self.committed.borrow_mut().outside.put(place, waiting);
            }
            Ok(Verdict::Wait) => panic!("a task waits for the {ROUNDS_MAX}th time"),
            Err(fault) => {
                (waiting.at, waiting.attempts) = (self.now() + 1_000, waiting.attempts + 1);
                if waiting.attempts < TASK_RUNS_MAX {
                    self.committed.borrow_mut().outside.put(place, waiting);
                }
                return Some(Err(fault));
            }
        }
        Some(Ok(()))
    }

    fn run_rounds(&self, task: &Task) -> Result<Verdict, String> {
        self.questions.borrow_mut().begin();
        let randomness = self.randomness();
        for _ in 0..ROUNDS_MAX {
            self.begin(&task.principal);
            self.repeat_randomness(randomness);
            match self.plugin().run(self, task) {
                Ok(Verdict::Wait) => self.questions.borrow_mut().answer(),
                verdict => return verdict,
            }
        }
        Ok(Verdict::Wait)
    }

    /// Calls until nothing is waited for.
    pub(super) fn in_rounds<T>(&self, principal: &Principal, mut call: impl FnMut() -> (T, bool)) -> T {
        self.questions.borrow_mut().begin();
        let randomness = self.randomness();
        for _ in 0..ROUNDS_MAX {
            self.begin(principal);
            self.repeat_randomness(randomness);
            let (answer, waits) = call();
            if !waits {
                return answer;
            }
            self.questions.borrow_mut().answer();
        }
        panic!("a call waits for the {ROUNDS_MAX}th time");
    }

    /// What the contract says of names and keys.
    pub(super) fn check_task(&self, name: &str, key: &str) {
        let declared = self.plugin().tasks.iter().any(|task| task.name == name);
        assert!(declared, "task {name} is not declared in the manifest");
        assert!((1..=KEY_BYTES_MAX).contains(&key.len()), "the key of a task has 1 to {KEY_BYTES_MAX} bytes: {key:?}");
    }

    pub(super) fn check_effect(&self, effect: &Effect) {
        self.check_task(&effect.then, &effect.key);
        assert!(effect.delays.len() <= DELAYS_MAX, "an effect has at most {DELAYS_MAX} delays");
        serde_json::from_str::<serde::de::IgnoredAny>(&effect.context).expect("the context of an effect is JSON");
    }
}

/// An answer with a JSON body, for tests that answer questions and settle effects.
pub fn response(status: u16, body: &serde_json::Value) -> Response {
    Response { status, headers: Vec::new(), content: Content::Json(body.to_string()) }
}

fn new_task(tenant: &str, (name, key): (&str, &str), at: u64, payload: &str, outcome: Option<Outcome>) -> WaitingTask {
    let (tenant, name, key) = (tenant.to_owned(), name.to_owned(), key.to_owned());
    WaitingTask { tenant, name, key, at, payload: payload.to_owned(), outcome, attempts: 0 }
}

fn fired(waiting: &WaitingTask, now: u64) -> Task {
    let environment = waiting.tenant.rsplit_once('/').map_or("", |(_, environment)| environment);
    Task {
        name: waiting.name.clone(),
        key: waiting.key.clone(),
        payload: waiting.payload.clone(),
        outcome: waiting.outcome.clone(),
        attempt: waiting.attempts + 1,
        last: waiting.attempts + 1 == TASK_RUNS_MAX,
        principal: Principal {
            tenant: waiting.tenant.clone(),
            environment: environment.to_owned(),
            kind: "system".to_owned(),
            subject: "task".to_owned(),
            scopes: Vec::new(),
            attributes: Vec::new(),
        },
        now,
    }
}

fn place(tenant: &str, name: &str, key: &str) -> Place {
    (tenant.to_owned(), name.to_owned(), key.to_owned())
}
