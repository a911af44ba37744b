//! `kill -9` under load, in rounds: nothing acknowledged is lost, nothing is applied twice, no event is missing.
//!
//! Each actor moves one driver of its own: position n, then n + 1, each with an idempotency key of its own. A request
//! that got no answer is repeated after the restart under the same key. So whatever happened, the events of a driver
//! must be the positions 1, 2, … n in order, once each, and its record must stand at n: a lost commit leaves a gap or
//! an older record, a double one repeats a number, a change without its event leaves a gap too.
//!
//! All events go to an endpoint of webhooks, which lives through the kills: it must get each of them, in the turn of its
//! driver, and again only where a retry or a kill explains it (`inbox`).
//!
//! Sees only HTTP and the database file. A killed process keeps its page cache: this proves nothing about power loss.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sqlx::{Connection as _, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    guests,
    program::{PluginSection, Program, ProgramPlan},
    receiver::{Receiver, Reply},
    wire::Client,
};
use inbox::Inbox;

mod inbox;
#[cfg(test)]
mod tests;

/// After a restart: who has not delivered by then has lost it.
const DELIVERED_SECONDS_MAX: u64 = 120;
const POLL: Duration = Duration::from_millis(20);

/// The plugin that is under load; what was refused is tried again soon.
pub fn fleet() -> PluginSection {
    let grants = ["records", "events", "subscriptions", "ids", "config", "log"];
    let mut section = PluginSection::new("fleet", &guests::component_path("fleet"), &grants);
    section.more = "webhooks = { schedule-ms = [100, 200, 400, 800, 1600, 3200] }".to_owned();
    section
}

#[derive(Clone, Debug)]
pub struct CrashPlan {
    pub program: ProgramPlan,
    pub rounds: usize,
    pub actors: usize,
    /// Load before each kill: from the first to the second, in steps that differ by round.
    pub kill_after_ms: (u64, u64),
}

#[derive(Clone, Debug, Default)]
pub struct CrashReport {
    pub rounds: usize,
    /// Answered with 2xx.
    pub acknowledged: u64,
    /// Sent without an answer, and repeated after the restart.
    pub repeated: u64,
    /// Webhooks, each counted once.
    pub delivered: u64,
    /// Those that came again because of a kill.
    pub redelivered: u64,
}

/// One driver and how far it has come.
#[derive(Clone, Debug)]
struct Actor {
    driver: String,
    /// The last position that was acknowledged.
    position: u64,
    /// The next one was sent, and nobody knows what became of it.
    in_doubt: bool,
}

/// Runs all rounds; the first thing that does not hold is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<CrashReport> {
    let mut report = CrashReport::default();
    let mut program = Program::start(plan.program.clone()).await?;
    let key = program.create_key("fleet", "crash")?;
    let mut witness = Witness::default();
    let endpoint = Endpoint::open(&program, &key).await?;
    let mut actors = hire(&program, &key, plan.actors).await?;
    for round in 0..plan.rounds {
        let running = Arc::new(AtomicBool::new(true));
        let moving: Vec<_> = actors
            .into_iter()
            .map(|actor| tokio::spawn(move_on(actor, program.client(&key), Arc::clone(&running))))
            .collect();
        tokio::time::sleep(kill_after(plan.kill_after_ms, round)).await;
        let stopped = program.kill()?;
        running.store(false, Ordering::Relaxed);
        actors = Vec::new();
        for one in moving {
            actors.push(one.await?);
        }
        endpoint.note_kill().await;
        program = Program::start(stopped).await.with_context(|| format!("restart of round {round}"))?;
        report.repeated += settle(&program, &key, &mut actors).await.with_context(|| format!("round {round}"))?;
        witness.check(&program.database_file(), &actors).await.with_context(|| format!("after round {round}"))?;
        endpoint.check(&actors).await.with_context(|| format!("webhooks after round {round}"))?;
        report.rounds += 1;
    }
    (report.delivered, report.redelivered) = endpoint.with(|inbox| (inbox.accepted(), inbox.repeated()));
    report.acknowledged = actors.iter().map(|actor| actor.position).sum();
    program.stop().await?;
    Ok(report)
}

/// Spread over the range, never the same in two rounds that follow each other.
fn kill_after((from, to): (u64, u64), round: usize) -> Duration {
    let spread = to.saturating_sub(from).max(1);
    Duration::from_millis(from + (round as u64 * 137) % spread)
}

async fn hire(program: &Program, key: &str, count: usize) -> anyhow::Result<Vec<Actor>> {
    let mut client = program.client(key);
    let mut actors = Vec::with_capacity(count);
    for number in 0..count {
        let body = json!({ "name": "Crash", "email": format!("crash-{number}@example.com"), "phone": format!("+1555{number:07}") });
        let created = client.call("POST", "/v1/drivers", &body).await?;
        let driver = created.get("id").and_then(Value::as_str).context("a driver without an id")?.to_owned();
        actors.push(Actor { driver, position: 0, in_doubt: false });
    }
    Ok(actors)
}

/// Until told to stop, or until the server is gone.
async fn move_on(mut actor: Actor, mut client: Client, running: Arc<AtomicBool>) -> Actor {
    while running.load(Ordering::Relaxed) {
        actor.in_doubt = true;
        if send(&actor, &mut client).await.is_err() {
            break;
        }
        actor.position += 1;
        actor.in_doubt = false;
    }
    actor
}

/// Sends the position after the last acknowledged one; its idempotency key is made of driver and position.
async fn send(actor: &Actor, client: &mut Client) -> anyhow::Result<()> {
    let next = actor.position + 1;
    let idempotency_key = format!("{}-{next}", actor.driver);
    let body = json!({ "latitude": latitude(next), "longitude": 8.5 }).to_string();
    let path = format!("/v1/drivers/{}/track", actor.driver);
    let answer = client.send("POST", &path, &[("idempotency-key", &idempotency_key)], body.as_bytes()).await?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!((200..300).contains(&answer.status), "{path}: {} {text}", answer.status);
    Ok(())
}

/// Repeats what got no answer, under the same key.
async fn settle(program: &Program, key: &str, actors: &mut [Actor]) -> anyhow::Result<u64> {
    let mut client = program.client(key);
    let mut repeated = 0;
    for actor in actors.iter_mut().filter(|actor| actor.in_doubt) {
        send(actor, &mut client).await?;
        actor.position += 1;
        actor.in_doubt = false;
        repeated += 1;
    }
    Ok(repeated)
}

/// One millionth of a degree for each position: exact in the decimal digits of JSON.
fn latitude(position: u64) -> f64 {
    position as f64 / 1_000_000.0
}

fn position_of(json: &Value) -> Option<u64> {
    let latitude = json.get("latitude").and_then(Value::as_f64);
    // GeoJSON order: longitude, latitude.
    let latitude = latitude.or_else(|| json.pointer("/location/coordinates/1").and_then(Value::as_f64));
    latitude.map(|degrees| (degrees * 1_000_000.0).round() as u64)
}

/// Where all events go. It is never killed.
struct Endpoint {
    inbox: Arc<Mutex<Inbox>>,
    receiver: Receiver,
}

impl Endpoint {
    async fn open(program: &Program, key: &str) -> anyhow::Result<Endpoint> {
        let inbox: Arc<Mutex<Inbox>> = Arc::default();
        let receiver = {
            let endpoint = Arc::clone(&inbox);
            Receiver::start(1, move |post| Reply::Status(endpoint.lock().receive(post.id, post.body)))?
        };
        for url in receiver.urls() {
            let hook = json!({ "url": url, "events": ["driver.location_changed"] });
            program.client(key).call("POST", "/v1/webhook-endpoints", &hook).await?;
        }
        Ok(Endpoint { inbox, receiver })
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Inbox) -> T) -> T {
        ask(&mut self.inbox.lock())
    }

    /// Once everything that the dead process had sent is read: what comes later comes from the next one.
    async fn note_kill(&self) {
        loop {
            tokio::time::sleep(POLL).await;
            if self.receiver.connections() == 0 {
                return self.with(Inbox::note_kill);
            }
        }
    }

    async fn check(&self, actors: &[Actor]) -> anyhow::Result<()> {
        let until = Instant::now() + Duration::from_secs(DELIVERED_SECONDS_MAX);
        while !self.with(|inbox| inbox.is_complete(actors))? {
            let words = || self.with(|inbox| inbox.in_words());
            ensure!(Instant::now() < until, "not everything came within {DELIVERED_SECONDS_MAX} s: {}", words());
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }
}

/// What was found in the database so far: each event is read once, in the order of the database.
#[derive(Default)]
struct Witness {
    /// The number of the last event that was read.
    seq: i64,
    /// Driver to the position of its last event.
    positions: HashMap<String, u64>,
}

impl Witness {
    async fn check(&mut self, database: &Path, actors: &[Actor]) -> anyhow::Result<()> {
        let options = SqliteConnectOptions::new().filename(database).read_only(true);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        self.read_events(&mut connection).await?;
        for actor in actors {
            let Actor { driver, position, .. } = actor;
            let told = self.positions.get(driver).copied().unwrap_or(0);
            ensure!(told == *position, "{driver}: events up to {told}, acknowledged up to {position}");
            let stands_at = find_position(&mut connection, driver).await?;
            ensure!(
                stands_at == *position,
                "{driver}: the record stands at {stands_at}, acknowledged up to {position}"
            );
        }
        let counted = sqlx::query("SELECT count(*) FROM events WHERE type = 'driver.location_changed'");
        let events: i64 = counted.fetch_one(&mut connection).await?.try_get(0)?;
        let changes: u64 = actors.iter().map(|actor| actor.position).sum();
        ensure!(events.unsigned_abs() == changes, "{events} events for {changes} acknowledged changes");
        connection.close().await?;
        Ok(())
    }

    async fn read_events(&mut self, connection: &mut SqliteConnection) -> anyhow::Result<()> {
        let asked = sqlx::query(
            "SELECT seq, subject, body FROM events WHERE type = 'driver.location_changed' AND seq > ? ORDER BY seq",
        );
        for row in asked.bind(self.seq).fetch_all(connection).await? {
            let driver: String = row.try_get(1)?;
            let body: Value = serde_json::from_str(row.try_get(2)?)?;
            let position = body.get("data").and_then(position_of).with_context(|| format!("no position in {body}"))?;
            let last = self.positions.entry(driver).or_default();
            ensure!(position == *last + 1, "an event of position {position} after one of {last}: {body}");
            *last = position;
            self.seq = row.try_get(0)?;
        }
        Ok(())
    }
}

async fn find_position(connection: &mut SqliteConnection, driver: &str) -> anyhow::Result<u64> {
    let asked = sqlx::query("SELECT body FROM \"fleet_drivers\" WHERE id = ?");
    let row = asked.bind(driver).fetch_one(connection).await?;
    let body: Value = serde_json::from_str(row.try_get(0)?)?;
    Ok(position_of(&body).unwrap_or(0))
}
