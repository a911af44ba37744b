//! Webhook delivery: sends committed events to the endpoints that subscribe to them, at least once.
//!
//! Owns when requests are sent, how they are signed, and how responses are interpreted. Deliveries are rows that are
//! created in the transaction of their event (`db::apply`), or after it (`fan_out`). Notifications of commits wake this
//! module. It does not poll the database. Only `schedule`, a pure state machine, decides when an attempt starts.
//! `engine` passes events to it, starts its attempts, and writes its decisions.
//!
//! - `schedule`: the start of each attempt. `engine`: the loop around it. `queues`: the current endpoints.
//! - `attempt`: one request. `signing`: its signatures. `event_cache`: events that are sent soon. `record`: writes
//!   outcomes.
//! - `fan_out`: deliveries that exceed the batch of their event.
//! - `command`: commands of the host: disable a failing endpoint, redeliver for an operator.
//! - `views`: the state of queues for operators.
//!
//! Invariants: a delivery is recorded as done only after the receiver has accepted it. A delivery that was in flight
//! when the process died is sent again with the same id and the same bytes.

mod attempt;
mod command;
mod engine;
mod event_cache;
mod fan_out;
mod queues;
mod record;
pub mod schedule;
pub mod signing;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};

use crate::{
    changes::{credential::Attribute, scope::Scope},
    clock::Clock,
    commit::committer::Committer,
    config::WebhookConfig,
    db::{Database, DbError},
    metrics::DeliveryMetrics,
    outbound::{Client, OutboundContext},
    secrets::SecretText,
};

pub use command::{EndpointCommand, apply_command, apply_operator_command};
pub use views::QueueViews;

/// Returns the current webhook configuration of a plugin, which changes with plugins.toml.
pub type Policies = Arc<dyn Fn(&str) -> WebhookConfig + Send + Sync>;

/// Returns the API key that currently signs for a plugin and tenant: a key of the operators, or a key that the plugin
/// issued with the attribute. The error is a log message.
pub type ApiKeys =
    Arc<dyn Fn(Scope, Option<Attribute>) -> BoxFuture<'static, Result<Option<SecretText>, String>> + Send + Sync>;

/// The dependencies of webhook delivery.
#[derive(Clone)]
pub struct DeliveryParts {
    pub database: Database,
    pub committer: Committer,
    pub client: Arc<Client>,
    pub outbound_context: Arc<OutboundContext>,
    pub policies: Policies,
    pub api_keys: ApiKeys,
    pub clock: Clock,
    pub metrics: DeliveryMetrics,
}

/// The running tasks of webhook delivery.
pub struct Delivery {
    engine: JoinHandle<()>,
    recorder: JoinHandle<()>,
    fan_out: JoinHandle<()>,
    views: QueueViews,
    /// Ends the engine. Once the host is stopping, the engine only records the attempts that end.
    end: oneshot::Sender<()>,
}

impl Delivery {
    /// Starts the tasks and returns when all endpoints are read. Must be called before the first call of a plugin, so
    /// that no commit is missed.
    #[expect(clippy::disallowed_methods, reason = "the three workers of deliveries; `stop` awaits them")]
    pub async fn start(parts: DeliveryParts, stopped: watch::Receiver<bool>) -> Result<Delivery, DbError> {
        let (recorder, work) = record::Recorder::new(parts.database.clone());
        let (views, view_requests) = QueueViews::new();
        let (ends, fan_out) = fan_out::FanOutTask::new(parts.database.clone());
        let engine = engine::Engine::open(parts, recorder, view_requests, ends).await?;
        let recorder = tokio::spawn(work.run(stopped.clone()));
        let fan_out = tokio::spawn(fan_out.run(stopped.clone()));
        let (end, ended) = oneshot::channel();
        Ok(Delivery { engine: tokio::spawn(engine.run(stopped, ended)), recorder, fan_out, views, end })
    }

    pub fn views(&self) -> QueueViews {
        self.views.clone()
    }

    /// Ends the tasks, which write the outcomes of all attempts that have ended by now. Does not wait for requests in
    /// flight, which may take long. They are sent again after the next start.
    pub async fn stop(self) {
        // An engine that has panicked is reported below.
        let _ended = self.end.send(());
        for task in [self.engine, self.recorder, self.fan_out] {
            if let Err(error) = task.await {
                tracing::error!("failed to stop a delivery task: {error}");
            }
        }
    }
}
