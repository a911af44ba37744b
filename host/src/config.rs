//! Reads `plugins.toml`, flags and environment variables into typed values. No other module reads them, except that
//! `clap` fills some flags of the command line from variables (TENON_ADMIN, TENON_DATA_DIR, TENON_DATABASE,
//! TENON_WEBHOOK_SECRET, USER).
//!
//! All mistakes are reported at once, each with its line and a remedy. If the file is not TOML, only the first syntax
//! error is reported. An unknown key is an error. A flag overrides an environment variable, which overrides the file,
//! which overrides the default.
//!
//! - `keys`: every key with bounds, default and description. `reference`: renders them for people.
//! - `sources`: flags and variables. `section`: one table of the file while it is read. `mistakes`: the reported
//!   mistakes.
//! - `file`: the whole file. `syntax`: syntax errors. `oauth`: tokens. `plugin`: one plugin's section.
//! - `destination`: one destination of a plugin's calls. `plugin_values`: typed values of both.
//! - `layered`: settings that may be given in several sources. `memory_plan`: the memory that all limits together
//!   allow.
//! - `certificates`: certificate files. `production`: settings that are rejected or cause a warning in production.

mod certificates;
mod destination;
mod file;
pub mod keys;
mod layered;
pub mod memory_plan;
pub mod mistakes;
mod oauth;
mod plugin;
mod plugin_values;
mod production;
pub mod reference;
mod section;
pub mod sources;
mod syntax;

use std::{
    collections::BTreeMap,
    io::Read,
    net::SocketAddr,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use destination::check_destination_name;
pub use keys::ORIGIN_HEADER_NAMES;
pub use mistakes::{ConfigError, Mistake, Severity};
pub use plugin_values::{
    DestinationConfig, DestinationKind, PluginConfig, PluginLimits, Success, TaskConfig, WebhookConfig,
};
pub use sources::{Flags, Variables};

use crate::{
    budget::{MemoryConfig, machine},
    limits,
    outbound::OutboundConfig,
    secrets::{SecretText, certificate::CertificateFiles},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    Development,
    Production,
}

/// The whole configuration with defaults filled in.
#[derive(Clone, Debug)]
pub struct Config {
    /// Path of the file. Component paths are relative to its folder.
    pub file: PathBuf,
    pub environment: Environment,
    pub listen: SocketAddr,
    pub admin_listen: SocketAddr,
    /// Lower-case names that the operators' listener accepts in the Host header, besides localhost and IP addresses.
    pub admin_hosts: Vec<String>,
    /// Base URL of the interfaces for callers, "https://api.example.com". `None` if it is not set.
    pub public_url: Option<String>,
    pub data_dir: PathBuf,
    /// "sqlite:PATH". The default is `tenon.db` in the data folder.
    pub database_url: String,
    /// The value of TENON_MASTER_KEY. If it is not set, the keys are in `master.key` in the data folder.
    pub master_key: Option<SecretText>,
    pub http: HttpConfig,
    pub outbound: OutboundConfig,
    pub chains: ChainsConfig,
    pub compile: CompileConfig,
    pub oauth: OAuthConfig,
    pub retention: Vec<RetentionRule>,
    /// If the disk of the database has fewer free bytes, writing routes return 503.
    pub free_disk_bytes_min: u64,
    pub memory: MemoryConfig,
    pub plugins: BTreeMap<Arc<str>, PluginConfig>,
    /// True if each request to the interfaces is logged.
    pub access_log: bool,
    /// Warnings for the operator. The host starts in spite of them.
    pub warnings: Vec<Mistake>,
}

/// Settings of the blockchains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainsConfig {
    pub simulated: bool,
    /// Block time of simulated blockchains.
    pub block_ms: u64,
}

/// Limits of the child processes that compile components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileConfig {
    /// Maximum writable memory of one compilation. A small component gets less.
    pub memory_bytes: u64,
    /// Maximum time of one compilation from its start, in milliseconds.
    pub time_ms: u64,
    /// Concurrent compilations.
    pub concurrent: usize,
}

impl Default for CompileConfig {
    fn default() -> CompileConfig {
        CompileConfig {
            memory_bytes: keys::COMPILE_MEMORY.default,
            time_ms: keys::COMPILE_TIME.default,
            concurrent: keys::COMPILE_CONCURRENT.default as usize,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpConfig {
    pub connections_max: usize,
    /// Limit for one peer that is not a trusted proxy.
    pub connections_per_peer_max: usize,
    pub header_timeout_ms: u64,
    pub body_timeout_ms: u64,
    pub body_bytes_max: u64,
    /// Milliseconds within which a reader must accept more of an answer.
    pub answer_stall_ms: u64,
    /// Bytes per second that a reader must accept, measured over `answer_stall_ms`.
    pub answer_rate_min: u64,
    /// Milliseconds that running requests get at shutdown.
    pub shutdown_ms: u64,
    /// Origins that browsers may call from. Empty if CORS is off.
    pub cors_origins: Vec<String>,
    /// Peers whose X-Forwarded-For and X-Forwarded-Proto are trusted. IPv4-mapped IPv6 addresses are stored as IPv4.
    pub trusted_proxies: Vec<std::net::IpAddr>,
    /// Certificate of `listen`. `None` for plain HTTP.
    pub tls: Option<CertificateFiles>,
}

#[cfg(test)]
impl HttpConfig {
    /// Returns settings with long timeouts and plain HTTP.
    pub fn for_tests() -> HttpConfig {
        HttpConfig {
            connections_max: 100,
            connections_per_peer_max: 100,
            header_timeout_ms: 30_000,
            body_timeout_ms: 30_000,
            body_bytes_max: 1 << 20,
            answer_stall_ms: 30_000,
            answer_rate_min: 0,
            shutdown_ms: 30_000,
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            tls: None,
        }
    }
}

/// Returns true for a valid name of an organization, as for keys.
fn is_organization(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Returns true for an organization and an environment: "acme/test".
pub fn is_tenant(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(name, environment)| is_organization(name) && (environment == "test" || environment == "live"))
}

/// Tokens that the host issues, and external issuers that it accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuthConfig {
    /// "https://api.example.com". `None` if it is not set.
    pub issuer: Option<String>,
    /// "RS256", "ES256" or "EdDSA".
    pub algorithm: String,
    pub token_ms: u64,
    pub issuers: Vec<IssuerConfig>,
}

/// One `[oauth.issuers.NAME]` section.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuerConfig {
    pub name: Arc<str>,
    pub issuer: String,
    pub plugin: Arc<str>,
    pub audience: String,
    /// In lower case, without "application/".
    pub token_type: String,
    pub keys: IssuerKeys,
    pub tenant_claim: Option<String>,
    /// "organization/environment" by client id.
    pub clients: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum IssuerKeys {
    Url(String),
    /// Content of the file. It is parsed when the host starts.
    Text(String),
}

/// Limits of age and size for rows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct RetentionRule {
    /// "answers", "events", "deliveries", "journal", "swaps", "outbox", "batches".
    pub kind: String,
    pub age_ms_max: Option<u64>,
    pub bytes_max: Option<u64>,
}

/// The file that is read if neither a flag nor `TENON_CONFIG` names one.
const DEFAULT_FILE: &str = "plugins.toml";

/// The purpose that the configuration is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To start the host. Files that it needs must exist.
    Serve,
    /// To check before a start. Components must exist as well, although a started host would wait for them.
    Check,
    /// To inspect the configuration, perhaps on another machine. Files need not exist.
    Inspect,
}

impl Purpose {
    /// Returns true if the named files must be on this machine.
    fn requires_files(self) -> bool {
        self != Purpose::Inspect
    }
}

/// Reads the configuration to start the host. Called again when the file has changed.
pub fn load(flags: &Flags, variables: &Variables) -> Result<Config, ConfigError> {
    load_for(Purpose::Serve, flags, variables)
}

/// Reads the configuration for `tenon config check`: components must exist as well.
pub fn check(flags: &Flags, variables: &Variables) -> Result<Config, ConfigError> {
    load_for(Purpose::Check, flags, variables)
}

/// Reads the configuration without starting anything: the master key and other secrets may be on another machine.
pub fn inspect(flags: &Flags, variables: &Variables) -> Result<Config, ConfigError> {
    load_for(Purpose::Inspect, flags, variables)
}

fn load_for(purpose: Purpose, flags: &Flags, variables: &Variables) -> Result<Config, ConfigError> {
    let named = flags.config.clone().or_else(|| variables.get("TENON_CONFIG").map(PathBuf::from));
    let path = named.unwrap_or_else(|| PathBuf::from(DEFAULT_FILE));
    let text = read_file(&path)
        .map_err(|text| ConfigError { file: path.clone(), mistakes: vec![Mistake::unlocated(text)] })?;
    let open_files_max = if purpose.requires_files() { machine::open_files_max() } else { None };
    let source = file::Source { path: &path, flags, variables, purpose, open_files_max };
    file::read(&source, &text).map_err(|mistakes| ConfigError { file: path, mistakes })
}

impl Config {
    /// Returns the base URL of absolute links. `listens` is the address that the host has bound for `listen`.
    ///
    /// Returns `None` in production if neither `public-url` nor `oauth.issuer` is set.
    pub fn link_base(&self, listens: SocketAddr) -> Option<String> {
        let named = self.public_url.clone().or_else(|| self.oauth.issuer.clone());
        named.or_else(|| (self.environment == Environment::Development).then(|| self.local_url(listens)))
    }

    /// Returns a URL that a program on this machine can connect to, even if `listens` is an unspecified address.
    pub fn local_url(&self, listens: SocketAddr) -> String {
        local_url(if self.http.tls.is_some() { "https" } else { "http" }, listens)
    }

    /// Returns the names of settings that differ in `next` and take effect only at the next start: all except plugins.
    pub fn needs_restart(&self, next: &Config) -> Vec<&'static str> {
        let differs = [
            (self.environment != next.environment, keys::ENVIRONMENT.name),
            (self.listen != next.listen, keys::LISTEN.name),
            (self.admin_listen != next.admin_listen, keys::ADMIN_LISTEN.name),
            (self.admin_hosts != next.admin_hosts, keys::ADMIN_HOSTS.name),
            (self.public_url != next.public_url, keys::PUBLIC_URL.name),
            (self.data_dir != next.data_dir, keys::DATA_DIR.name),
            (self.database_url != next.database_url, keys::DATABASE.name),
            (self.free_disk_bytes_min != next.free_disk_bytes_min, keys::FREE_DISK.name),
            (self.memory.budget_bytes != next.memory.budget_bytes, keys::MEMORY_BUDGET.name),
            (self.memory.tenant_percent != next.memory.tenant_percent, keys::TENANT_MEMORY.name),
            (self.http != next.http, "[http]"),
            (self.access_log != next.access_log, "[log]"),
            (self.outbound != next.outbound, "[outbound]"),
            (self.chains != next.chains, "[chains]"),
            (self.compile != next.compile, "[compile]"),
            (self.oauth != next.oauth, "[oauth]"),
            (self.retention != next.retention, "[retention]"),
        ];
        differs.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
    }
}

/// Returns a URL such as "http://127.0.0.1:8080". An unspecified address is replaced by the loopback address.
pub fn local_url(scheme: &str, address: SocketAddr) -> String {
    match (address.ip().is_unspecified(), address.is_ipv4()) {
        (false, _) => format!("{scheme}://{address}"),
        (true, true) => format!("{scheme}://127.0.0.1:{}", address.port()),
        (true, false) => format!("{scheme}://[::1]:{}", address.port()),
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let unreadable = |why: &dyn std::fmt::Display| {
        format!("{} cannot be read ({why}). Name the configuration with --config or TENON_CONFIG.", path.display())
    };
    // Opening a FIFO would wait for another process. A device is read: /dev/null is an empty configuration.
    if std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Err(unreadable(&"it is a FIFO, not a regular file"));
    }
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut text = String::new();
    file.take(limits::CONFIG_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("{} is not a text file ({error}).", path.display()))?;
    if text.len() as u64 > limits::CONFIG_FILE_BYTES_MAX {
        let max = limits::CONFIG_FILE_BYTES_MAX;
        return Err(format!("{} is larger than {max} bytes: is it the right file?", path.display()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
