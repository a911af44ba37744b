//! `kill -9` under load, in rounds: every acknowledged change exists exactly once, and its consequences happen.
//!
//! Owns the parts that all scenarios share. Each actor sends one request after another, each with its own idempotency
//! key. A request without a response is repeated after the restart with the same key. An external service that the
//! program calls is never killed and checks each call (`attempts`). A scenario defines its requests and its
//! invariants.
//!
//! - `drivers`: changes, their events and webhooks. `effects`: tasks and outgoing calls. `payments`: two hosts that
//!   clear payments with each other, killed in turn. `wallet`: money on blockchains that misbehave, derived from a
//!   seed.
//!
//! Reads only HTTP and the database file. A killed process keeps its page cache, so this proves nothing about power
//! loss.

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
    receiver::{ReceivedRequest, Receiver, ReceiverResponse},
    wire::{Client, Response},
};

mod attempts;
mod drivers;
mod effects;
mod payments;
#[cfg(test)]
mod tests;
mod wallet;

pub use drivers::{CrashReport, fleet, run};
pub use effects::{EffectReport, run as run_effects};
pub use payments::{PaymentReport, run as run_payments};
pub use wallet::{WalletReport, run as run_wallets, seed_or};

/// A consequence that has not happened this long after the last restart is lost.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct CrashPlan {
    pub program: ProgramPlan,
    pub rounds: usize,
    pub actors: usize,
    /// Duration of the load before each kill, in milliseconds: spread over this range, differing by round.
    pub kill_after_ms: (u64, u64),
    /// Index of the first round. A run that continues an earlier one kills after other delays.
    pub first_round: usize,
}

/// Load generator that sends one request after another, with its progress.
#[derive(Clone, Debug)]
struct Actor {
    name: String,
    /// Returns the request of this actor at a position.
    request_at: fn(&str, u64) -> ActorRequest,
    /// Last position that was acknowledged or skipped.
    position: u64,
    /// The next request was sent without a response, so its result is unknown.
    in_doubt: bool,
}

/// A request of an actor.
struct ActorRequest {
    path: String,
    /// JSON.
    body: String,
    /// Decides whether the request is sent.
    precondition: Option<Precondition>,
}

/// Query before a request, and the meaning of its response.
struct Precondition {
    path: String,
    evaluate: fn(&Response) -> Readiness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readiness {
    Ready,
    Pending,
    /// The request is skipped.
    Skip,
}

impl ActorRequest {
    async fn readiness(&self, client: &mut Client) -> anyhow::Result<Readiness> {
        let Some(Precondition { path, evaluate }) = &self.precondition else { return Ok(Readiness::Ready) };
        Ok(evaluate(&client.send("GET", path, &[], b"").await?))
    }
}

impl Actor {
    fn new(name: String, request_at: fn(&str, u64) -> ActorRequest) -> Actor {
        Actor { name, request_at, position: 0, in_doubt: false }
    }

    /// Returns the request after the last acknowledged one.
    fn next_request(&self) -> ActorRequest {
        (self.request_at)(&self.name, self.position + 1)
    }

    /// Sends a request. Its idempotency key consists of name and position.
    async fn send(&mut self, request: &ActorRequest, client: &mut Client) -> anyhow::Result<()> {
        let ActorRequest { path, body, .. } = request;
        self.in_doubt = true;
        let idempotency_key = format!("{}-{}", self.name, self.position + 1);
        let headers = [("idempotency-key", idempotency_key.as_str())];
        let response = client.send("POST", path, &headers, body.as_bytes()).await?;
        let text = String::from_utf8_lossy(&response.body);
        ensure!((200..300).contains(&response.status), "{path}: {} {text}", response.status);
        self.position += 1;
        self.in_doubt = false;
        Ok(())
    }
}

/// Returns the delay before the kill: spread over the range, and different in consecutive rounds.
fn kill_after((from, to): (u64, u64), round: usize) -> Duration {
    let spread = to.saturating_sub(from).max(1);
    Duration::from_millis(from + (round as u64 * 137) % spread)
}

/// Runs all actors until the process is killed. Returns the plan that starts it again.
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

/// Running actors, each in a task of its own.
struct Load {
    running: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Actor>>,
}

impl Load {
    fn start(program: &Program, key: &str, actors: &mut Vec<Actor>) -> Load {
        let running = Arc::new(AtomicBool::new(true));
        let start = |actor| tokio::spawn(run_actor(actor, program.client(key), Arc::clone(&running)));
        let tasks = actors.drain(..).map(start).collect();
        Load { running, tasks }
    }

    /// Stops the load and returns the actors to `actors`.
    async fn stop(self, actors: &mut Vec<Actor>) -> anyhow::Result<()> {
        self.running.store(false, Ordering::Relaxed);
        for task in self.tasks {
            actors.push(task.await?);
        }
        Ok(())
    }
}

/// Sends requests until `running` is false or a request fails.
async fn run_actor(mut actor: Actor, mut client: Client, running: Arc<AtomicBool>) -> Actor {
    while running.load(Ordering::Relaxed) {
        let request = actor.next_request();
        match request.readiness(&mut client).await {
            Ok(Readiness::Ready) => {}
            Ok(Readiness::Pending) => {
                tokio::time::sleep(POLL).await;
                continue;
            }
            Ok(Readiness::Skip) => {
                actor.position += 1;
                continue;
            }
            Err(_) => break,
        }
        if actor.send(&request, &mut client).await.is_err() {
            break;
        }
    }
    actor
}

/// Repeats each request without a response, with the same key. Returns their number.
async fn repeat_unanswered(program: &Program, key: &str, actors: &mut [Actor]) -> anyhow::Result<u64> {
    let mut client = program.client(key);
    let mut repeated = 0;
    for actor in actors.iter_mut().filter(|actor| actor.in_doubt) {
        actor.send(&actor.next_request(), &mut client).await?;
        repeated += 1;
    }
    Ok(repeated)
}

/// External service that the program calls and that is never killed. `T` checks each call.
struct ExternalService<T> {
    state: Arc<Mutex<T>>,
    receiver: Receiver,
}

impl<T: Default + Send + 'static> ExternalService<T> {
    fn open(receive: fn(&mut T, &ReceivedRequest<'_>) -> ReceiverResponse) -> anyhow::Result<ExternalService<T>> {
        let state: Arc<Mutex<T>> = Arc::default();
        let receiver = {
            let state = Arc::clone(&state);
            Receiver::start(1, move |request| receive(&mut state.lock(), request))?
        };
        Ok(ExternalService { state, receiver })
    }

    fn url(&self) -> anyhow::Result<String> {
        self.receiver.urls().next().context("a receiver without an address")
    }

    fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        access(&mut self.state.lock())
    }

    /// Waits until everything that a dead process had sent is read. Later requests come from the next process.
    async fn wait_until_disconnected(&self) {
        loop {
            tokio::time::sleep(POLL).await;
            if self.receiver.connections() == 0 {
                return;
            }
        }
    }
}

/// Fails if a timer or an effect is pending or was given up.
async fn ensure_no_pending_tasks(program: &Program) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    for kind in ["timer", "effect"] {
        let page = operator.call("GET", &format!("/v1/tasks?kind={kind}"), &Value::Null).await?;
        let pending = page.get("entries").and_then(Value::as_array).context("a page without entries")?;
        ensure!(pending.is_empty(), "still pending: {page}");
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
