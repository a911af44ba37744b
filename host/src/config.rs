//! `plugins.toml` and the environment, as typed values. The only reader of either.
//!
//! Every mistake is reported at once, with the line where it stands. A key that is not known is an error.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    Development,
    Production,
}

/// Everything that the host was told, with defaults filled in.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it was read from; component paths are relative to its folder.
    pub file: PathBuf,
    pub environment: Environment,
    pub listen: SocketAddr,
    pub admin_listen: SocketAddr,
    pub data_dir: PathBuf,
    /// "sqlite:PATH"; absent: `tenon.db` in the data folder.
    pub database_url: String,
    pub http: HttpConfig,
    pub retention: Vec<RetentionRule>,
    /// Below this many free bytes on the disk of the database, writing routes answer 503.
    pub free_disk_bytes_min: u64,
    pub plugins: BTreeMap<Arc<str>, PluginConfig>,
}

#[derive(Clone, Debug)]
pub struct HttpConfig {
    pub connections_max: usize,
    pub header_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub body_bytes_max: u64,
    /// Milliseconds that running requests get at shutdown.
    pub shutdown_ms: u64,
    /// Origins that browsers may call from; empty: CORS is off.
    pub cors_origins: Vec<String>,
    /// Peers whose X-Forwarded-For and X-Forwarded-Proto are believed.
    pub trusted_proxies: Vec<std::net::IpAddr>,
}

/// How long rows of one kind are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct RetentionRule {
    /// "answers", "events", "journal", "swaps", "batches".
    pub kind: String,
    pub age_ms_max: Option<u64>,
    pub bytes_max: Option<u64>,
}

/// One `[plugins.NAME]` section.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    pub component: PathBuf,
    /// "/" or "/prefix"; the paths of the manifest lie below it.
    pub mount: String,
    /// Interfaces of `tenon:plugin/*` that it may import: "records", "events", …
    pub grants: Vec<String>,
    pub limits: PluginLimits,
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
    pub component_bytes: u64,
    /// Requests a second for one key, and how many may come at once; 0: no limit.
    pub rate_per_second: u32,
    pub rate_burst: u32,
}

impl Default for PluginLimits {
    fn default() -> PluginLimits {
        PluginLimits {
            deadline_ms: 10_000,
            compute_ms: 1_000,
            memory_bytes: 64 << 20,
            answer_bytes: 8 << 20,
            host_calls: 10_000,
            host_call_bytes: 32 << 20,
            calls: 64,
            queue: 1_024,
            component_bytes: 64 << 20,
            rate_per_second: 0,
            rate_burst: 0,
        }
    }
}
