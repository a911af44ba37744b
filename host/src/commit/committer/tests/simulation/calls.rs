//! The calls of the simulation: their operations, and the values that they read.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::changes::change_set::IdempotencyRecord;
use crate::changes::envelope::Envelope;
use crate::commit::committer::{CommitError, Committer};
use crate::commit::draft::{CallIdentity, Draft, DraftError, LedgerError, RecordError};
use crate::commit::testing::{call as identity, number, transfer};
use crate::db::model::DataModel;

use super::stepper::{Phase, pause};

pub const BANK: &str = "bank";

/// An operation of a call. Titles are unique. `None` writes a record without a title.
#[derive(Clone, Debug)]
pub enum Op {
    Read { id: String },
    Write { id: String, title: Option<String> },
    Delete { id: String },
    Transfer { id: String, from: String, to: String, amount: u32 },
    IdempotencyKey { name: String },
    Guard { name: String },
}

/// The operations of one run, and the value that each of them read.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    pub ops: Vec<Op>,
    pub seen: Vec<String>,
}

/// A call and one of its runs. The subject of the event that the run emits has the same two numbers.
pub type RunId = (u64, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Acknowledged(RunId),
    /// The call must not have been committed.
    Failed,
    /// The caller was dropped, or got `OutcomeUnknown`.
    Unknown,
    /// The call changed nothing.
    ReadOnly,
}

#[derive(Default)]
pub struct Log {
    pub attempts: BTreeMap<RunId, Attempt>,
    pub ends: BTreeMap<u64, End>,
    /// Idempotency records that an acknowledged call has read.
    pub records_read: BTreeSet<String>,
    pub conflicts: u64,
    pub discarded: u64,
}

/// Operations and inputs of one call.
pub struct Plan {
    pub call: u64,
    pub ops: Vec<Op>,
    /// The call refuses in the end.
    pub refuses: bool,
    pub model: Arc<DataModel>,
}

pub struct CallContext {
    pub committer: Committer,
    pub log: Rc<RefCell<Log>>,
    pub phase: Rc<Cell<Phase>>,
}

/// Performs a call like the host: runs it again after a conflict. A conflict in the fourth run or later
/// also reserves its keys.
pub async fn perform(context: CallContext, plan: Plan) -> End {
    let mut reservation = None;
    for run in 1..10_000 {
        let identity = CallIdentity { seed: [0; 32], ..identity(&plan.model, "acme/test") };
        let mut draft = context.committer.begin(seeded(identity, plan.call));
        let mut attempt = Attempt { ops: plan.ops.clone(), seen: Vec::new() };
        let mut record = None;
        for op in &plan.ops {
            context.phase.set(Phase::Database);
            let seen = apply(&mut draft, op).await;
            context.phase.set(Phase::Elsewhere);
            match seen {
                Ok(seen) => attempt.seen.push(seen),
                Err(DraftError::Database(_)) => return End::Failed,
                Err(error) => panic!("{error}"),
            }
            if let Op::IdempotencyKey { name } = op {
                if attempt.seen.last().is_some_and(|seen| seen == "stored") {
                    return repeat(&context, draft, name).await;
                }
                record = Some(IdempotencyRecord {
                    name: name.as_str().into(),
                    fingerprint: [1; 32],
                    sealed: Arc::from([1_u8]),
                });
            }
            pause().await;
        }
        let id = (plan.call, run);
        let subject = format!("{}-{run}", plan.call);
        draft.emit(&Envelope::default(), ("call", &subject), "{}", None).unwrap();
        context.log.borrow_mut().attempts.insert(id, attempt);
        let changes = if plan.refuses { draft.into_refusal() } else { draft.into_changes(record) };
        match context.committer.commit(changes, reservation.as_mut()).await {
            Ok(()) if plan.refuses => return End::ReadOnly,
            Ok(()) => return End::Acknowledged(id),
            Err(CommitError::Conflict(conflict)) => {
                context.log.borrow_mut().conflicts += 1;
                if run >= 4 && reservation.is_none() {
                    reservation = Some(context.committer.reserve(&conflict).await);
                }
            }
            Err(CommitError::Discarded) => {
                context.log.borrow_mut().discarded += 1;
                reservation = None;
            }
            Err(CommitError::OutcomeUnknown) => return End::Unknown,
            Err(CommitError::Unavailable(_)) => return End::Failed,
            // A failpoint hit it twice while it was alone in its batch.
            Err(CommitError::Poisoned(reason)) if reason.contains("failpoint") => return End::Failed,
            Err(error) => panic!("{error}"),
        }
        pause().await;
    }
    panic!("a call never commits")
}

/// Returns the identity with a seed and a time that depend only on the call, so that every run of it has the same ids.
fn seeded(identity: CallIdentity, call: u64) -> CallIdentity {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&call.to_be_bytes());
    CallIdentity { seed, now: 1_000 + call, ..identity }
}

async fn repeat(context: &CallContext, draft: Draft, name: &str) -> End {
    match context.committer.commit(draft.into_refusal(), None).await {
        Ok(()) => {
            context.log.borrow_mut().records_read.insert(name.to_owned());
            End::ReadOnly
        }
        Err(_) => End::Failed,
    }
}

async fn apply(draft: &mut Draft, op: &Op) -> Result<String, DraftError> {
    Ok(match op {
        Op::Read { id } => draft.get("things", id).await?.map_or("-".to_owned(), |entry| entry.body.to_string()),
        Op::Write { id, title } => {
            let before = draft.get("things", id).await?;
            let count = before.as_ref().map_or(1, |entry| number(&entry.body) + 1);
            let body = body(count, id, title.as_deref());
            let done = match &before {
                None => draft.insert("things", id, body).await?,
                Some(_) => draft.replace("things", id, body).await?,
            };
            let before = before.map_or("-".to_owned(), |entry| entry.body.to_string());
            match done {
                Ok(()) => before,
                Err(RecordError::NotUnique(index)) => format!("{before} {index}"),
                Err(error) => panic!("{error:?}"),
            }
        }
        Op::Delete { id } => match draft.get("things", id).await? {
            None => "-".to_owned(),
            Some(entry) => {
                draft.delete("things", id).await?.unwrap();
                entry.body.to_string()
            }
        },
        Op::Transfer { id, from, to, amount } => {
            if from == BANK {
                draft.open_external(BANK).await?;
            }
            match draft.post(vec![transfer(id, from, to, *amount)]).await? {
                Ok(()) => "posted".to_owned(),
                Err(LedgerError::AlreadyPosted(_)) => "posted before".to_owned(),
                Err(LedgerError::Insufficient(_)) => "insufficient".to_owned(),
                Err(error) => panic!("{error:?}"),
            }
        }
        Op::IdempotencyKey { name } => match draft.find_idempotency_record(name).await? {
            Some(_) => "stored".to_owned(),
            None => "new".to_owned(),
        },
        Op::Guard { name } => {
            draft.guard(name).await?;
            String::new()
        }
    })
}

/// Returns the body of a record. Its tag is unique in one of the two models.
pub fn body(count: u64, id: &str, title: Option<&str>) -> String {
    let title = title.map_or(String::new(), |title| format!(r#","title":"{title}""#));
    format!(r#"{{"n":{count},"tag":"{id}"{title}}}"#)
}
