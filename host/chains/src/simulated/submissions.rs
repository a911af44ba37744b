//! Batches concurrent submissions into one transaction of the file.
//!
//! Each caller queues its job and waits for the writer lock. The caller that gets the lock writes queued jobs, at most
//! `JOBS_MAX` in one transaction, until its own job is written. There is no background task. If a caller is dropped
//! while it writes, the callers of that batch get `Timeout`: all of their jobs were committed, or none. Invariant: a
//! result is returned after its commit.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::SeqCst},
};

use ethnum::U256;
use sha2::{Digest, Sha256};
use sqlx::SqliteConnection;
use tenon_keyring::Family;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::{
    NetworkState, Shared, blocks,
    ledger::{Ledger, WriteTransaction},
    plan::{Effect, Plan},
    pool::{Admission, Fault},
    store::{StoreError, count},
    validation::{Incoming, Reference},
};
use crate::{ChainError, Submission};

/// Maximum number of jobs in one transaction.
const JOBS_MAX: usize = 256;

type SubmissionResult = Result<Submission, ChainError>;

/// A queued operation of one caller.
pub(super) struct Job {
    net: Arc<NetworkState>,
    operation: Operation,
    result: oneshot::Sender<SubmissionResult>,
}

pub(super) enum Operation {
    Submit(Incoming),
    Fund(Funding),
}

/// A transfer from the faucet.
#[derive(Clone, Debug)]
pub(super) struct Funding {
    /// Idempotency key.
    pub key: Option<String>,
    pub recipient: String,
    pub token: Option<String>,
    pub amount: U256,
}

impl Shared {
    pub async fn execute(&self, net: &Arc<NetworkState>, operation: Operation) -> SubmissionResult {
        let (sender, mut receiver) = oneshot::channel();
        self.queue.lock().push_back(Job { net: Arc::clone(net), operation, result: sender });
        let mut writer = self.writer.lock().await;
        loop {
            match receiver.try_recv() {
                Ok(result) => return result,
                Err(TryRecvError::Closed) => return Err(ChainError::Timeout),
                Err(TryRecvError::Empty) => self.write_jobs(&mut writer).await,
            }
        }
    }

    async fn write_jobs(&self, writer: &mut SqliteConnection) {
        let jobs: Vec<Job> = {
            let mut queue = self.queue.lock();
            let length = queue.len().min(JOBS_MAX);
            queue.drain(..length).collect()
        };
        match self.write(writer, &jobs).await {
            Ok(outcomes) => {
                jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| drop(job.result.send(Ok(outcome))))
            }
            Err(error) => {
                let error = ChainError::from(error);
                jobs.into_iter().for_each(|job| drop(job.result.send(Err(error.clone()))));
            }
        }
    }

    async fn write(&self, writer: &mut SqliteConnection, jobs: &[Job]) -> Result<Vec<Submission>, StoreError> {
        let mut write = WriteTransaction::begin(writer).await?;
        let mut outcomes = Vec::new();
        let mut heads: BTreeMap<i64, u64> = BTreeMap::new();
        for job in jobs {
            let mut ledger = write.ledger(job.net.id);
            let head = match heads.get(&job.net.id) {
                Some(head) => *head,
                None => {
                    let head = job.net.head_to_write(&self.clock);
                    job.net.fill(&mut ledger, head).await?;
                    heads.insert(job.net.id, head);
                    head
                }
            };
            outcomes.push(match &job.operation {
                Operation::Submit(incoming) => job.net.submit(&mut ledger, incoming, head).await?,
                Operation::Fund(funding) => job.net.fund(&mut ledger, funding, head).await?,
            });
        }
        let mut dues = Vec::new();
        for job in jobs.iter().filter(|job| heads.remove(&job.net.id).is_some()) {
            let due = write.ledger(job.net.id).next_ready().await?;
            dues.push((&job.net, due));
        }
        write.commit().await?;
        for (net, due) in dues {
            net.due.store(due.unwrap_or(u64::MAX), SeqCst);
            net.changes.notify_waiters();
        }
        Ok(outcomes)
    }
}

impl NetworkState {
    /// Fills all due blocks up to `head`. Returns whether one of them holds a transaction.
    pub(super) async fn fill(&self, ledger: &mut Ledger<'_>, head: u64) -> Result<bool, StoreError> {
        let timeline = self.timeline.lock().clone();
        blocks::advance(ledger, &timeline, head, &self.faucet).await
    }

    async fn submit(&self, ledger: &mut Ledger<'_>, incoming: &Incoming, head: u64) -> Result<Submission, StoreError> {
        let timeline = self.timeline.lock().clone();
        let admission = match ledger.find_known(&incoming.hash).await? {
            Some((id, Some(plan))) if blocks::is_expired(&plan, &timeline, head) => {
                ledger.drop_waiting(id, &incoming.sender, plan.cost).await?;
                Admission::invalid("the transaction has expired")
            }
            Some(_) => Admission::Known,
            None if blocks::is_expired(&incoming.plan, &timeline, head) => {
                Admission::invalid("the transaction has expired")
            }
            None if !incoming.refers_to.holds(&timeline, head) => {
                Admission::rejected("the transaction refers to a block that is unknown or was replaced")
            }
            None => ledger.admit(incoming).await?,
        };
        if let Admission::New = admission {
            let fault = self.faults.lock().next();
            ledger.add_waiting(incoming, fault, head.saturating_add(1)).await?;
        }
        Ok(admission.into_submission(&incoming.hash))
    }

    async fn fund(&self, ledger: &mut Ledger<'_>, funding: &Funding, head: u64) -> Result<Submission, StoreError> {
        if let Some(key) = &funding.key
            && let Some(hash) = find_funding(ledger, key).await?
        {
            return Ok(Submission::Accepted { hash });
        }
        let (number,): (i64,) = sqlx::query_as("UPDATE networks SET gifts = gifts + 1 WHERE net = ? RETURNING gifts")
            .bind(ledger.net)
            .fetch_one(&mut *ledger.connection)
            .await?;
        let hash = self.funding_hash(count(number));
        let mut effects = Vec::new();
        if let Some(token) = funding.token.as_ref().filter(|_| self.facts.family == Family::Solana) {
            effects.extend(token_account(&funding.recipient, token));
        }
        effects.push(Effect::Mint {
            token: funding.token.clone(),
            recipient: funding.recipient.clone(),
            amount: funding.amount,
        });
        let none = U256::ZERO;
        let plan = Plan { fee: none, cost: none, fails: false, effects, last_height: None, last_time_ms: None };
        let (sender, refers_to) = (self.faucet.clone(), Reference::Nothing);
        let incoming = Incoming { hash: hash.clone(), sender, sequence: None, price: (0, 0), plan, refers_to };
        ledger.add_waiting(&incoming, Fault::None, head.saturating_add(1)).await?;
        if let Some(key) = &funding.key {
            sqlx::query("INSERT INTO wishes (net, key, hash) VALUES (?, ?, ?)")
                .bind(ledger.net)
                .bind(key)
                .bind(&hash)
                .execute(&mut *ledger.connection)
                .await?;
        }
        Ok(Submission::Accepted { hash })
    }

    /// Returns a hash in the family's form. A funding transaction has no signature.
    fn funding_hash(&self, number: u64) -> String {
        let digest: [u8; 32] = Sha256::digest(format!("gift/{}/{number}", self.timeline.lock().label)).into();
        match self.facts.family {
            Family::Evm => format!("0x{}", hex::encode(digest)),
            Family::Tron => hex::encode(digest),
            Family::Solana => bs58::encode([digest, digest].concat()).into_string(),
        }
    }
}

/// Returns the effect that opens the recipient's token account without charging rent.
fn token_account(owner: &str, token: &str) -> Option<Effect> {
    let account = crate::solana::token_account_of(&owner.parse().ok()?, &token.parse().ok()?).ok()?;
    Some(Effect::Open { account: account.to_string(), owner: owner.to_owned(), token: token.to_owned(), rent: 0 })
}

async fn find_funding(ledger: &mut Ledger<'_>, key: &str) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = sqlx::query_as("SELECT hash FROM wishes WHERE net = ? AND key = ?")
        .bind(ledger.net)
        .bind(key)
        .fetch_optional(&mut *ledger.connection)
        .await?;
    Ok(row.map(|(hash,)| hash))
}
