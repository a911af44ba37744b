//! Tenon with tenants, their drivers and one endpoint each, and the receiver of the webhooks.

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
    drive::{LoadTarget, Pace, Sent, Tenant, Until, drive},
    event_log::{EventLog, SpanStats, mark_of},
};
use crate::{
    bench::{BenchPlan, servers::FLEET_GRANTS},
    guests,
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    receiver::{ReceivedRequest, Receiver, ReceiverResponse},
};

/// Timeout after the last request of a round. An event that has not arrived by then is lost, or far too slow.
const DRAIN_SECONDS_MAX: u64 = 120;
const POLL: Duration = Duration::from_millis(5);

/// Behaviour of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverBehaviour {
    /// Every request gets its response immediately.
    Healthy,
    /// The first endpoint never responds.
    OneHangs,
    /// Two of three requests get status 500. The host disables an endpoint only after days of failures.
    Failing,
}

pub struct WebhookScenario {
    pub program: Program,
    target: LoadTarget,
    /// Dropped last, because it must respond while the program stops.
    _receiver: Receiver,
}

impl WebhookScenario {
    /// Starts the program with `drivers` drivers for each tenant.
    pub async fn start(
        plan: &BenchPlan,
        tenants: usize,
        drivers: usize,
        behaviour: ReceiverBehaviour,
    ) -> anyhow::Result<WebhookScenario> {
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
        let folder = plan.folder.join("webhooks");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        WebhookScenario::start_in(ProgramPlan { binary, folder, plugins: fleet() }, (tenants, drivers), behaviour).await
    }

    /// Starts a second program beside a running one.
    pub async fn start_beside(
        plan: &BenchPlan,
        tenants: usize,
        drivers: usize,
        behaviour: ReceiverBehaviour,
    ) -> anyhow::Result<WebhookScenario> {
        let beside = BenchPlan { folder: plan.folder.join("beside"), ..plan.clone() };
        WebhookScenario::start(&beside, tenants, drivers, behaviour).await
    }

    async fn start_in(
        program: ProgramPlan,
        (tenants, drivers): (usize, usize),
        behaviour: ReceiverBehaviour,
    ) -> anyhow::Result<WebhookScenario> {
        let log = Arc::new(EventLog::start());
        let (arrivals, received) = (log.clone(), AtomicU64::new(0));
        let receiver = Receiver::start(tenants, move |request| {
            if let Some(mark) = mark_of(request.body) {
                arrivals.record_arrival(mark);
            }
            respond(behaviour, request, &received)
        })?;
        let program = Program::start(program).await?;
        let mut filled = Vec::with_capacity(tenants);
        for (endpoint, url) in receiver.urls().enumerate() {
            filled.push(fill(&program, endpoint, &url, drivers).await?);
        }
        let target = LoadTarget { address: program.public, tenants: Arc::new(filled), log };
        Ok(WebhookScenario { program, target, _receiver: receiver })
    }

    /// Runs one round. Returns after all acknowledged events have arrived, or after a timeout.
    pub async fn run(&self, pace: Pace, until: Until) -> anyhow::Result<(Sent, SpanStats)> {
        self.run_from(0, pace, until).await
    }

    /// Runs one round without the endpoint that may hang: its events are neither awaited nor counted.
    pub async fn run_on_others(&self, pace: Pace, until: Until) -> anyhow::Result<(Sent, SpanStats)> {
        self.run_from(1, pace, until).await
    }

    async fn run_from(&self, first: usize, pace: Pace, until: Until) -> anyhow::Result<(Sent, SpanStats)> {
        let sent = drive(self.target.clone(), pace, until).await?;
        let until_us = self.target.log.now_us() + DRAIN_SECONDS_MAX * 1_000_000;
        loop {
            let stats = self.target.log.stats(sent.span, first);
            if stats.arrived == stats.accepted || self.target.log.now_us() > until_us {
                return Ok((sent, stats));
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

fn fleet() -> Vec<PluginSection> {
    vec![PluginSection::new("fleet", &guests::component_path("fleet"), &FLEET_GRANTS)]
}

fn respond(behaviour: ReceiverBehaviour, request: &ReceivedRequest<'_>, received: &AtomicU64) -> ReceiverResponse {
    match behaviour {
        ReceiverBehaviour::OneHangs if request.endpoint == 0 => ReceiverResponse::Never,
        ReceiverBehaviour::Failing if !received.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) => {
            ReceiverResponse::Status(500)
        }
        ReceiverBehaviour::Healthy | ReceiverBehaviour::OneHangs | ReceiverBehaviour::Failing => {
            ReceiverResponse::Status(200)
        }
    }
}

async fn fill(program: &Program, endpoint: usize, url: &str, drivers: usize) -> anyhow::Result<Tenant> {
    let body = json!({ "plugin": "fleet", "tenant": format!("bench-{endpoint}"), "environment": "test" });
    let created = program.operator()?.call("POST", "/v1/keys", &body).await?;
    let key = created.get("key").and_then(Value::as_str).context("no key in the response")?.to_owned();
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
