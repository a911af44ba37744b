//! `kill -9` under load, in rounds: what was acknowledged is there, once, and what follows from it happens.
//!
//! Owns what every scenario shares. Actors ask for one thing after the other, each under an idempotency key of its own; what
//! got no answer is repeated after the restart under the same key. Somebody outside is called by the program, lives
//! through the kills and judges what arrives (`attempts`). The scenarios say what is asked for and what has to hold.
//!
//! - `drivers`: changes, their events and webhooks. `errands`: tasks and outgoing calls. `payments`: two hosts that clear with
//!   each other, killed in turn. `wallet`: money on blockchains that misbehave, as a seed says.
//!
//! Sees only HTTP and the database file. A killed process keeps its page cache: this proves nothing about power loss.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::task::JoinHandle;

use crate::{
    program::{Program, ProgramPlan},
    receiver::{Post, Receiver, Reply},
    wire::{Answer, Client},
};

mod attempts;
mod drivers;
mod errands;
mod payments;
#[cfg(test)]
mod tests;
mod wallet;

pub use drivers::{CrashReport, fleet, run};
pub use errands::{ErrandReport, run as run_errands};
pub use payments::{PaymentReport, run as run_payments};
pub use wallet::{WalletReport, run as run_wallets, seed_or};

/// What has not happened so long after the last restart is lost.
const SETTLED_WITHIN: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct CrashPlan {
    pub program: ProgramPlan,
    pub rounds: usize,
    pub actors: usize,
    /// Load before each kill: from the first to the second, in steps that differ by round.
    pub kill_after_ms: (u64, u64),
    /// Continues the moments of the kills where an earlier run of so many rounds ended.
    pub first_round: usize,
}

/// One who asks for one thing after the other, and how far it has come.
#[derive(Clone, Debug)]
struct Actor {
    name: String,
    /// What this name asks for at a position.
    step: fn(&str, u64) -> Step,
    /// The last position that was acknowledged, or passed over.
    position: u64,
    /// The next one was sent, and nobody knows what became of it.
    in_doubt: bool,
}

/// One request.
struct Step {
    path: String,
    /// JSON.
    body: String,
    /// What says whether it is sent.
    first: Option<Look>,
}

/// A question, and what its answer means for the step.
struct Look {
    path: String,
    judge: fn(&Answer) -> Due,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Now,
    Later,
    /// It is passed over.
    Never,
}

impl Step {
    async fn look(&self, client: &mut Client) -> anyhow::Result<Due> {
        let Some(Look { path, judge }) = &self.first else { return Ok(Due::Now) };
        Ok(judge(&client.send("GET", path, &[], b"").await?))
    }
}

impl Actor {
    fn new(name: String, step: fn(&str, u64) -> Step) -> Actor {
        Actor { name, step, position: 0, in_doubt: false }
    }

    /// What comes after the last acknowledged one.
    fn next(&self) -> Step {
        (self.step)(&self.name, self.position + 1)
    }

    /// Its idempotency key is made of name and position.
    async fn send(&mut self, Step { path, body, .. }: &Step, client: &mut Client) -> anyhow::Result<()> {
        self.in_doubt = true;
        let idempotency_key = format!("{}-{}", self.name, self.position + 1);
        let headers = [("idempotency-key", idempotency_key.as_str())];
        let answer = client.send("POST", path, &headers, body.as_bytes()).await?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "{path}: {} {text}", answer.status);
        self.position += 1;
        self.in_doubt = false;
        Ok(())
    }
}

/// Spread over the range, never the same in two rounds that follow each other.
fn kill_after((from, to): (u64, u64), round: usize) -> Duration {
    let spread = to.saturating_sub(from).max(1);
    Duration::from_millis(from + (round as u64 * 137) % spread)
}

/// All actors ask until the process is killed; what it takes to start it again.
async fn kill_under_load(
    program: Program,
    key: &str,
    actors: &mut Vec<Actor>,
    after: Duration,
) -> anyhow::Result<ProgramPlan> {
    let load = Load::start(&program, key, actors);
    tokio::time::sleep(after).await;
    let stopped = program.kill()?;
    load.stop(actors).await?;
    Ok(stopped)
}

/// Actors that ask, each in a task of its own.
struct Load {
    running: Arc<AtomicBool>,
    moving: Vec<JoinHandle<Actor>>,
}

impl Load {
    fn start(program: &Program, key: &str, actors: &mut Vec<Actor>) -> Load {
        let running = Arc::new(AtomicBool::new(true));
        let move_on = |actor| tokio::spawn(move_on(actor, program.client(key), Arc::clone(&running)));
        let moving = actors.drain(..).map(move_on).collect();
        Load { running, moving }
    }

    /// Gives the actors back.
    async fn stop(self, actors: &mut Vec<Actor>) -> anyhow::Result<()> {
        self.running.store(false, Ordering::Relaxed);
        for one in self.moving {
            actors.push(one.await?);
        }
        Ok(())
    }
}

/// Until told to stop, or until the server is gone.
async fn move_on(mut actor: Actor, mut client: Client, running: Arc<AtomicBool>) -> Actor {
    while running.load(Ordering::Relaxed) {
        let step = actor.next();
        match step.look(&mut client).await {
            Ok(Due::Now) => {}
            Ok(Due::Later) => {
                tokio::time::sleep(POLL).await;
                continue;
            }
            Ok(Due::Never) => {
                actor.position += 1;
                continue;
            }
            Err(_) => break,
        }
        if actor.send(&step, &mut client).await.is_err() {
            break;
        }
    }
    actor
}

/// Repeats what got no answer, under the same key.
async fn settle(program: &Program, key: &str, actors: &mut [Actor]) -> anyhow::Result<u64> {
    let mut client = program.client(key);
    let mut repeated = 0;
    for actor in actors.iter_mut().filter(|actor| actor.in_doubt) {
        actor.send(&actor.next(), &mut client).await?;
        repeated += 1;
    }
    Ok(repeated)
}

/// Somebody whom the program calls, who is never killed; `T` judges what arrives.
struct Outside<T> {
    judge: Arc<Mutex<T>>,
    receiver: Receiver,
}

impl<T: Default + Send + 'static> Outside<T> {
    fn open(receive: fn(&mut T, &Post<'_>) -> Reply) -> anyhow::Result<Outside<T>> {
        let judge: Arc<Mutex<T>> = Arc::default();
        let receiver = {
            let judge = Arc::clone(&judge);
            Receiver::start(1, move |post| receive(&mut judge.lock(), post))?
        };
        Ok(Outside { judge, receiver })
    }

    fn url(&self) -> anyhow::Result<String> {
        self.receiver.urls().next().context("a receiver without an address")
    }

    fn with<R>(&self, ask: impl FnOnce(&mut T) -> R) -> R {
        ask(&mut self.judge.lock())
    }

    /// Once everything that a dead process had sent is read: what comes later comes from the next one.
    async fn until_quiet(&self) {
        loop {
            tokio::time::sleep(POLL).await;
            if self.receiver.connections() == 0 {
                return;
            }
        }
    }
}

/// Neither something that is still to come nor something that was given up.
async fn ensure_nothing_waits(program: &Program) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    for kind in ["timer", "effect"] {
        let page = operator.call("GET", &format!("/v1/tasks?kind={kind}"), &Value::Null).await?;
        let waiting = page.get("entries").and_then(Value::as_array).context("a page without entries")?;
        ensure!(waiting.is_empty(), "still waiting: {page}");
    }
    Ok(())
}

async fn open_database(file: &Path) -> anyhow::Result<SqliteConnection> {
    Ok(SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file).read_only(true)).await?)
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
