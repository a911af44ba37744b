//! What calls of every kind share: a place to run in, the commit, questions, the word for the operator.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::{
    sync::SemaphorePermit,
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use super::{
    Calls, Inputs,
    bulkhead::CallPermit,
    guest::{self, GuestFault, Input, Run},
    seeds,
    turns::Who,
};
use crate::{
    budget::{Charge, Payer},
    capability::{self, Questions, announce_dropped, log_limit::Admission},
    changes::{outgoing::OutgoingCall, scope::Scope},
    commit::{
        committer::{Changes, CommitError, Conflict, RegisteredReads, Turn},
        draft::{CallIdentity, Draft},
    },
    failure::Failure,
    fair::{Queueing, Request, cores::CoreUse},
    limits::{
        DURABLE_WAIT_MS, HELD_BYTES_MAX, HELD_STEP_BYTES, LOSSES_BEFORE_TURN, PLACE_WAIT_PERCENT, QUESTION_ROUNDS_MAX,
    },
    plugin::{
        estimate::MemoryEstimate,
        exchange::{Answer, Reply},
        generation::Generation,
    },
    secrets::password::PasswordWork,
};

/// A call on its way: what stays the same over all of its runs.
pub(super) struct Call<'a> {
    pub calls: &'a Calls,
    pub generation: &'a Generation,
    /// Of the route, or the name of the task.
    pub operation: &'a str,
    pub deadline: Instant,
    /// Party whose share of permits, memory and processor it uses: a tenant, or an address.
    payer: Payer,
    memory: &'a MemoryEstimate,
    /// Latest time of a permit for its first run: a call that begins later would hardly be answered in time.
    permit_by: Instant,
    pub inputs: Inputs,
    pub identity: CallIdentity,
}

/// Who calls, and what for.
pub(super) struct Caller<'a> {
    pub tenant: Arc<str>,
    pub payer: Payer,
    pub subject: Arc<str>,
    pub operation: &'a str,
    pub request_id: Arc<str>,
    pub hops: u8,
    /// Memory that such calls need.
    pub memory: &'a MemoryEstimate,
}

/// Permits that one run holds.
pub(super) struct RunPermits<'a> {
    _call: CallPermit,
    _own: CallPermit,
    _slots: SemaphorePermit<'a>,
    charge: Charge,
}

impl RunPermits<'_> {
    /// Gives the permit of the plugin and the slots back.
    pub fn into_charge(self) -> Charge {
        self.charge
    }
}

/// How a call fares against others, and what it has asked so far.
#[derive(Default)]
pub(super) struct Contest {
    runs: u32,
    losses: u32,
    rounds: u32,
    /// Bytes that the run before this one found no room for.
    memory_bytes: u64,
    /// The conflict for which the next run begins in a turn.
    lost: Option<Conflict>,
    turn: Option<Turn>,
    pub questions: Questions,
    /// Charges of the questions, of their replies, and of a small body.
    pub charges: Vec<Charge>,
}

impl Contest {
    /// Keeps the questions of the run that ended, those without a reply only if it `waits` for them.
    pub fn keep_questions(&mut self, questions: Questions, waits: bool) {
        self.questions = questions;
        if !waits {
            self.questions.forget_open();
        }
    }

    /// Whether the call has sent a question.
    pub fn has_questions(&self) -> bool {
        self.rounds > 0
    }
}

/// Why a run has no end yet, or none at all.
pub(super) enum Unsettled {
    /// Somebody else was first, a question has its reply now, or a password is computed.
    Again,
    Failed(Failure),
    /// The same; what broke was logged with its cause.
    Broken(Failure),
    /// See [`Ended::Outdated`](super::Ended::Outdated).
    Outdated,
}

impl<'a> Call<'a> {
    pub fn new(
        calls: &'a Calls,
        generation: &'a Generation,
        caller: Caller<'a>,
        deadline: Instant,
    ) -> Result<Call<'a>, Failure> {
        let seed = seeds::next().map_err(|error| {
            tracing::error!("the operating system gave no random numbers: {error}");
            Failure::Unavailable
        })?;
        let Caller { tenant, payer, subject, operation, request_id, memory, hops } = caller;
        let inputs = Inputs { request_id: request_id.clone(), now: calls.clock.now(), seed };
        let identity = CallIdentity {
            scope: Scope::new(generation.facts.plugin.clone(), tenant),
            model: generation.model.clone(),
            now: inputs.now,
            subject,
            operation: operation.into(),
            request_id,
            seed,
            hops,
        };
        let begun = Instant::now();
        let permit_by = begun + deadline.saturating_duration_since(begun) * PLACE_WAIT_PERCENT / 100;
        Ok(Call { calls, generation, operation, deadline, payer, memory, permit_by, inputs, identity })
    }

    /// Boxed: a draft has 1.7 kB, and a run passes it on a dozen times.
    pub fn begin(&self) -> Box<Draft> {
        Box::new(self.calls.committer.begin(self.identity.clone()))
    }

    /// Runs the guest once, with the replies so far. Permits are released when it ends; its charge is kept.
    pub async fn run<I: Input>(
        &self,
        input: &I,
        draft: Box<Draft>,
        contest: &mut Contest,
        permits: RunPermits<'_>,
    ) -> Run<I::Said> {
        let questions = std::mem::take(&mut contest.questions);
        let party = (self.generation.facts.plugin.clone(), self.payer.clone());
        let core = CoreUse::new(self.calls.cores.clone(), party);
        let start = guest::Start {
            inputs: &self.inputs,
            draft,
            questions,
            deadline: self.deadline,
            charge: permits.charge,
            core: core.clone(),
        };
        let run = {
            let run = pin!(guest::run(self.generation, input, start));
            let begin_by = if contest.runs > 1 { self.deadline } else { self.permit_by };
            core.watch(run, begin_by).await.unwrap_or_else(|| Run::cut_off(GuestFault::NoCore))
        };
        if let Some(bytes) = run.memory_bytes {
            self.memory.note(&self.payer, bytes);
        }
        run
    }

    /// Returns true if a run that found no memory may begin again with as much as it needed: it holds nothing while it waits.
    pub fn waits_for_memory(&self, fault: &GuestFault, contest: &mut Contest) -> bool {
        let GuestFault::Budget(bytes) = fault else { return false };
        let limit = self.calls.budget.calls_limit();
        let usual_max = self.generation.facts.limits.memory_bytes.saturating_add(HELD_BYTES_MAX).min(limit);
        let bytes = contest.memory_bytes.saturating_mul(2).min(usual_max).max(*bytes);
        let can_have = bytes > contest.memory_bytes && bytes <= limit;
        contest.memory_bytes = bytes;
        can_have
    }

    /// Bytes of an answer stay charged until they are on their way.
    pub fn keep_answer(&self, answer: Answer, charge: Option<Charge>) -> Reply {
        let bytes = answer.charged_bytes();
        Reply::Whole(answer, charge.map(|charge| self.calls.budget.keep_answer(charge, bytes)))
    }

    pub fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// A permit of the generation, memory, and slots of the plugin's part of the pool and of the pool; released before the
    /// disk, or a turn, is waited for. Only a first run may be refused, while there is time to answer: an admitted call is
    /// finished.
    pub async fn take_permits(&self, contest: &mut Contest) -> Result<RunPermits<'_>, Failure> {
        if let Some(lost) = contest.lost.take() {
            let taken = timeout_at(self.deadline, self.calls.committer.take_turn(&lost)).await;
            contest.turn = Some(taken.map_err(|_late| Failure::DeadlineExceeded)?);
        }
        contest.runs += 1;
        let is_first = contest.runs == 1;
        let (queueing, until) = match is_first {
            true => (Queueing::Bounded, self.permit_by),
            false => (Queueing::Reserved, self.deadline),
        };
        let _waiting = self.generation.metrics.wait();
        let call = self.generation.bulkhead.take_permit(&self.payer, queueing, until).await?;
        let budget = &self.calls.budget;
        let amount = self.memory.bytes(&self.payer).min(budget.estimate_max()).max(contest.memory_bytes);
        let charge = budget.charge_call(&self.payer, Request { amount, rank: 0, queueing }, until).await;
        let charge = charge.map_err(|_no_memory| Failure::Unavailable)?;
        let own = self.generation.pool.take_slots(&self.payer, self.generation.slots, until).await?;
        match timeout_at(until, self.calls.slots.acquire_many(self.generation.slots)).await {
            Ok(slots) => {
                let slots = slots.map_err(|_closed| Failure::Unavailable)?;
                Ok(RunPermits { _call: call, _own: own, _slots: slots, charge })
            }
            Err(_) => Err(Failure::DeadlineExceeded),
        }
    }

    /// `Ok`: all of it is on disk. Takes no turn after a conflict: the caller still holds its answer.
    pub async fn commit(&self, changes: Changes, contest: &mut Contest) -> Result<(), Unsettled> {
        let changes = changes.until(self.deadline);
        let bytes = changes.bytes();
        let committed = timeout_at(self.patience(), self.calls.committer.commit(changes, contest.turn.as_mut())).await;
        committed.unwrap_or(Err(CommitError::OutcomeUnknown)).map_err(|error| self.unsettled(error, contest))?;
        if let Some(scope) = &self.identity.scope {
            self.calls.disk.note_written(scope.tenant(), bytes);
        }
        Ok(())
    }

    /// Like [`Call::commit`] for a call that changed nothing; returns what it read, if that is unchanged.
    pub async fn register_reads(
        &self,
        changes: Changes,
        contest: &mut Contest,
    ) -> Result<Option<RegisteredReads>, Unsettled> {
        let registered = timeout_at(self.patience(), self.calls.committer.register_reads(changes)).await;
        registered.unwrap_or(Err(CommitError::OutcomeUnknown)).map_err(|error| self.unsettled(error, contest))
    }

    /// Latest time to wait for the disk.
    fn patience(&self) -> Instant {
        self.deadline.max(Instant::now()) + Duration::from_millis(DURABLE_WAIT_MS)
    }

    fn unsettled(&self, error: CommitError, contest: &mut Contest) -> Unsettled {
        match error {
            CommitError::Conflict(lost) => {
                contest.losses += 1;
                if (contest.losses >= LOSSES_BEFORE_TURN || lost.is_reserved()) && contest.turn.is_none() {
                    contest.lost = Some(lost);
                }
                Unsettled::Again
            }
            CommitError::Discarded => {
                // It ended when the change set was accepted.
                contest.turn = None;
                Unsettled::Again
            }
            CommitError::Late => Unsettled::Failed(Failure::DeadlineExceeded),
            CommitError::Busy => Unsettled::Failed(Failure::Unavailable),
            error => Unsettled::Broken(self.report(&error)),
        }
    }

    fn report(&self, error: &CommitError) -> Failure {
        tracing::error!(
            plugin = &*self.generation.facts.plugin,
            operation = self.operation,
            request_id = &*self.inputs.request_id,
            "commit failed: {error}"
        );
        match error {
            CommitError::OutcomeUnknown => Failure::OutcomeUnknown,
            CommitError::Poisoned(_) => Failure::PluginFailed,
            _ => Failure::Unavailable,
        }
    }

    /// Nothing of the run is kept but what it asked; the replies are there when it returns. `Err` where there was nothing to
    /// wait for, or it has waited often enough.
    pub async fn wait(&self, contest: &mut Contest) -> Result<(), GuestFault> {
        let is_open = contest.questions.open().next().is_some();
        let Some(scope) = self.identity.scope.as_ref().filter(|_| is_open) else {
            return Err(GuestFault::Waited("without an open question"));
        };
        contest.rounds += 1;
        contest.turn = None;
        if contest.rounds > QUESTION_ROUNDS_MAX {
            return Err(GuestFault::Waited("in more rounds than a call has"));
        }
        self.charge_questions(contest).await?;
        let replies = contest.questions.open().map(|(key, call)| self.settle_question(scope, key, call));
        for (key, reply, charge) in join_all(replies).await {
            contest.questions.reply(&key, reply);
            contest.charges.extend(charge);
        }
        Ok(())
    }

    /// Questions are held until the call ends, and so is their charge. Small ones are free, as while the call runs.
    async fn charge_questions(&self, contest: &mut Contest) -> Result<(), GuestFault> {
        let bytes = contest.questions.open_bytes() as u64;
        if bytes < HELD_STEP_BYTES {
            return Ok(());
        }
        let charge = self.calls.budget.charge_arrived(&self.payer, bytes).await;
        contest.charges.push(charge.ok_or(GuestFault::Budget(bytes))?);
        Ok(())
    }

    async fn settle_question(
        &self,
        scope: &Scope,
        key: &str,
        call: &OutgoingCall,
    ) -> (String, capability::Reply, Option<Charge>) {
        let (reply, charge) = self.charge_reply(self.ask(scope, call).await).await;
        (key.to_owned(), reply, charge)
    }

    /// A reply is held until the call ends. The plugin is answered "too-large" where its payer has no room for it.
    async fn charge_reply(&self, reply: capability::Reply) -> (capability::Reply, Option<Charge>) {
        let bytes = reply.as_ref().map_or(0, |answer| answer.content.bytes().len() as u64);
        match self.calls.budget.charge_arrived(&self.payer, bytes).await {
            Some(charge) => (reply, Some(charge)),
            None => (Err("too-large".to_owned()), None),
        }
    }

    /// Computes a password that a run ended for, in a turn of its tenant. Nothing of that run is kept. Whose turn does not come
    /// was turned away: that is the host's trouble, not the call's.
    pub async fn compute(&self, work: PasswordWork, contest: &mut Contest) -> Unsettled {
        contest.turn = None;
        let turn = timeout_at(self.deadline, self.calls.computing.take(self.who())).await;
        let Ok(Some(turn)) = turn else { return Unsettled::Failed(Failure::Unavailable) };
        let computed = spawn_blocking(move || {
            let outcome = work.compute();
            // It ends with the work, even where nobody waits for it any more.
            drop(turn);
            (work, outcome)
        });
        match computed.await {
            Ok((work, outcome)) => contest.questions.passwords.know(work, outcome),
            Err(error) => {
                tracing::error!("a password could not be computed: {error}");
                return Unsettled::Broken(Failure::Unavailable);
            }
        }
        Unsettled::Again
    }

    /// Party of its turns. Callers of open routes are told apart by their addresses.
    fn who(&self) -> Who {
        (self.generation.facts.plugin.clone(), self.payer.clone())
    }

    /// Waits for its turn among the questions of its tenant, and of all.
    async fn ask(&self, scope: &Scope, call: &OutgoingCall) -> capability::Reply {
        let turn = timeout_at(self.deadline, self.calls.asking.take(self.who())).await;
        let Ok(Some(_turn)) = turn else { return Err("timeout".to_owned()) };
        let within = self.deadline.saturating_duration_since(Instant::now());
        let reply = self.calls.destinations.call(scope, call, None, within).await;
        reply.map_err(|failure| {
            let operation = self.operation;
            tracing::info!(plugin = &**scope.plugin(), operation, "a question has no answer: {}", failure.words);
            failure.class.to_owned()
        })
    }

    /// For the operator; the failure that stands for it.
    pub fn log_fault(&self, fault: &GuestFault) -> Failure {
        let facts = &self.generation.facts;
        let (plugin, generation, request_id) = (&*facts.plugin, facts.generation, &*self.inputs.request_id);
        let text = fault.to_string();
        match facts.log.faults.admit(text.len()) {
            Admission::Write => {
                tracing::error!(plugin, generation, operation = self.operation, request_id, "plugin {plugin} {text}");
            }
            Admission::Announce => announce_dropped(plugin, generation, request_id),
            Admission::Drop => {}
        }
        self.generation.metrics.count_fault(fault.kind());
        match fault {
            GuestFault::Deadline => Failure::DeadlineExceeded,
            GuestFault::Database(_) | GuestFault::Budget(_) | GuestFault::NoCore => Failure::Unavailable,
            _ => Failure::PluginFailed,
        }
    }
}
