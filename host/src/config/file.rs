//! Reads plugins.toml and merges it with flags and environment variables.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use ipnet::IpNet;
use toml::de::DeTable;

use super::{
    ChainsConfig, CompileConfig, Config, Environment, Flags, HttpConfig, Mistake, PluginConfig, Purpose, RetentionRule,
    Variables, certificates,
    destination::PluginContext,
    keys,
    layered::LayeredSetting,
    memory_plan::{connections_within, default_connections, files_for},
    mistakes::{Mistakes, suggest},
    oauth, plugin,
    production::{self, OwnAddresses},
    section::{Located, Section},
    syntax,
};
use crate::budget::{MemoryConfig, machine};
use crate::limits::{BUDGET_BYTES_DEFAULT, BUDGET_BYTES_MIN, BUDGET_PERCENT};
use crate::outbound::{AddressRule, OutboundConfig};
use crate::secrets::{MASTER_KEY_FILE, MasterKeys, SecretText};

const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
const ADMIN_LISTEN_DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9090);
const DATA_DIR_DEFAULT: &str = "data";
/// Description of the default of a retention rule without a limit.
const UNLIMITED: &str = "without it there is no limit";
const DATABASE_FILE: &str = "tenon.db";

/// The sources that a configuration is read from.
pub struct Source<'a> {
    /// Path of the file.
    pub path: &'a Path,
    pub flags: &'a Flags,
    pub variables: &'a Variables,
    pub purpose: Purpose,
    /// Number of files that the host may have open. `None` if there is no limit, or if the configuration is only
    /// inspected.
    pub open_files_max: Option<u64>,
}

impl Source<'_> {
    /// Returns the folder of the file. Paths in the file are relative to it.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

pub fn read(source: &Source<'_>, text: &str) -> Result<Config, Vec<Mistake>> {
    let mistakes = Mistakes::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if let Some(first) = errors.iter().min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        // Only the first error is reported, because later errors may be consequences of it.
        let span = first.span().unwrap_or(0..0);
        mistakes.at(&span, syntax::explain(text, &span, first.message()));
        return Err(mistakes.into_sorted());
    }
    let reader = Reader { source, mistakes: &mistakes };
    let config = reader.config(Section::top(table.get_ref(), &mistakes));
    let found = mistakes.into_sorted();
    if found.iter().any(Mistake::is_error) { Err(found) } else { Ok(Config { warnings: found, ..config }) }
}

struct Reader<'a> {
    source: &'a Source<'a>,
    mistakes: &'a Mistakes<'a>,
}

impl<'a> Reader<'a> {
    fn config(&self, mut top: Section<'a>) -> Config {
        let folder = self.source.folder();
        let environment = top.take_string(&keys::ENVIRONMENT);
        let listen = self.listen(&mut top).address(self.mistakes, LISTEN_DEFAULT);
        let admin_listen = self.admin_listen(&mut top).address(self.mistakes, ADMIN_LISTEN_DEFAULT);
        if listen == admin_listen && listen.port() != 0 {
            self.mistakes.unlocated(format!("`listen` and `admin-listen` are both {listen}; give each its own port."));
        }
        let data_dir = self.data_dir(&mut top).folder(self.mistakes, folder, DATA_DIR_DEFAULT);
        let database_default = data_dir.join(DATABASE_FILE);
        let database_url = self.database(&mut top).database(self.mistakes, folder, &database_default);
        let master_key = self.master_key();
        let missing_key = if master_key.is_some() { None } else { self.find_missing_key(&data_dir) };
        let environment = self.environment(environment, missing_key.as_deref());
        let Source { variables, purpose, .. } = *self.source;
        let context = PluginContext { folder, variables, purpose, environment, plugins: &[] };
        let own = production::OwnAddresses { environment, listen, admin_listen };
        own.check_admin_listen(self.mistakes);
        let config = Config {
            file: self.source.path.to_owned(),
            environment,
            listen,
            admin_listen,
            admin_hosts: top
                .take_strings(&keys::ADMIN_HOSTS)
                .into_iter()
                .map(|host| host.value.to_ascii_lowercase())
                .collect(),
            public_url: read_public_url(&mut top, environment),
            data_dir,
            database_url,
            master_key,
            http: read_http(top.take_table("http"), self.source, environment),
            outbound: read_outbound(top.take_table("outbound"), self.source, &own),
            chains: read_chains(top.take_table("chains"), environment),
            compile: read_compile(top.take_table("compile")),
            oauth: oauth::read(top.take_table("oauth"), self.source, environment),
            retention: read_retention(top.take_table("retention")),
            free_disk_bytes_min: top.number(&keys::FREE_DISK),
            memory: read_memory(&mut top),
            plugins: read_plugins(top.take_table("plugins"), context),
            access_log: read_log(top.take_table("log")),
            warnings: Vec::new(),
        };
        production::check_links(&config, self.mistakes);
        production::check_listen(&config, self.mistakes);
        for issuer in config.oauth.issuers.iter().filter(|issuer| !config.plugins.contains_key(&issuer.plugin)) {
            let (name, plugin) = (&issuer.name, issuer.plugin.escape_debug());
            self.mistakes.unlocated(format!("`oauth.issuers.{name}.plugin`: there is no plugin \"{plugin}\"."));
        }
        top.finish();
        config
    }

    fn listen(&self, top: &mut Section<'a>) -> LayeredSetting<'a> {
        LayeredSetting {
            flag: ("--listen", self.source.flags.listen.as_deref()),
            variable: ("TENON_LISTEN", self.source.variables.get("TENON_LISTEN")),
            file: (keys::LISTEN.name, top.take_string(&keys::LISTEN)),
        }
    }

    fn admin_listen(&self, top: &mut Section<'a>) -> LayeredSetting<'a> {
        LayeredSetting {
            flag: ("--admin", self.source.flags.admin_listen.as_deref()),
            variable: ("TENON_ADMIN_LISTEN", self.source.variables.get("TENON_ADMIN_LISTEN")),
            file: (keys::ADMIN_LISTEN.name, top.take_string(&keys::ADMIN_LISTEN)),
        }
    }

    fn data_dir(&self, top: &mut Section<'a>) -> LayeredSetting<'a> {
        let flag = self.source.flags.data_dir.as_deref();
        if let Some(folder) = flag.filter(|folder| folder.to_str().is_none()) {
            let text = folder.to_string_lossy();
            self.mistakes.unlocated(format!("--data-dir must be valid UTF-8, and is \"{}\".", text.escape_debug()));
        }
        LayeredSetting {
            flag: ("--data-dir", flag.and_then(Path::to_str)),
            variable: ("TENON_DATA_DIR", self.source.variables.get("TENON_DATA_DIR")),
            file: (keys::DATA_DIR.name, top.take_string(&keys::DATA_DIR)),
        }
    }

    fn database(&self, top: &mut Section<'a>) -> LayeredSetting<'a> {
        LayeredSetting {
            flag: ("--database", self.source.flags.database.as_deref()),
            variable: ("TENON_DATABASE", self.source.variables.get("TENON_DATABASE")),
            file: (keys::DATABASE.name, top.take_string(&keys::DATABASE)),
        }
    }

    fn master_key(&self) -> Option<SecretText> {
        let text = self.source.variables.get("TENON_MASTER_KEY")?;
        if let Err(error) = MasterKeys::parse(text) {
            self.mistakes.unlocated(format!("TENON_MASTER_KEY {error}"));
        }
        Some(SecretText::new(text.to_owned()))
    }

    /// Returns the path of the master key file if the file is missing. Reports a file that would make a start fail.
    /// Checks nothing if the purpose requires no files.
    fn find_missing_key(&self, data_dir: &Path) -> Option<PathBuf> {
        if !self.source.purpose.requires_files() {
            return None;
        }
        let file = data_dir.join(MASTER_KEY_FILE);
        match MasterKeys::read(&file) {
            Ok(Some(_)) => None,
            Ok(None) => Some(file),
            Err(error) => {
                self.mistakes.unlocated(format!("{error}."));
                None
            }
        }
    }

    fn environment(&self, text: Option<Located<String>>, missing_key: Option<&Path>) -> Environment {
        let Some(text) = text else { return Environment::Development };
        match text.value.as_str() {
            "development" => Environment::Development,
            "production" => {
                if let Some(file) = missing_key {
                    let message = format!(
                        "production requires a master key set by the operator, and there is no file {}. If your data folder is another \
                         one, set it with `data-dir`. For a new one, set TENON_MASTER_KEY to the output of `tenon secrets new-key`, or \
                         write the output into this file (mode 0600).",
                        file.display()
                    );
                    self.mistakes.at(&text.span, message);
                }
                Environment::Production
            }
            other => {
                let hint = suggest(other, &["development", "production"]);
                self.mistakes.at(&text.span, format!("`environment` must not be \"{}\".{hint}", other.escape_debug()));
                Environment::Development
            }
        }
    }
}

/// Reads the memory limits. The default budget is a share of the memory of the machine.
fn read_memory(top: &mut Section<'_>) -> MemoryConfig {
    let budget_bytes = match top.number(&keys::MEMORY_BUDGET) {
        0 => machine::memory_bytes().map_or(BUDGET_BYTES_DEFAULT, |bytes| bytes / 100 * BUDGET_PERCENT),
        given => given,
    };
    let tenant_percent = top.number(&keys::TENANT_MEMORY);
    MemoryConfig { budget_bytes: budget_bytes.max(BUDGET_BYTES_MIN), tenant_percent }
}

/// Reads the public URL. It must use https:// in production, because links are sent to people and must not be changed
/// in transit. An invalid value is returned as well, so that it is not also reported as missing.
fn read_public_url(top: &mut Section<'_>, environment: Environment) -> Option<String> {
    let url = top.take_string(&keys::PUBLIC_URL).filter(|url| !url.value.is_empty())?;
    if !is_origin(&url.value) || (environment == Environment::Production && !url.value.starts_with("https://")) {
        let text = format!(
            "`{}` must be like \"https://api.example.com\", without a path, and is \"{}\".",
            keys::PUBLIC_URL.name,
            url.value.escape_debug()
        );
        top.mistakes().at(&url.span, text);
    }
    Some(url.value)
}

fn read_log(mut section: Section<'_>) -> bool {
    let access = section.take_bool(&keys::ACCESS_LOG).unwrap_or(false);
    section.finish();
    access
}

fn read_http(mut section: Section<'_>, source: &Source<'_>, environment: Environment) -> HttpConfig {
    let mistakes = section.mistakes();
    let mut cors_origins = Vec::new();
    for origin in section.take_strings(&keys::CORS_ORIGINS) {
        if is_origin(&origin.value) {
            cors_origins.push(origin.value);
        } else {
            let text = format!(
                "`http.cors-origins` must contain origins such as \"https://app.example.com\", and \"{}\" is not one.",
                origin.value.escape_debug()
            );
            mistakes.at(&origin.span, text);
        }
    }
    let mut trusted_proxies = Vec::new();
    for proxy in section.take_strings(&keys::TRUSTED_PROXIES) {
        match proxy.value.parse::<IpAddr>() {
            Ok(address) => trusted_proxies.push(address.to_canonical()),
            Err(_) => mistakes.at(
                &proxy.span,
                format!(
                    "`http.trusted-proxies` must contain IP addresses, and \"{}\" is not one.",
                    proxy.value.escape_debug()
                ),
            ),
        }
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let connections_requested = match section.number(&keys::CONNECTIONS) {
        0 => default_connections(machine::memory_bytes()),
        given => given,
    };
    let connections_max = count(cap_connections(connections_requested, source.open_files_max, mistakes));
    let per_peer = match count(section.number(&keys::CONNECTIONS_PER_PEER)) {
        0 => connections_max.div_ceil(4),
        given => given,
    };
    let config = HttpConfig {
        connections_max,
        connections_per_peer_max: per_peer,
        header_timeout_ms: section.number(&keys::HEADER_TIMEOUT),
        body_timeout_ms: section.number(&keys::BODY_TIMEOUT),
        body_bytes_max: section.number(&keys::BODY_BYTES),
        answer_stall_ms: section.number(&keys::ANSWER_STALL),
        answer_rate_min: section.number(&keys::ANSWER_RATE),
        shutdown_ms: section.number(&keys::SHUTDOWN),
        cors_origins,
        trusted_proxies,
        tls: certificates::read_listener(&mut section, source, environment),
    };
    section.finish();
    config
}

/// Returns `requested`, or reports a warning and returns the number of connections that the limit of open files allows.
fn cap_connections(requested: u64, open_files_max: Option<u64>, mistakes: &Mistakes<'_>) -> u64 {
    let Some(files) = open_files_max else { return requested };
    let available = connections_within(files);
    if requested <= available {
        return requested;
    }
    let needed = files_for(requested);
    mistakes.warn(format!(
                "the process may open {files} files, so `http.connections-max` is {available} instead of {requested}. Raise the limit \
                 of open files (`ulimit -n`, `LimitNOFILE` of systemd) to {needed}, or set `http.connections-max` to at most {available}."
            ));
    available
}

/// Reads the blockchain settings. Simulated blockchains are off by default in production, because their coins have no
/// value and must not be mistaken for real ones.
fn read_chains(mut section: Section<'_>, environment: Environment) -> ChainsConfig {
    let simulated = section.take_bool(&keys::SIMULATED).unwrap_or(environment == Environment::Development);
    let chains = ChainsConfig { simulated, block_ms: section.number(&keys::BLOCK_TIME) };
    section.finish();
    chains
}

fn read_compile(mut section: Section<'_>) -> CompileConfig {
    let compile = CompileConfig {
        memory_bytes: section.number(&keys::COMPILE_MEMORY),
        time_ms: section.number(&keys::COMPILE_TIME),
        concurrent: usize::try_from(section.number(&keys::COMPILE_CONCURRENT)).unwrap_or(1),
    };
    section.finish();
    compile
}

fn read_outbound(mut section: Section<'_>, source: &Source<'_>, own: &OwnAddresses) -> OutboundConfig {
    let (test, live) = (section.path(keys::ALLOW_TEST.name), section.path(keys::ALLOW_LIVE.name));
    let (allow_test, allow_live) = (section.take_strings(&keys::ALLOW_TEST), section.take_strings(&keys::ALLOW_LIVE));
    let config = OutboundConfig {
        test: AddressRule {
            allow: networks(section.mistakes(), &test, allow_test, |text, network| {
                own.check_test(section.mistakes(), text, network)
            }),
        },
        live: AddressRule {
            allow: networks(section.mistakes(), &live, allow_live, |text, network| {
                own.check_live(section.mistakes(), text, network)
            }),
        },
        roots: certificates::read_roots(&mut section, source),
    };
    section.finish();
    config
}

/// Parses networks. `check` is called for each valid one.
fn networks(
    mistakes: &Mistakes<'_>,
    path: &str,
    values: Vec<Located<String>>,
    check: impl Fn(&Located<String>, &IpNet),
) -> Vec<IpNet> {
    let network = |text: Located<String>| match text.value.parse() {
        Ok(network) => {
            check(&text, &network);
            Some(network)
        }
        Err(_) => {
            let given = text.value.escape_debug();
            let message = format!(
                "`{path}` must contain networks such as \"10.0.0.0/8\" or \"::1/128\", and \"{given}\" is not one."
            );
            mistakes.at(&text.span, message);
            None
        }
    };
    values.into_iter().filter_map(network).collect()
}

/// Returns true for an origin as browsers send it: scheme, host and port, without a path or trailing slash.
pub(super) fn is_origin(text: &str) -> bool {
    let Some(host) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    !host.contains(['/', '@', '?', '#', '*'])
        && text.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()))
}

/// Reads the retention rules. An age in a section replaces the default age of its kind.
fn read_retention(mut section: Section<'_>) -> Vec<RetentionRule> {
    let mut rules = Vec::new();
    for key in keys::RETENTION {
        let mut rule = section.take_table(key.kind);
        let bytes = if key.has_bytes { rule.take_number_or(&keys::BYTES, UNLIMITED) } else { None };
        let default = key.age_ms_default.map_or(UNLIMITED.to_owned(), |age| format!("{age} is the default"));
        let given = (rule.take_number_or(&keys::AGE, &default), bytes);
        rule.finish();
        let (age_ms_max, bytes_max) = (given.0.or(key.age_ms_default), given.1);
        if age_ms_max.is_some() || bytes_max.is_some() {
            rules.push(RetentionRule { kind: key.kind.to_owned(), age_ms_max, bytes_max });
        }
    }
    section.finish();
    rules
}

fn read_plugins(section: Section<'_>, context: PluginContext<'_>) -> BTreeMap<Arc<str>, PluginConfig> {
    let mistakes = section.mistakes();
    let mut plugins = BTreeMap::new();
    let tables = section.into_tables();
    let names: Vec<&str> = tables.iter().map(|(name, ..)| *name).collect();
    let context = PluginContext { plugins: &names, ..context };
    for (name, span, section) in tables {
        if let Err(text) = plugin::check_name(name) {
            mistakes.at(&span, text);
        }
        if let Some(config) = plugin::read(section, context) {
            plugins.insert(Arc::from(name), config);
        }
    }
    plugins
}
