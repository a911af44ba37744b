//! Drivers that move under load: no acknowledged change is lost, none is applied twice, and no event is missing.
//!
//! Each actor moves its own driver from position n to n + 1. Therefore the events of a driver must be the positions
//! 1, 2, … n in this order, once each, and its record must be at n. A lost commit leaves a gap or an older record. A
//! commit that is applied twice repeats a number. A change without its event leaves a gap.
//!
//! All events go to a webhook endpoint. It must get each event, in the order of its driver, and again only after a
//! refusal or a kill (`inbox`).

use std::{collections::HashMap, path::Path, time::Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sqlx::{Connection as _, Row, SqliteConnection};

use super::{
    Actor, ActorRequest, CrashPlan, ExternalService, POLL, SETTLE_TIMEOUT, kill_after, kill_under_load, open_database,
    repeat_unanswered,
};
use crate::{
    guests,
    program::{PluginSection, Program},
    receiver::ReceiverResponse,
};
use inbox::Inbox;

mod inbox;
#[cfg(test)]
mod tests;

/// Returns the section of the plugin under load. Refused webhooks are retried soon. Old events are deleted, because the
/// events of five hundred rounds would take ten gigabytes.
pub fn fleet() -> PluginSection {
    let grants = ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
    let mut section = PluginSection::new("fleet", &guests::component_path("fleet"), &grants);
    section.extra_toml = "webhooks = { schedule-ms = [100, 200, 400, 800, 1600, 3200] }\n\
                    [retention.events]\nbytes-max = 536_870_912"
        .to_owned();
    section
}

#[derive(Clone, Debug, Default)]
pub struct CrashReport {
    pub rounds: usize,
    /// Requests answered with 2xx.
    pub acknowledged: u64,
    /// Requests that were sent without a response and repeated after the restart.
    pub repeated: u64,
    /// Webhooks, each counted once.
    pub delivered: u64,
    /// Webhooks that were delivered again because of a kill.
    pub redelivered: u64,
}

/// Runs all rounds. The first violated invariant is the error.
pub async fn run(plan: &CrashPlan) -> anyhow::Result<CrashReport> {
    let mut report = CrashReport::default();
    let mut program = Program::start(plan.program.clone()).await?;
    let key = program.create_key("fleet", "crash")?;
    let mut checker = EventChecker::default();
    let endpoint = open_endpoint(&program, &key).await?;
    let mut actors = create_actors(&program, &key, plan.actors).await?;
    for round in 0..plan.rounds {
        let stopped =
            kill_under_load(program, &key, &mut actors, kill_after(plan.kill_after_ms, plan.first_round + round))
                .await?;
        endpoint.wait_until_disconnected().await;
        endpoint.with(Inbox::record_kill);
        program = Program::start(stopped).await.with_context(|| format!("restart of round {round}"))?;
        report.repeated +=
            repeat_unanswered(&program, &key, &mut actors).await.with_context(|| format!("round {round}"))?;
        checker.check(&program.database_file(), &actors).await.with_context(|| format!("after round {round}"))?;
        await_webhooks(&endpoint, &actors).await.with_context(|| format!("webhooks after round {round}"))?;
        report.rounds += 1;
    }
    (report.delivered, report.redelivered) = endpoint.with(|inbox| (inbox.accepted(), inbox.repeated()));
    report.acknowledged = actors.iter().map(|actor| actor.position).sum();
    program.stop().await?;
    Ok(report)
}

async fn create_actors(program: &Program, key: &str, count: usize) -> anyhow::Result<Vec<Actor>> {
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

/// Returns the request that moves a driver to a position.
fn track(driver: &str, position: u64) -> ActorRequest {
    let body = json!({ "latitude": latitude(position), "longitude": 8.5 }).to_string();
    ActorRequest { path: format!("/v1/drivers/{driver}/track"), body, precondition: None }
}

/// Returns the latitude of a position: one millionth of a degree for each, exact in the decimal digits of JSON.
fn latitude(position: u64) -> f64 {
    position as f64 / 1_000_000.0
}

fn position_of(json: &Value) -> Option<u64> {
    let latitude = json.get("latitude").and_then(Value::as_f64);
    // GeoJSON order: longitude, latitude.
    let latitude = latitude.or_else(|| json.pointer("/location/coordinates/1").and_then(Value::as_f64));
    latitude.map(|degrees| (degrees * 1_000_000.0).round() as u64)
}

/// Creates the endpoint that gets all events.
async fn open_endpoint(program: &Program, key: &str) -> anyhow::Result<ExternalService<Inbox>> {
    let endpoint = ExternalService::open(|inbox: &mut Inbox, request| {
        ReceiverResponse::Status(inbox.receive(request.id, request.body))
    })?;
    let hook = json!({ "url": endpoint.url()?, "events": ["driver.location_changed"] });
    program.client(key).call("POST", "/v1/webhook-endpoints", &hook).await?;
    Ok(endpoint)
}

async fn await_webhooks(endpoint: &ExternalService<Inbox>, actors: &[Actor]) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    while !endpoint.with(|inbox| inbox.is_complete(actors))? {
        let progress = || endpoint.with(|inbox| inbox.progress());
        ensure!(Instant::now() < until, "webhooks are missing after {SETTLE_TIMEOUT:?}: {}", progress());
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Events read from the database so far. Each event is read once, in database order.
#[derive(Default)]
struct EventChecker {
    /// Sequence numbers of the events that were read, in ascending order.
    seqs: Vec<i64>,
    /// Position of the last event by driver.
    positions: HashMap<String, u64>,
}

impl EventChecker {
    async fn check(&mut self, database: &Path, actors: &[Actor]) -> anyhow::Result<()> {
        let mut connection = open_database(database).await?;
        self.read_events(&mut connection).await?;
        for actor in actors {
            let Actor { name: driver, position, .. } = actor;
            let last = self.positions.get(driver).copied().unwrap_or(0);
            ensure!(last == *position, "{driver}: events up to {last}, acknowledged up to {position}");
            let stored = find_position(&mut connection, driver).await?;
            ensure!(stored == *position, "{driver}: the record is at {stored}, acknowledged up to {position}");
        }
        self.check_count(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }

    /// Checks that no event was deleted after it was read, except the oldest ones, which retention deletes.
    async fn check_count(&self, connection: &mut SqliteConnection) -> anyhow::Result<()> {
        let query = sqlx::query(
            "SELECT count(*), coalesce((SELECT min(seq) FROM events), 0) FROM events \
             WHERE type = 'driver.location_changed'",
        );
        let row = query.fetch_one(connection).await?;
        let (events, oldest): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let changes = self.seqs.len() - self.seqs.partition_point(|seq| *seq < oldest);
        ensure!(usize::try_from(events)? == changes, "{events} events for {changes} acknowledged changes");
        Ok(())
    }

    async fn read_events(&mut self, connection: &mut SqliteConnection) -> anyhow::Result<()> {
        let query = sqlx::query(
            "SELECT seq, subject, body FROM events WHERE type = 'driver.location_changed' AND seq > ? ORDER BY seq",
        );
        for row in query.bind(self.seqs.last().copied().unwrap_or(0)).fetch_all(connection).await? {
            let driver: String = row.try_get(1)?;
            let body: Value = serde_json::from_str(row.try_get(2)?)?;
            let position = body.get("data").and_then(position_of).with_context(|| format!("no position in {body}"))?;
            let last = self.positions.entry(driver).or_default();
            ensure!(position == *last + 1, "an event of position {position} after one of {last}: {body}");
            *last = position;
            self.seqs.push(row.try_get(0)?);
        }
        Ok(())
    }
}

async fn find_position(connection: &mut SqliteConnection, driver: &str) -> anyhow::Result<u64> {
    let query = sqlx::query("SELECT body FROM \"fleet_drivers\" WHERE id = ?");
    let row = query.bind(driver).fetch_one(connection).await?;
    let body: Value = serde_json::from_str(row.try_get(0)?)?;
    Ok(position_of(&body).unwrap_or(0))
}
