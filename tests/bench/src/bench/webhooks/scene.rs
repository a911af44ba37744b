//! Tenon with tenants, their drivers and an endpoint each, and the receiver that they deliver to.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    drive::{Driven, Pace, Sent, Tenant, Until, drive},
    log::{Log, Tally, mark_of},
};
use crate::{
    bench::{BenchPlan, servers::FLEET_GRANTS},
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    receiver::{Post, Receiver, Reply},
};

/// After the last request of a round: who has not delivered by then has lost it, or is far too slow.
const DRAIN_SECONDS_MAX: u64 = 120;
const POLL: Duration = Duration::from_millis(5);

/// How the receiver behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Every request is answered at once.
    Well,
    /// The first endpoint never answers.
    OneHangs,
    /// Two of three requests get 500: never so many in a row that an endpoint counts as dead.
    Failing,
}

pub struct Scene {
    pub program: Program,
    driven: Driven,
    /// Dropped last: it answers while the program ends.
    _receiver: Receiver,
}

impl Scene {
    /// `drivers`: of each tenant.
    pub async fn start(plan: &BenchPlan, tenants: usize, drivers: usize, mood: Mood) -> anyhow::Result<Scene> {
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
        let folder = plan.folder.join("webhooks");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        Scene::start_in(ProgramPlan { binary, folder, plugins: fleet() }, (tenants, drivers), mood).await
    }

    /// Beside one that runs already.
    pub async fn start_beside(plan: &BenchPlan, tenants: usize, drivers: usize, mood: Mood) -> anyhow::Result<Scene> {
        let beside = BenchPlan { folder: plan.folder.join("beside"), ..plan.clone() };
        Scene::start(&beside, tenants, drivers, mood).await
    }

    async fn start_in(program: ProgramPlan, (tenants, drivers): (usize, usize), mood: Mood) -> anyhow::Result<Scene> {
        let log = Arc::new(Log::begin());
        let (noted, seen) = (log.clone(), AtomicU64::new(0));
        let receiver = Receiver::start(tenants, move |post| {
            if let Some(mark) = mark_of(post.body) {
                noted.arrived(mark);
            }
            reply(mood, post, &seen)
        })?;
        let program = Program::start(program).await?;
        let mut filled = Vec::with_capacity(tenants);
        for (endpoint, url) in receiver.urls().enumerate() {
            filled.push(fill(&program, endpoint, &url, drivers).await?);
        }
        let driven = Driven { address: program.public, tenants: Arc::new(filled), log };
        Ok(Scene { program, driven, _receiver: receiver })
    }

    /// One round; returns when everything that was acknowledged has arrived, or never will.
    pub async fn run(&self, pace: Pace, until: Until) -> anyhow::Result<(Sent, Tally)> {
        self.run_from(0, pace, until).await
    }

    /// The same; what goes to the endpoint that may hang is neither waited for nor counted.
    pub async fn run_on_others(&self, pace: Pace, until: Until) -> anyhow::Result<(Sent, Tally)> {
        self.run_from(1, pace, until).await
    }

    async fn run_from(&self, first: usize, pace: Pace, until: Until) -> anyhow::Result<(Sent, Tally)> {
        let sent = drive(self.driven.clone(), pace, until).await?;
        let until_us = self.driven.log.now_us() + DRAIN_SECONDS_MAX * 1_000_000;
        loop {
            let tally = self.driven.log.tally(sent.span, first);
            if tally.arrived == tally.accepted || self.driven.log.now_us() > until_us {
                return Ok((sent, tally));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

fn fleet() -> Vec<PluginSection> {
    vec![PluginSection::new("fleet", &guests::component_path("fleet"), &FLEET_GRANTS)]
}

fn reply(mood: Mood, post: &Post<'_>, seen: &AtomicU64) -> Reply {
    match mood {
        Mood::OneHangs if post.endpoint == 0 => Reply::Never,
        Mood::Failing if !seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) => Reply::Status(500),
        Mood::Well | Mood::OneHangs | Mood::Failing => Reply::Status(200),
    }
}

async fn fill(program: &Program, endpoint: usize, url: &str, drivers: usize) -> anyhow::Result<Tenant> {
    let asked = json!({ "plugin": "fleet", "tenant": format!("bench-{endpoint}"), "environment": "test" });
    let created = program.operator()?.call("POST", "/v1/keys", &asked).await?;
    let key = created.get("key").and_then(Value::as_str).context("no key in the answer")?.to_owned();
    let mut client = program.client(&key);
    let hook = json!({ "url": url, "events": ["driver.location_changed"] });
    client.call("POST", "/v1/webhook-endpoints", &hook).await?;
    let mut ids = Vec::with_capacity(drivers);
    for number in 0..drivers {
        let driver = json!({ "name": format!("Driver {number}"), "email": format!("driver-{number}@example.com"),
            "phone": format!("+1555{number:07}") });
        let created = client.call("POST", "/v1/drivers", &driver).await?;
        ids.push(created.get("id").and_then(Value::as_str).context("a driver without an id")?.to_owned());
    }
    Ok(Tenant { key, drivers: ids, endpoint })
}
