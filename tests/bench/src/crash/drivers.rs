//! Drivers that move under load: nothing acknowledged is lost, nothing is applied twice, no event is missing.
//!
//! Each actor moves one driver of its own: position n, then n + 1. So whatever happened, the events of a driver must be the
//! positions 1, 2, … n in order, once each, and its record must stand at n: a lost commit leaves a gap or an older record,
//! a double one repeats a number, a change without its event leaves a gap too.
//!
//! All events go to an endpoint of webhooks: it must get each of them, in the turn of its driver, and again only where a
//! retry or a kill explains it (`inbox`).

use std::{collections::HashMap, path::Path, time::Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sqlx::{Connection as _, Row, SqliteConnection};

use super::{
    Actor, CrashPlan, Outside, POLL, SETTLED_WITHIN, Step, kill_after, kill_under_load, open_database, settle,
};
use crate::{
    guests,
    program::{PluginSection, Program},
    receiver::Reply,
};
use inbox::Inbox;

mod inbox;
#[cfg(test)]
mod tests;

/// The plugin that is under load; what was refused is tried again soon. Older events are deleted: five hundred rounds would fill the disk
/// with ten gigabytes of them.
pub fn fleet() -> PluginSection {
    let grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
    let mut section = PluginSection::new("fleet", &guests::component_path("fleet"), &grants);
    section.more = "webhooks = { schedule-ms = [100, 200, 400, 800, 1600, 3200] }\n\
                    [retention.events]\nbytes-max = 536_870_912"
        .to_owned();
    section
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

/// Runs all rounds; the first thing that does not hold is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<CrashReport> {
    let mut report = CrashReport::default();
    let mut program = Program::start(plan.program.clone()).await?;
    let key = program.create_key("fleet", "crash")?;
    let mut witness = Witness::default();
    let endpoint = open_endpoint(&program, &key).await?;
    let mut actors = hire(&program, &key, plan.actors).await?;
    for round in 0..plan.rounds {
        let stopped =
            kill_under_load(program, &key, &mut actors, kill_after(plan.kill_after_ms, plan.first_round + round))
                .await?;
        endpoint.until_quiet().await;
        endpoint.with(Inbox::note_kill);
        program = Program::start(stopped).await.with_context(|| format!("restart of round {round}"))?;
        report.repeated += settle(&program, &key, &mut actors).await.with_context(|| format!("round {round}"))?;
        witness.check(&program.database_file(), &actors).await.with_context(|| format!("after round {round}"))?;
        await_webhooks(&endpoint, &actors).await.with_context(|| format!("webhooks after round {round}"))?;
        report.rounds += 1;
    }
    (report.delivered, report.redelivered) = endpoint.with(|inbox| (inbox.accepted(), inbox.repeated()));
    report.acknowledged = actors.iter().map(|actor| actor.position).sum();
    program.stop().await?;
    Ok(report)
}

async fn hire(program: &Program, key: &str, count: usize) -> anyhow::Result<Vec<Actor>> {
    let mut client = program.client(key);
    let mut actors = Vec::with_capacity(count);
    for number in 0..count {
        let body = json!({ "name": "Crash", "email": format!("crash-{number}@example.com"), "phone": format!("+1555{number:07}") });
        let created = client.call("POST", "/v1/drivers", &body).await?;
        let driver = created.get("id").and_then(Value::as_str).context("a driver without an id")?.to_owned();
        actors.push(Actor::new(driver, track));
    }
    Ok(actors)
}

/// The move of a driver to a position.
fn track(driver: &str, position: u64) -> Step {
    let body = json!({ "latitude": latitude(position), "longitude": 8.5 }).to_string();
    Step { path: format!("/v1/drivers/{driver}/track"), body, first: None }
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

/// Where all events go.
async fn open_endpoint(program: &Program, key: &str) -> anyhow::Result<Outside<Inbox>> {
    let endpoint = Outside::open(|inbox: &mut Inbox, post| Reply::Status(inbox.receive(post.id, post.body)))?;
    let hook = json!({ "url": endpoint.url()?, "events": ["driver.location_changed"] });
    program.client(key).call("POST", "/v1/webhook-endpoints", &hook).await?;
    Ok(endpoint)
}

async fn await_webhooks(endpoint: &Outside<Inbox>, actors: &[Actor]) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLED_WITHIN;
    while !endpoint.with(|inbox| inbox.is_complete(actors))? {
        let words = || endpoint.with(|inbox| inbox.in_words());
        ensure!(Instant::now() < until, "not everything came within {SETTLED_WITHIN:?}: {}", words());
        tokio::time::sleep(POLL).await;
    }
    Ok(())
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
        let mut connection = open_database(database).await?;
        self.read_events(&mut connection).await?;
        for actor in actors {
            let Actor { name: driver, position, .. } = actor;
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
