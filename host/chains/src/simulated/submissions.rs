//! What nodes take: many submissions at once are one transaction of the file.
//!
//! Who comes while somebody else writes leaves its job in the queue; the next writer takes all that lie there. Nothing runs
//! on its own. Where a writer is dropped halfway, those whose jobs it had hear `Timeout`: all of them were taken, or none.
//! Invariant: an answer is given after its commit.

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
    Net, Shared, blocks,
    books::{Books, Writing},
    intake::{Incoming, Reference},
    plan::{Effect, Plan},
    pool::{Fault, Verdict},
    store::{StoreError, count},
};
use crate::{ChainError, Submission};

/// Jobs of one transaction.
const JOBS_MAX: usize = 256;

type Outcome = Result<Submission, ChainError>;

/// Something that a node is to take.
pub(super) struct Job {
    net: Arc<Net>,
    work: Work,
    reply: oneshot::Sender<Outcome>,
}

pub(super) enum Work {
    Take(Incoming),
    Give(Gift),
}

/// From the faucet.
#[derive(Clone, Debug)]
pub(super) struct Gift {
    /// Given once for each key.
    pub key: Option<String>,
    pub recipient: String,
    pub token: Option<String>,
    pub amount: U256,
}

impl Shared {
    pub async fn hand_in(&self, net: &Arc<Net>, work: Work) -> Outcome {
        let (reply, mut answer) = oneshot::channel();
        self.queue.lock().push_back(Job { net: Arc::clone(net), work, reply });
        let mut writer = self.writer.lock().await;
        loop {
            match answer.try_recv() {
                Ok(outcome) => return outcome,
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
            Ok(outcomes) => jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| drop(job.reply.send(Ok(outcome)))),
            Err(error) => {
                let error = ChainError::from(error);
                jobs.into_iter().for_each(|job| drop(job.reply.send(Err(error.clone()))));
            }
        }
    }

    async fn write(&self, writer: &mut SqliteConnection, jobs: &[Job]) -> Result<Vec<Submission>, StoreError> {
        let mut writing = Writing::begin(writer).await?;
        let mut outcomes = Vec::new();
        let mut heads: BTreeMap<i64, u64> = BTreeMap::new();
        for job in jobs {
            let mut books = writing.books(job.net.id);
            let head = match heads.get(&job.net.id) {
                Some(head) => *head,
                None => {
                    let head = job.net.head_to_write(&self.clock);
                    job.net.fill(&mut books, head).await?;
                    heads.insert(job.net.id, head);
                    head
                }
            };
            outcomes.push(match &job.work {
                Work::Take(incoming) => job.net.take(&mut books, incoming, head).await?,
                Work::Give(gift) => job.net.give(&mut books, gift, head).await?,
            });
        }
        let mut dues = Vec::new();
        for job in jobs.iter().filter(|job| heads.remove(&job.net.id).is_some()) {
            let due = writing.books(job.net.id).next_ready().await?;
            dues.push((&job.net, due));
        }
        writing.commit().await?;
        for (net, due) in dues {
            net.due.store(due.unwrap_or(u64::MAX), SeqCst);
            net.changes.notify_waiters();
        }
        Ok(outcomes)
    }
}

impl Net {
    /// Whether a block came to hold something.
    pub(super) async fn fill(&self, books: &mut Books<'_>, head: u64) -> Result<bool, StoreError> {
        let timeline = self.timeline.lock().clone();
        blocks::advance(books, &timeline, head, &self.faucet).await
    }

    async fn take(&self, books: &mut Books<'_>, incoming: &Incoming, head: u64) -> Result<Submission, StoreError> {
        let timeline = self.timeline.lock().clone();
        let verdict = match books.find_known(&incoming.hash).await? {
            Some((id, Some(plan))) if blocks::is_over(&plan, &timeline, head) => {
                books.drop_waiting(id, &incoming.sender, plan.cost).await?;
                Verdict::void("the transaction has expired")
            }
            Some(_) => Verdict::Known,
            None if blocks::is_over(&incoming.plan, &timeline, head) => Verdict::void("the transaction has expired"),
            None if !incoming.refers_to.holds(&timeline, head) => {
                Verdict::refused("the transaction refers to a block that is not known, or not any more")
            }
            None => books.admit(incoming).await?,
        };
        if let Verdict::New = verdict {
            let fault = self.faults.lock().next();
            books.add_waiting(incoming, fault, head.saturating_add(1)).await?;
        }
        Ok(verdict.into_submission(&incoming.hash))
    }

    async fn give(&self, books: &mut Books<'_>, gift: &Gift, head: u64) -> Result<Submission, StoreError> {
        if let Some(key) = &gift.key
            && let Some(hash) = find_wish(books, key).await?
        {
            return Ok(Submission::Taken { hash });
        }
        let (number,): (i64,) = sqlx::query_as("UPDATE networks SET gifts = gifts + 1 WHERE net = ? RETURNING gifts")
            .bind(books.net)
            .fetch_one(&mut *books.connection)
            .await?;
        let hash = self.gift_hash(count(number));
        let mut effects = Vec::new();
        if let Some(token) = gift.token.as_ref().filter(|_| self.facts.family == Family::Solana) {
            effects.extend(token_account(&gift.recipient, token));
        }
        effects.push(Effect::Give {
            token: gift.token.clone(),
            recipient: gift.recipient.clone(),
            amount: gift.amount,
        });
        let none = U256::ZERO;
        let plan = Plan { fee: none, cost: none, fails: false, effects, last_height: None, last_time_ms: None };
        let (sender, refers_to) = (self.faucet.clone(), Reference::Nothing);
        let incoming = Incoming { hash: hash.clone(), sender, sequence: None, price: (0, 0), plan, refers_to };
        books.add_waiting(&incoming, Fault::None, head.saturating_add(1)).await?;
        if let Some(key) = &gift.key {
            sqlx::query("INSERT INTO wishes (net, key, hash) VALUES (?, ?, ?)")
                .bind(books.net)
                .bind(key)
                .bind(&hash)
                .execute(&mut *books.connection)
                .await?;
        }
        Ok(Submission::Taken { hash })
    }

    /// In the form of the family; nothing was signed.
    fn gift_hash(&self, number: u64) -> String {
        let digest: [u8; 32] = Sha256::digest(format!("gift/{}/{number}", self.timeline.lock().label)).into();
        match self.facts.family {
            Family::Evm => format!("0x{}", hex::encode(digest)),
            Family::Tron => hex::encode(digest),
            Family::Solana => bs58::encode([digest, digest].concat()).into_string(),
        }
    }
}

/// The faucet does not ask for the rent.
fn token_account(owner: &str, token: &str) -> Option<Effect> {
    let account = crate::solana::token_account_of(&owner.parse().ok()?, &token.parse().ok()?).ok()?;
    Some(Effect::Open { account: account.to_string(), owner: owner.to_owned(), token: token.to_owned(), rent: 0 })
}

async fn find_wish(books: &mut Books<'_>, key: &str) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = sqlx::query_as("SELECT hash FROM wishes WHERE net = ? AND key = ?")
        .bind(books.net)
        .bind(key)
        .fetch_optional(&mut *books.connection)
        .await?;
    Ok(row.map(|(hash,)| hash))
}
