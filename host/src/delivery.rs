//! Webhooks: what was committed goes to whom it was committed for, at least once.
//!
//! Owns when and what is sent, how it is signed, and what an answer means. Deliveries are rows that the transaction of
//! their event made (`db::apply`); the news of a commit wakes this room, nothing polls. The only place that decides when is
//! `schedule`, a pure state machine; `engine` is the hands around it: it tells it facts, starts what it says, and writes
//! what it decides.
//!
//! - `schedule`: which delivery is attempted when. `engine`: the loop around it. `lanes`: the endpoints as they are now.
//! - `attempt`: one request. `signing`: its signatures. `bodies`: what is to be sent soon. `record`: what came of it.
//! - `fan_out`: deliveries that were too many for the batch of their event.
//! - `change`: what the host itself changes: an endpoint that failed for too long, what operators want sent again.
//! - `views`: what operators see of lanes.
//!
//! Invariants: a delivery is noted as done only after the receiver said so; one that was under way when the process died is
//! sent again, with the same id and the same bytes.

mod attempt;
mod bodies;
mod change;
mod engine;
mod fan_out;
mod lanes;
mod record;
pub mod schedule;
pub mod signing;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    changes::{credential::Attribute, scope::Scope},
    clock::Clock,
    commit::committer::Committer,
    config::WebhookConfig,
    db::{Database, DbError},
    metrics::DeliveryMetrics,
    outbound::{Client, Outside},
    secrets::SecretText,
};

pub use change::{Change, change, change_for_operator};
pub use views::Views;

/// How webhooks of a plugin are to be delivered now; it changes with plugins.toml.
pub type Policies = Arc<dyn Fn(&str) -> WebhookConfig + Send + Sync>;

/// The API key that signs for a plugin and tenant now: one of the operators', or one that the plugin issued with this
/// attribute. An error is a sentence for the log.
pub type ApiKeys =
    Arc<dyn Fn(Scope, Option<Attribute>) -> BoxFuture<'static, Result<Option<SecretText>, String>> + Send + Sync>;

/// What deliveries are made of.
#[derive(Clone)]
pub struct Parts {
    pub database: Database,
    pub committer: Committer,
    pub client: Arc<Client>,
    pub outside: Arc<Outside>,
    pub policies: Policies,
    pub api_keys: ApiKeys,
    pub clock: Clock,
    pub metrics: DeliveryMetrics,
}

/// Delivers until it is stopped.
pub struct Delivery {
    engine: JoinHandle<()>,
    recorder: JoinHandle<()>,
    fan_out: JoinHandle<()>,
    views: Views,
}

impl Delivery {
    /// Returns when all endpoints are known. Before the first call of a plugin, so that no commit goes unnoticed.
    #[expect(clippy::disallowed_methods, reason = "the three workers of deliveries; `stop` awaits them")]
    pub async fn start(parts: Parts, stopped: watch::Receiver<bool>) -> Result<Delivery, DbError> {
        let (recorder, work) = record::Recorder::new(parts.database.clone());
        let (views, questions) = Views::new();
        let (ends, fan_out) = fan_out::FanOutTask::new(parts.database.clone());
        let engine = engine::Engine::open(parts, recorder, questions, ends).await?;
        let recorder = tokio::spawn(work.run(stopped.clone()));
        let fan_out = tokio::spawn(fan_out.run(stopped.clone()));
        Ok(Delivery { engine: tokio::spawn(engine.run(stopped)), recorder, fan_out, views })
    }

    pub fn views(&self) -> Views {
        self.views.clone()
    }

    /// Requests that are under way are not waited for: nobody knows how long they take, and they are made again at the next
    /// start. What they have come to is written down.
    pub async fn stop(self) {
        for task in [self.engine, self.recorder, self.fan_out] {
            if let Err(error) = task.await {
                tracing::error!("deliveries ended badly: {error}");
            }
        }
    }
}
