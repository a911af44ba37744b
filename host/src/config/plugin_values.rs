//! Typed settings of one plugin: limits, webhooks, tasks and destinations. `plugin` and `destination` read them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::keys;
use crate::{
    limits,
    outbound::{Login, is_live},
};

/// A `[plugins.NAME]` section.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    pub component: PathBuf,
    /// "/" or "/prefix". It precedes the paths of the manifest.
    pub mount: String,
    /// Interfaces of `tenon:plugin/*` that the plugin may import: "records", "events", …
    pub grants: Vec<String>,
    /// True if its `keyring` may return private keys.
    pub shows_private_keys: bool,
    /// Origin-wide headers that its answers may have, in lower case.
    pub origin_headers: Vec<String>,
    /// Example requests for people, with "{url}" and "{key}" as placeholders.
    pub examples: Vec<String>,
    pub limits: PluginLimits,
    pub webhooks: WebhookConfig,
    pub tasks: TaskConfig,
    /// Destinations of its calls, by name.
    pub destinations: BTreeMap<Arc<str>, Arc<DestinationConfig>>,
    /// The `settings` section of the plugin, as JSON by key.
    pub settings: BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PluginLimits {
    /// Milliseconds of one call including re-runs and waiting, if the route declares no deadline.
    pub deadline_ms: u64,
    /// Milliseconds that the guest may compute in one run.
    pub compute_ms: u64,
    /// Total of all linear memories of one instance.
    pub memory_bytes: u64,
    pub answer_bytes: u64,
    /// Host calls in one run.
    pub host_calls: u64,
    /// Bytes of the arguments of all host calls in one run.
    pub host_call_bytes: u64,
    /// Concurrent calls.
    pub calls: usize,
    /// Calls that wait for a permit. Further calls get 503.
    pub queue: usize,
    /// Percentage of `calls` and of `queue` that one tenant, or one address without a key, may use.
    pub tenant_percent: u64,
    pub component_bytes: u64,
    /// Functions of the component in all of its core modules together.
    pub functions: u64,
    /// Code size of one function.
    pub function_bytes: u64,
    /// Published components whose bytes are kept for a rollback, including the serving one.
    pub components_kept: usize,
    /// Requests per second for one key. 0 means no limit.
    pub rate_per_second: u32,
    /// Burst of requests for one key. 0 only if there is no limit.
    pub rate_burst: u32,
}

impl Default for PluginLimits {
    fn default() -> PluginLimits {
        PluginLimits {
            deadline_ms: keys::DEADLINE.default,
            compute_ms: keys::COMPUTE.default,
            memory_bytes: keys::MEMORY.default,
            answer_bytes: keys::ANSWER.default,
            host_calls: keys::HOST_CALLS.default,
            host_call_bytes: keys::HOST_CALL_BYTES.default,
            calls: keys::CALLS.default as usize,
            queue: keys::QUEUE.default as usize,
            tenant_percent: keys::TENANT_CALLS.default,
            component_bytes: keys::COMPONENT_BYTES.default,
            functions: keys::FUNCTIONS.default,
            function_bytes: keys::FUNCTION_BYTES.default,
            components_kept: keys::COMPONENTS_KEPT.default as usize,
            rate_per_second: keys::RATE.default as u32,
            rate_burst: keys::BURST.default as u32,
        }
    }
}

/// How the webhooks of one plugin are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookConfig {
    /// Delays between attempts.
    pub schedule_ms: Vec<u64>,
    pub success: Success,
    pub timeout_ms: u64,
    /// `None` if endpoints are never disabled.
    pub disable_after_ms: Option<u64>,
}

/// How tasks of one plugin are retried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskConfig {
    /// Delays between runs that end in a fault. A task has one run more than there are delays, and the last run is
    /// marked as the last. `None` uses the delays that the task declares.
    pub delays_ms: Option<Vec<u64>>,
}

/// Responses that count as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    Any2xx,
    Only200,
}

impl Default for WebhookConfig {
    fn default() -> WebhookConfig {
        WebhookConfig {
            schedule_ms: limits::RETRY_DELAYS_MS.to_vec(),
            success: Success::Any2xx,
            timeout_ms: keys::WEBHOOK_TIMEOUT.default,
            disable_after_ms: Some(keys::DISABLE_AFTER.default),
        }
    }
}

/// A destination of a plugin's calls, as configured by the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationConfig {
    pub kind: DestinationKind,
    /// Limit of an attempt. A call may request less. `None` if the operator sets no limit.
    pub timeout_ms: Option<u64>,
    /// True if tenants of the test environment may use it.
    pub test: bool,
    /// True if tenants of the live environment may use it.
    pub live: bool,
    /// Organizations, or tenants ("acme/live"), that may use it. Empty means all.
    pub tenants: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DestinationKind {
    /// Messages are stored for people to read, and not sent.
    Outbox,
    Server {
        base_url: String,
        login: Login,
    },
    /// A plugin of this host. Paths are below its mount.
    Plugin {
        name: Arc<str>,
        /// Organization on whose behalf calls are made, in the caller's environment. `None` is the caller's own.
        organization: Option<Arc<str>>,
    },
}

impl DestinationConfig {
    /// Returns true if the operator configured it for a tenant such as "acme/live".
    pub fn is_named_for(&self, tenant: &str) -> bool {
        let organization = tenant.rsplit_once('/').map_or(tenant, |(organization, _)| organization);
        self.tenants.is_empty() || self.tenants.iter().any(|named| named == tenant || named == organization)
    }

    /// Returns true if it is available in the environment of a tenant such as "acme/live".
    pub fn is_for(&self, tenant: &str) -> bool {
        if is_live(tenant) { self.live } else { self.test }
    }
}
