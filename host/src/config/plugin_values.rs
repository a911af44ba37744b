//! Settings of one plugin, as typed values: its limits, webhooks, tasks and destinations. `plugin` and `destination` read them.

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
    /// "/" or "/prefix"; the paths of the manifest lie below it.
    pub mount: String,
    /// Interfaces of `tenon:plugin/*` that it may import: "records", "events", …
    pub grants: Vec<String>,
    /// Whether its `keyring` may show private keys.
    pub shows_private_keys: bool,
    /// Headers for the whole origin that its answers may carry; names in lower case.
    pub origin_headers: Vec<String>,
    /// Lines for people to try it, with "{url}" and "{key}" in them.
    pub examples: Vec<String>,
    pub limits: PluginLimits,
    pub webhooks: WebhookConfig,
    pub tasks: TaskConfig,
    /// Servers that its calls may go to, by name.
    pub destinations: BTreeMap<Arc<str>, Arc<DestinationConfig>>,
    /// The plugin's own section, as JSON by key.
    pub settings: BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PluginLimits {
    /// Milliseconds of one call, all re-runs and waiting included, where the route gives no deadline.
    pub deadline_ms: u64,
    /// Milliseconds that the guest may compute in one run.
    pub compute_ms: u64,
    /// Over all linear memories of one instance.
    pub memory_bytes: u64,
    pub answer_bytes: u64,
    /// Host calls in one run.
    pub host_calls: u64,
    /// Bytes of all host calls' arguments in one run.
    pub host_call_bytes: u64,
    /// Calls that run at the same time.
    pub calls: usize,
    /// Calls that wait for a turn; the next one gets 503.
    pub queue: usize,
    /// Percent of both that one tenant may take.
    pub tenant_percent: u64,
    pub component_bytes: u64,
    /// Functions of the component, in all of its core modules together.
    pub functions: u64,
    /// Bytes of the code of one function.
    pub function_bytes: u64,
    /// Requests a second for one key; 0: no limit.
    pub rate_per_second: u32,
    /// How many of them may come at once; 0 only where there is no limit.
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
            rate_per_second: keys::RATE.default as u32,
            rate_burst: keys::BURST.default as u32,
        }
    }
}

/// How the webhooks of one plugin are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookConfig {
    /// Between attempts.
    pub schedule_ms: Vec<u64>,
    pub success: Success,
    pub timeout_ms: u64,
    /// `None`: never.
    pub disable_after_ms: Option<u64>,
}

/// How tasks of one plugin are tried again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskConfig {
    /// Between runs that end in a fault; one run more than there are delays, the last of them marked as such. `None`: what
    /// the task declares.
    pub delays_ms: Option<Vec<u64>>,
}

/// Which answers count as delivered.
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

/// A server that calls of a plugin may go to, as named by the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationConfig {
    pub kind: DestinationKind,
    /// Limit of an attempt; a call may request less. `None`: no limit of the operator.
    pub timeout_ms: Option<u64>,
    /// Whether tenants in the test environment, in the live environment, see it.
    pub test: bool,
    pub live: bool,
    /// Organizations, or tenants ("acme/live"), that it is named for; empty: all.
    pub tenants: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DestinationKind {
    /// Nothing is sent: messages are stored for people to look at.
    Outbox,
    Server {
        base_url: String,
        login: Login,
    },
    /// A plugin of this host; the paths are those below its mount.
    Plugin {
        name: Arc<str>,
        /// Organization that calls act for, in the caller's environment; `None`: the caller's own.
        organization: Option<Arc<str>>,
    },
}

impl DestinationConfig {
    /// Whether the operator's name counts for a tenant such as "acme/live"; for others there is no such name.
    pub fn is_named_for(&self, tenant: &str) -> bool {
        let organization = tenant.rsplit_once('/').map_or(tenant, |(organization, _)| organization);
        self.tenants.is_empty() || self.tenants.iter().any(|named| named == tenant || named == organization)
    }

    /// Whether a tenant such as "acme/live", for which it is named, sees it.
    pub fn is_for(&self, tenant: &str) -> bool {
        if is_live(tenant) { self.live } else { self.test }
    }
}
