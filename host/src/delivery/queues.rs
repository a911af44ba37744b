//! The current endpoints, each with the data that an attempt needs.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::schedule::{QueueSettings, RetrySchedule, TenantId};
use crate::outbound::OutboundConfig;
use crate::{
    changes::{
        endpoint::{Endpoint, EndpointId},
        scope::Scope,
    },
    clock::Timestamp,
    config::WebhookConfig,
    db::apply::QueueId,
    limits::{RETRY_JITTER_PERCENT, UNSIGNED_LOG_INTERVAL_MS},
    outbound::{Target, UrlError, check_url},
};

/// An endpoint. A change replaces the whole value.
pub struct EndpointInfo {
    pub scope: Scope,
    pub id: EndpointId,
    pub endpoint: Endpoint,
    /// The URL, checked by the current address rules. They may reject a URL that was allowed when the endpoint was put.
    pub target: Result<Target, UrlError>,
    pub policy: Arc<Policy>,
    /// The time of the last warning that no API key signs for the endpoint.
    unsigned_warned_at: AtomicU64,
}

/// The delivery policy of one plugin: its configuration and the settings derived from it.
pub struct Policy {
    pub config: WebhookConfig,
    pub settings: Arc<QueueSettings>,
}

/// All endpoints by their queue.
#[derive(Default)]
pub struct Queues {
    queues: HashMap<QueueId, OpenQueue>,
    policies: HashMap<Arc<str>, Arc<Policy>>,
    tenants: HashMap<Scope, TenantId>,
}

struct OpenQueue {
    info: Arc<EndpointInfo>,
    failing_since: Option<Timestamp>,
}

impl Policy {
    fn new(config: WebhookConfig) -> Policy {
        let settings = Arc::new(QueueSettings {
            schedule: RetrySchedule::new(config.schedule_ms.clone(), RETRY_JITTER_PERCENT),
            disable_after_ms: config.disable_after_ms,
            ..QueueSettings::default()
        });
        Policy { config, settings }
    }
}

impl EndpointInfo {
    pub fn new(
        scope: Scope,
        id: EndpointId,
        endpoint: Endpoint,
        addresses: &OutboundConfig,
        policy: Arc<Policy>,
    ) -> EndpointInfo {
        let tenant = scope.tenant();
        let target = check_url(&endpoint.url, addresses.rule(tenant), OutboundConfig::scheme(tenant));
        EndpointInfo { scope, id, endpoint, target, policy, unsigned_warned_at: AtomicU64::new(0) }
    }

    /// Returns true if a warning about a missing API key is due, and records it. Limits the warnings to one per
    /// interval.
    pub fn may_warn_unsigned(&self, now: Timestamp) -> bool {
        let warned_at = self.unsigned_warned_at.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(warned_at) >= UNSIGNED_LOG_INTERVAL_MS;
        is_due && self.unsigned_warned_at.compare_exchange(warned_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Queues {
    pub fn find(&self, queue: QueueId) -> Option<&Arc<EndpointInfo>> {
        self.queues.get(&queue).map(|open| &open.info)
    }

    /// Adds or replaces an endpoint. `failing_since` is its stored health, which is used only if the endpoint is new
    /// here.
    pub fn put(&mut self, queue: QueueId, info: EndpointInfo, failing_since: Option<Timestamp>) {
        let info = Arc::new(info);
        match self.queues.get_mut(&queue) {
            Some(open) => open.info = info,
            None => {
                self.queues.insert(queue, OpenQueue { info, failing_since });
            }
        }
    }

    pub fn remove(&mut self, queue: QueueId) -> bool {
        self.queues.remove(&queue).is_some()
    }

    pub fn all(&self) -> Vec<QueueId> {
        self.queues.keys().copied().collect()
    }

    /// Sets the health of an endpoint. Returns true if it has changed.
    pub fn set_failing_since(&mut self, queue: QueueId, since: Option<Timestamp>) -> bool {
        let Some(open) = self.queues.get_mut(&queue) else { return false };
        std::mem::replace(&mut open.failing_since, since) != since
    }

    /// Returns the number of a tenant of a plugin. The first call assigns it.
    pub fn tenant(&mut self, scope: &Scope) -> TenantId {
        let next = self.tenants.len() as TenantId;
        *self.tenants.entry(scope.clone()).or_insert(next)
    }

    /// Returns the policy of a plugin. Only `change_policies` changes it, so that all endpoints of the plugin change
    /// together.
    pub fn policy(&mut self, plugin: &Arc<str>, config: impl Fn(&str) -> WebhookConfig) -> Arc<Policy> {
        self.policies.entry(plugin.clone()).or_insert_with(|| Arc::new(Policy::new(config(plugin)))).clone()
    }

    /// Updates the policies after a change of plugins.toml. Returns the queues whose policy has changed.
    pub fn change_policies(&mut self, config: impl Fn(&str) -> WebhookConfig) -> Vec<(QueueId, Arc<QueueSettings>)> {
        let mut changed = Vec::new();
        for (plugin, policy) in &mut self.policies {
            let current = config(plugin);
            if policy.config == current {
                continue;
            }
            *policy = Arc::new(Policy::new(current));
            for (queue, open) in self.queues.iter_mut().filter(|(_, open)| open.info.scope.plugin() == plugin) {
                let EndpointInfo { scope, id, endpoint, target, .. } = &*open.info;
                let (scope, id, endpoint, target) = (scope.clone(), id.clone(), endpoint.clone(), target.clone());
                let unsigned_warned_at = AtomicU64::new(open.info.unsigned_warned_at.load(Ordering::Relaxed));
                open.info =
                    Arc::new(EndpointInfo { scope, id, endpoint, target, policy: policy.clone(), unsigned_warned_at });
                changed.push((*queue, policy.settings.clone()));
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::testing::{endpoint, scope};

    fn config(timeout_ms: u64) -> WebhookConfig {
        WebhookConfig { timeout_ms, ..WebhookConfig::default() }
    }

    /// Writes an endpoint while plugins.toml has this configuration.
    fn write(queues: &mut Queues, queue: QueueId, current: &WebhookConfig) {
        let scope = scope("notes", "acme/test");
        let policy = queues.policy(scope.plugin(), |_| current.clone());
        let (endpoint, addresses) = (endpoint("https://example.com/hook"), OutboundConfig::default());
        queues.put(queue, EndpointInfo::new(scope, "ep".into(), endpoint, &addresses, policy), None);
    }

    #[test]
    fn policy_change_applies_to_all_endpoints_although_one_was_written_after_it() {
        let (before, after) = (config(1_000), config(2_000));
        let mut queues = Queues::default();
        write(&mut queues, QueueId(1), &before);
        write(&mut queues, QueueId(2), &before);
        write(&mut queues, QueueId(2), &after);
        let mut changed: Vec<_> = queues.change_policies(|_| after.clone()).iter().map(|(queue, _)| *queue).collect();
        changed.sort();
        assert_eq!(changed, [QueueId(1), QueueId(2)]);
        for queue in changed {
            assert_eq!(queues.find(queue).unwrap().policy.config, after);
        }
        assert!(queues.change_policies(|_| after.clone()).is_empty());
    }
}
