//! Timers, effects and questions in memory.
//!
//! Nothing runs by itself: [`TestHost::run_due`] runs due tasks, [`TestHost::attempt`] begins an attempt of an effect,
//! and [`TestHost::settle`] reports its outcome.

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::exports::tenon::plugin::handler::{Outcome, Task, Verdict};
use crate::bindings::tenon::plugin::types::{Content, Principal, Response};
use crate::host::{Effect, OutgoingCall};

/// Maximum runs of a task that ends in a fault. The last run is marked as such.
pub const TASK_RUNS_MAX: u32 = 9;
const KEY_BYTES_MAX: usize = 128;
const DELAYS_MAX: usize = 32;
const QUESTIONS_MAX: usize = 16;
const ROUNDS_MAX: usize = 4;

/// A task that waits for its time.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingTask {
    pub tenant: String,
    pub name: String,
    pub key: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// One JSON text.
    pub payload: String,
    /// Outcome of the settled effect. Timers have none.
    pub outcome: Option<Outcome>,
    attempts: u32,
}

/// An effect that was started and is not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct StartedEffect {
    pub tenant: String,
    pub effect: Effect,
    /// Whether an attempt has begun, so that the effect can no longer be cancelled.
    pub attempted: bool,
}

/// Tenant, name and key of a task.
type TaskKey = (String, String, String);

#[derive(Clone, Default)]
pub(super) struct PendingWork {
    tasks: BTreeMap<TaskKey, WaitingTask>,
    /// Tasks of settled effects. They are separate from `tasks`, because an effect may have the name and key of a
    /// timer.
    settled: BTreeMap<TaskKey, WaitingTask>,
    effects: BTreeMap<TaskKey, StartedEffect>,
}

impl PendingWork {
    pub fn schedule(&mut self, tenant: &str, (name, key): (&str, &str), at: u64, payload: &str) {
        let waiting = new_task(tenant, (name, key), at, payload, None);
        self.tasks.insert(task_key(tenant, name, key), waiting);
    }

    pub fn cancel_task(&mut self, tenant: &str, name: &str, key: &str) -> bool {
        self.tasks.remove(&task_key(tenant, name, key)).is_some()
    }

    pub fn start_effect(&mut self, tenant: &str, effect: &Effect) -> bool {
        let entry_key = task_key(tenant, &effect.then, &effect.key);
        if self.effects.contains_key(&entry_key) || self.settled.contains_key(&entry_key) {
            return false;
        }
        let started = StartedEffect { tenant: tenant.to_owned(), effect: effect.clone(), attempted: false };
        self.effects.insert(entry_key, started);
        true
    }

    pub fn cancel_effect(&mut self, tenant: &str, then: &str, key: &str) -> bool {
        let entry_key = task_key(tenant, then, key);
        let can_be_cancelled = self.effects.get(&entry_key).is_some_and(|started| !started.attempted);
        can_be_cancelled && self.effects.remove(&entry_key).is_some()
    }

    fn due(&self, now: u64) -> Option<(TaskKey, WaitingTask)> {
        let all = self.tasks.iter().chain(&self.settled);
        let first = all.filter(|(_, task)| task.at <= now).min_by_key(|(_, task)| task.at);
        first.map(|(entry_key, task)| (entry_key.clone(), task.clone()))
    }

    fn put(&mut self, entry_key: TaskKey, task: WaitingTask) {
        let store = if task.outcome.is_some() { &mut self.settled } else { &mut self.tasks };
        store.insert(entry_key, task);
    }

    fn remove(&mut self, entry_key: &TaskKey, task: &WaitingTask) {
        let store = if task.outcome.is_some() { &mut self.settled } else { &mut self.tasks };
        store.remove(entry_key);
    }
}

/// Questions of the running call, and the function of the test that answers them.
#[derive(Default)]
pub(super) struct Questions {
    #[allow(clippy::type_complexity, reason = "a function of a test")]
    answers: Option<Box<dyn Fn(&OutgoingCall) -> Result<Response, String>>>,
    replies: BTreeMap<String, (OutgoingCall, Result<Response, String>)>,
    unanswered: BTreeMap<String, OutgoingCall>,
}

impl Questions {
    pub fn begin(&mut self) {
        self.replies.clear();
        self.unanswered.clear();
    }

    pub fn ask(&mut self, key: &str, call: &OutgoingCall) -> Option<Result<Response, String>> {
        let earlier = self.replies.get(key).map(|(known, _)| known).or_else(|| self.unanswered.get(key));
        assert!(earlier.is_none_or(|earlier| earlier == call), "question {key} was asked before with another call");
        if let Some((_, reply)) = self.replies.get(key) {
            return Some(reply.clone());
        }
        self.unanswered.insert(key.to_owned(), call.clone());
        assert!(
            self.unanswered.len() + self.replies.len() <= QUESTIONS_MAX,
            "a call asks at most {QUESTIONS_MAX} questions"
        );
        None
    }

    /// Answers the questions of this round.
    fn answer(&mut self) {
        assert!(!self.unanswered.is_empty(), "the plugin waits, but has asked no question");
        for (key, call) in std::mem::take(&mut self.unanswered) {
            let answers = self.answers.as_ref();
            let answers = answers.unwrap_or_else(|| panic!("no TestHost::answers for {}", call.destination));
            let reply = answers(&call);
            self.replies.insert(key, (call, reply));
        }
    }
}

impl TestHost {
    /// Sets the function that answers the plugin's questions.
    pub fn answers(self, answers: impl Fn(&OutgoingCall) -> Result<Response, String> + 'static) -> TestHost {
        self.questions.borrow_mut().answers = Some(Box::new(answers));
        self
    }

    /// Returns the waiting timers, ordered by tenant, name and key.
    pub fn tasks(&self) -> Vec<WaitingTask> {
        self.committed.borrow().pending.tasks.values().cloned().collect()
    }

    /// Schedules a timer of the default tenant.
    pub fn put_task(&self, name: &str, key: &str, at: u64, payload: &str) {
        self.check_task(name, key);
        self.committed.borrow_mut().pending.schedule(super::TENANT, (name, key), at, payload);
    }

    /// Returns the effects that were started and are not settled, ordered by tenant, task and key.
    pub fn effects(&self) -> Vec<StartedEffect> {
        self.committed.borrow().pending.effects.values().cloned().collect()
    }

    /// Begins an attempt of an effect of the default tenant, as the host does soon after the commit.
    pub fn attempt(&self, then: &str, key: &str) {
        let (mut state, entry_key) = (self.committed.borrow_mut(), task_key(super::TENANT, then, key));
        let started = state.pending.effects.get_mut(&entry_key);
        started.unwrap_or_else(|| panic!("no effect {then} {key} is in progress")).attempted = true;
    }

    /// Reports the outcome of an effect of any tenant. Its task is due at once.
    pub fn settle(&self, then: &str, key: &str, outcome: Outcome) {
        let (now, mut state) = (self.now(), self.committed.borrow_mut());
        let found = state.pending.effects.keys().find(|(_, name, id)| name == then && id == key).cloned();
        let entry_key = found.unwrap_or_else(|| panic!("no effect {then} {key} is in progress"));
        let context =
            state.pending.effects.remove(&entry_key).map(|started| started.effect.context).unwrap_or_default();
        let task = new_task(&entry_key.0, (then, key), now, &context, Some(outcome));
        state.pending.settled.insert(entry_key, task);
    }

    /// Runs all due tasks in order of time, including tasks that become due meanwhile, and returns the number of runs.
    /// Fails the test if a task ends in a fault.
    pub fn run_due(&self) -> usize {
        let mut runs = 0;
        while let Some(result) = self.run_one() {
            result.unwrap_or_else(|fault| panic!("a task ended in a fault: {fault}"));
            runs += 1;
            assert!(runs < 10_000, "tasks schedule tasks endlessly");
        }
        runs
    }

    /// Runs the first due task. Returns `None` if no task is due. `Err` is a fault: the task is retried a second later.
    /// The last run is marked as such, and a fault of that run removes the task.
    pub fn run_one(&self) -> Option<Result<(), String>> {
        let (entry_key, mut waiting) = self.committed.borrow().pending.due(self.now())?;
        self.committed.borrow_mut().pending.remove(&entry_key, &waiting);
        let task = to_task(&waiting, self.now());
        let verdict = self.run_rounds(&task);
        self.end(matches!(verdict, Ok(Verdict::Done)));
        match verdict {
            Ok(Verdict::Done) => {}
            Ok(Verdict::Later(at)) => {
                (waiting.at, waiting.attempts) = (at.max(self.now() + 1), 0);
                self.committed.borrow_mut().pending.put(entry_key, waiting);
            }
            Ok(Verdict::Wait) => panic!("a task waits for the {ROUNDS_MAX}th time"),
            Err(fault) => {
                (waiting.at, waiting.attempts) = (self.now() + 1_000, waiting.attempts + 1);
                if waiting.attempts < TASK_RUNS_MAX {
                    self.committed.borrow_mut().pending.put(entry_key, waiting);
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

    /// Repeats a call until it waits for no reply.
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

    /// Checks the contract's rules for names and keys of tasks.
    pub(super) fn check_task(&self, name: &str, key: &str) {
        let declared = self.plugin().tasks.iter().any(|task| task.name == name);
        assert!(declared, "task {name} is not declared in the manifest");
        assert!(
            (1..=KEY_BYTES_MAX).contains(&key.len()),
            "the key of a task must have 1 to {KEY_BYTES_MAX} bytes: {key:?}"
        );
    }

    pub(super) fn check_effect(&self, effect: &Effect) {
        self.check_task(&effect.then, &effect.key);
        assert!(effect.delays.len() <= DELAYS_MAX, "an effect must have at most {DELAYS_MAX} delays");
        serde_json::from_str::<serde::de::IgnoredAny>(&effect.context).expect("the context of an effect is JSON");
    }
}

/// Returns a response with a JSON body, for tests that answer questions and settle effects.
pub fn response(status: u16, body: &serde_json::Value) -> Response {
    Response { status, headers: Vec::new(), content: Content::Json(body.to_string()) }
}

fn new_task(tenant: &str, (name, key): (&str, &str), at: u64, payload: &str, outcome: Option<Outcome>) -> WaitingTask {
    let (tenant, name, key) = (tenant.to_owned(), name.to_owned(), key.to_owned());
    WaitingTask { tenant, name, key, at, payload: payload.to_owned(), outcome, attempts: 0 }
}

fn to_task(waiting: &WaitingTask, now: u64) -> Task {
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

fn task_key(tenant: &str, name: &str, key: &str) -> TaskKey {
    (tenant.to_owned(), name.to_owned(), key.to_owned())
}
