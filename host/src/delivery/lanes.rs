//! The endpoints as they are now, each with what an attempt needs to know of it.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::schedule::{LaneSettings, RetrySchedule, TenantId};
use crate::clock::Timestamp;
use crate::outbound::OutboundConfig;
use crate::{
    changes::{endpoint::Endpoint, scope::Scope},
    config::WebhookConfig,
    db::apply::Lane,
    limits::{RETRY_JITTER_PERCENT, UNSIGNED_TOLD_MS},
    outbound::{Target, UrlRefusal, check_url},
};

/// One endpoint. Replaced as a whole when it changes.
pub struct LaneFacts {
    pub scope: Scope,
    pub id: Arc<str>,
    pub endpoint: Endpoint,
    /// Judged by the rules of today: what was allowed when it was put may not be any more.
    pub target: Result<Target, UrlRefusal>,
    pub policy: Arc<Policy>,
    /// When the log last said that no API key signs for it.
    unsigned_told_at: AtomicU64,
}

/// How the webhooks of one plugin are delivered, in the words of those who do it.
pub struct Policy {
    pub config: WebhookConfig,
    pub settings: Arc<LaneSettings>,
}

/// All endpoints that there are.
#[derive(Default)]
pub struct Lanes {
    lanes: HashMap<Lane, Open>,
    policies: HashMap<Arc<str>, Arc<Policy>>,
    tenants: HashMap<Scope, TenantId>,
}

struct Open {
    facts: Arc<LaneFacts>,
    failing_since: Option<Timestamp>,
}

impl Policy {
    fn new(config: WebhookConfig) -> Policy {
        let settings = Arc::new(LaneSettings {
            schedule: RetrySchedule::new(config.schedule_ms.clone(), RETRY_JITTER_PERCENT),
            disable_after_ms: config.disable_after_ms,
            ..LaneSettings::default()
        });
        Policy { config, settings }
    }
}

impl LaneFacts {
    pub fn new(
        scope: Scope,
        id: Arc<str>,
        endpoint: Endpoint,
        addresses: &OutboundConfig,
        policy: Arc<Policy>,
    ) -> LaneFacts {
        let tenant = scope.tenant();
        let target = check_url(&endpoint.url, addresses.rule(tenant), OutboundConfig::scheme(tenant));
        LaneFacts { scope, id, endpoint, target, policy, unsigned_told_at: AtomicU64::new(0) }
    }

    /// Whether the log may say now that no API key signs for it: not once for each attempt.
    pub fn may_tell_unsigned(&self, now: Timestamp) -> bool {
        let told_at = self.unsigned_told_at.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(told_at) >= UNSIGNED_TOLD_MS;
        is_due && self.unsigned_told_at.compare_exchange(told_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Lanes {
    pub fn find(&self, lane: Lane) -> Option<&Arc<LaneFacts>> {
        self.lanes.get(&lane).map(|open| &open.facts)
    }

    /// Adds or replaces an endpoint. `failing_since` is the stored health of an endpoint that is new here.
    pub fn put(&mut self, lane: Lane, facts: LaneFacts, failing_since: Option<Timestamp>) {
        let facts = Arc::new(facts);
        match self.lanes.get_mut(&lane) {
            Some(open) => open.facts = facts,
            None => {
                self.lanes.insert(lane, Open { facts, failing_since });
            }
        }
    }

    pub fn remove(&mut self, lane: Lane) -> bool {
        self.lanes.remove(&lane).is_some()
    }

    pub fn all(&self) -> Vec<Lane> {
        self.lanes.keys().copied().collect()
    }

    /// Whether this is news.
    pub fn note_failing(&mut self, lane: Lane, since: Option<Timestamp>) -> bool {
        let Some(open) = self.lanes.get_mut(&lane) else { return false };
        std::mem::replace(&mut open.failing_since, since) != since
    }

    /// One number for each tenant of each plugin.
    pub fn tenant(&mut self, scope: &Scope) -> TenantId {
        let next = self.tenants.len() as TenantId;
        *self.tenants.entry(scope.clone()).or_insert(next)
    }

    /// How the plugin's webhooks are delivered; the same value as long as nothing has changed.
    pub fn policy(&mut self, plugin: &Arc<str>, config: WebhookConfig) -> Arc<Policy> {
        match self.policies.get(plugin) {
            Some(policy) if policy.config == config => policy.clone(),
            _ => {
                let policy = Arc::new(Policy::new(config));
                self.policies.insert(plugin.clone(), policy.clone());
                policy
            }
        }
    }

    /// After a change of plugins.toml: the lanes of plugins whose policy is another one now.
    pub fn change_policies(&mut self, config: impl Fn(&str) -> WebhookConfig) -> Vec<(Lane, Arc<LaneSettings>)> {
        let plugins: Vec<Arc<str>> = self.policies.keys().cloned().collect();
        let mut changed = Vec::new();
        for plugin in plugins {
            let before = self.policies.get(&plugin).cloned();
            let after = self.policy(&plugin, config(&plugin));
            if before.is_some_and(|before| Arc::ptr_eq(&before, &after)) {
                continue;
            }
            for (lane, open) in self.lanes.iter_mut().filter(|(_, open)| *open.facts.scope.plugin() == plugin) {
                let LaneFacts { scope, id, endpoint, target, .. } = &*open.facts;
                let (scope, id, endpoint, target) = (scope.clone(), id.clone(), endpoint.clone(), target.clone());
                let unsigned_told_at = AtomicU64::new(open.facts.unsigned_told_at.load(Ordering::Relaxed));
                open.facts =
                    Arc::new(LaneFacts { scope, id, endpoint, target, policy: after.clone(), unsigned_told_at });
                changed.push((*lane, after.settings.clone()));
            }
        }
        changed
    }
}
