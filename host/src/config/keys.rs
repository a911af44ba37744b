//! Every key of plugins.toml: name with unit, bounds, default and description.
//!
//! The table is the source of the parser, `tenon config reference`, and the operators' manual. A test in
//! `cli/docs.rs` compares the manual with the table, and rewrites the manual with `UPDATE_DOCS=1`.

use crate::limits::DISABLE_AFTER_MS;

/// A key whose value is a whole number.
pub struct NumberKey {
    pub name: &'static str,
    pub min: u64,
    pub max: u64,
    pub default: u64,
    pub description: &'static str,
}

/// A key whose value is not a number: a string, a list or a boolean.
pub struct ConfigKey {
    pub name: &'static str,
    /// The default as written in the file. Empty if the key is required.
    pub default: &'static str,
    pub description: &'static str,
}

const fn number(name: &'static str, bounds: (u64, u64), default: u64, description: &'static str) -> NumberKey {
    NumberKey { name, min: bounds.0, max: bounds.1, default, description }
}

const fn key(name: &'static str, default: &'static str, description: &'static str) -> ConfigKey {
    ConfigKey { name, default, description }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const MIB: u64 = 1 << 20;

pub const ENVIRONMENT: ConfigKey = key(
    "environment",
    "\"development\"",
    "\"development\" or \"production\"; production requires a master key set by the operator, and rejects live keys over plain HTTP",
);
pub const LISTEN: ConfigKey = key("listen", "\"127.0.0.1:8080\"", "listen address of the interfaces");
pub const ADMIN_LISTEN: ConfigKey = key("admin-listen", "\"127.0.0.1:9090\"", "listen address for operators");
pub const ADMIN_HOSTS: ConfigKey = key(
    "admin-hosts",
    "[]",
    "names that the operators' listener accepts in the Host header, besides localhost and IP addresses",
);
pub const DATA_DIR: ConfigKey = key("data-dir", "\"data\"", "folder of database, keys and compiled components");
pub const PUBLIC_URL: ConfigKey = key(
    "public-url",
    "\"\"",
    "base URL of the interfaces for callers: \"https://HOST\" without a path; absolute links begin with it, never with the Host header of a request; empty: `oauth.issuer`, else in development the address of `listen`",
);
pub const DATABASE: ConfigKey =
    key("database", "\"sqlite:<data-dir>/tenon.db\"", "URL of the database: \"sqlite:PATH\"");
pub const FREE_DISK: NumberKey = number(
    "free-disk-bytes-min",
    (0, 1 << 50),
    256 * MIB,
    "free bytes on the disk of the database below which writing routes return 503; below twice this value, writing routes of a tenant that has written a sixteenth of it return 503 until the disk stops filling up",
);

pub const MEMORY_BUDGET: NumberKey = number(
    "memory-budget-bytes",
    (0, 1 << 50),
    0,
    "memory that all requests together may use: bodies, running calls, unsent answers; 0: 40 % of the memory of the machine or its control group; less than 64 MiB counts as 64 MiB",
);
pub const TENANT_MEMORY: NumberKey = number(
    "tenant-memory-percent",
    (1, 100),
    25,
    "percentage of `memory-budget-bytes` that one tenant, or one address without a key, may use; further requests wait, then get 503",
);

pub const CONNECTIONS: NumberKey = number(
    "connections-max",
    (0, 1_000_000),
    0,
    "concurrent connections; further ones wait to be accepted; 0: as many as fit into 12 % of the memory of the machine or its control group, at 48 KiB each, from 500 to 10 000; lowered to the number that the limit of open files allows",
);
pub const CONNECTIONS_PER_PEER: NumberKey = number(
    "connections-per-peer-max",
    (0, 1_000_000),
    0,
    "concurrent connections of one address (one /64 of IPv6) that is not a trusted proxy; further ones are closed; 0: a quarter of `connections-max`",
);
pub const ANSWER_STALL: NumberKey = number(
    "answer-stall-ms",
    (100, 600_000),
    20_000,
    "time within which a reader must accept more of its answer, else the connection or the HTTP/2 stream is closed",
);
pub const ANSWER_RATE: NumberKey = number(
    "answer-rate-min",
    (0, 1 << 30),
    1_024,
    "bytes per second that a reader must accept, measured over `answer-stall-ms`, while there is more to send",
);
pub const HEADER_TIMEOUT: NumberKey = number(
    "header-timeout-ms",
    (100, 600_000),
    10_000,
    "time until the head of a request is complete, else the connection is closed",
);
pub const BODY_TIMEOUT: NumberKey =
    number("body-timeout-ms", (100, 3_600_000), 30_000, "time until the body of a request is complete, else 408");
pub const BODY_BYTES: NumberKey =
    number("body-bytes-max", (0, 1_024 * MIB), MIB, "size of a request body if the route declares no limit, else 413");
pub const SHUTDOWN: NumberKey =
    number("shutdown-ms", (0, 600_000), 25_000, "time that running requests get when the host stops");
pub const CORS_ORIGINS: ConfigKey =
    key("cors-origins", "[]", "origins that browsers may call from; empty: CORS is off");
pub const TRUSTED_PROXIES: ConfigKey =
    key("trusted-proxies", "[]", "IP addresses of peers whose X-Forwarded-For and X-Forwarded-Proto are trusted");
pub const TLS_CERTIFICATE: ConfigKey =
    key("tls-certificate", "\"\"", "PEM file of the certificate of `listen` with its chain; empty: plain HTTP");
pub const TLS_KEY: ConfigKey =
    key("tls-key", "\"\"", "PEM file of its private key; both files are checked every second and may be replaced");

pub const COMPILE_MEMORY: NumberKey = number(
    "memory-bytes",
    (64 * MIB, 64 << 30),
    768 * MIB,
    "memory of one compilation; a small component gets less, at least half",
);
pub const COMPILE_TIME: NumberKey = number(
    "time-ms",
    (1_000, 3_600_000),
    120_000,
    "time of one compilation from its start; its processor time is limited to a twentieth of this, and another twentieth for each 4 MiB of the component",
);
pub const COMPILE_CONCURRENT: NumberKey = number(
    "concurrent",
    (1, 64),
    2,
    "concurrent compilations, each of a different plugin, at low priority; further ones wait",
);
pub const ACCESS_LOG: ConfigKey =
    key("access", "false", "true: each request to the interfaces is logged as one line of the target `tenon::access`");

pub const AGE: NumberKey = number("age-ms-max", (60_000, 3_650 * DAY_MS), DAY_MS, "rows older than this are deleted");
pub const BYTES: NumberKey = number(
    "bytes-max",
    (MIB, 1 << 50),
    1 << 30,
    "the oldest rows are deleted when all rows of the kind together are larger than this",
);

pub const COMPONENT: ConfigKey = key("component", "", "path of the .wasm file, relative to the folder of plugins.toml");
pub const MOUNT: ConfigKey = key("mount", "\"/\"", "prefix of the paths of the manifest: \"/\" or \"/prefix\"");
pub const GRANTS: ConfigKey = key("grants", "[]", "interfaces of the contract that the plugin may import");

pub const SIMULATED: ConfigKey = key(
    "simulated",
    "true in development, false in production",
    "true: tenants have simulated blockchains (test and main networks), stored in `chains.db` in the data folder",
);
pub const BLOCK_TIME: NumberKey =
    number("block-ms", (10, 600_000), 250, "time between two blocks of the simulated blockchains");

pub const SHOW_PRIVATE_KEYS: ConfigKey = key(
    "show-private-keys",
    "false",
    "true: its `keyring` may return private keys to callers of the plugin; not allowed in production",
);

pub const ORIGIN_HEADERS: ConfigKey = key(
    "origin-headers",
    "[]",
    "origin-wide headers that its answers may have: \"set-cookie\", \"strict-transport-security\", \"alt-svc\", \"clear-site-data\", …; other origin-wide headers are dropped",
);
pub const EXAMPLES: ConfigKey =
    key("examples", "[]", "lines that `tenon serve` prints in development, with {url} and {key} filled in");

pub const DEADLINE: NumberKey = number(
    "deadline-ms",
    (1, 600_000),
    10_000,
    "time of one call including re-runs and waiting, if the route declares no deadline; then 504",
);
pub const COMPUTE: NumberKey =
    number("compute-ms", (1, 600_000), 1_000, "computing time of one run; then the call is a fault");
pub const MEMORY: NumberKey =
    number("memory-bytes", (MIB, 1_024 * MIB), 64 * MIB, "size of all memories of one instance together");
pub const ANSWER: NumberKey = number("answer-bytes", (1_024, 1_024 * MIB), 8 * MIB, "size of one answer");
pub const HOST_CALLS: NumberKey = number("host-calls", (1, 10_000_000), 10_000, "host calls in one run");
pub const HOST_CALL_BYTES: NumberKey =
    number("host-call-bytes", (1_024, 4_096 * MIB), 32 * MIB, "size of the arguments of all host calls in one run");
pub const CALLS: NumberKey = number("calls", (1, 1_024), 64, "concurrent calls");
pub const QUEUE: NumberKey = number(
    "queue",
    (0, 1_000_000),
    1_024,
    "calls that wait for a permit, for at most 70 % of their time (then 504); further calls get 503",
);
pub const TENANT_CALLS: NumberKey = number(
    "tenant-percent",
    (1, 100),
    50,
    "percentage of `calls` and of `queue` that one tenant, or one address without a key, may use",
);
pub const COMPONENT_BYTES: NumberKey =
    number("component-bytes", (1_024, 256 * MIB), 64 * MIB, "size of the .wasm file");
pub const FUNCTIONS: NumberKey = number(
    "component-functions",
    (1, 1_000_000),
    100_000,
    "functions of a component in all of its core modules together; a component with more is rejected before it is compiled",
);
pub const FUNCTION_BYTES: NumberKey = number(
    "function-bytes",
    (1_024, 64 * MIB),
    512 << 10,
    "code size of one function of a component; the time and memory of its compilation grow faster than linearly",
);
pub const COMPONENTS_KEPT: NumberKey = number(
    "components-kept",
    (2, 50),
    10,
    "published components whose bytes stay in the data folder for a rollback, including the serving one; further ones are deleted when the next component is published",
);
pub const RATE: NumberKey = number("rate-per-second", (0, 1_000_000), 0, "requests per second of one key; 0: no limit");
pub const BURST: NumberKey =
    number("rate-burst", (0, 1_000_000), 0, "burst of requests of one key; 0: same as `rate-per-second`");

pub const SCHEDULE: ConfigKey = key(
    "schedule-ms",
    "[300000, 600000, 1200000, 2400000, 4800000]",
    "milliseconds between the attempts of a webhook, at most 32 numbers from 1 to 604_800_000: a webhook has one attempt more than there are numbers",
);
pub const SUCCESS: ConfigKey =
    key("success", "\"2xx\"", "responses that count as delivered: \"2xx\", or \"200\" for that status only");
pub const WEBHOOK_TIMEOUT: NumberKey =
    number("timeout-ms", (100, 60_000), 15_000, "time of one attempt, from connecting to the end of the response");
pub const DISABLE_AFTER: NumberKey = number(
    "disable-after-ms",
    (0, 365 * DAY_MS),
    DISABLE_AFTER_MS,
    "time after which an endpoint without a successful attempt is disabled; 0: never",
);

pub const TASK_DELAYS: ConfigKey = key(
    "delays-ms",
    "[1000, 5000, 30000, 120000, 600000, 1800000, 3600000, 7200000]",
    "milliseconds between the runs of a failing task, at most 32 numbers from 0 to 604_800_000: a task has one run more than there are numbers, then `tenon task list` shows it; if set, it overrides the delays that tasks declare, and the default does not",
);

/// Default of keys that one kind of destination requires and another does not accept.
pub const DEPENDS_ON_KIND: &str = "depends on `kind`";
pub const BASE_URL: ConfigKey =
    key("base-url", DEPENDS_ON_KIND, "base URL of its calls; not allowed for \"outbox\" and \"plugin\"");
pub const KIND: ConfigKey = key(
    "kind",
    "\"none\"",
    "authentication: \"none\", \"bearer\", \"basic\", \"oauth2\"; or \"outbox\": messages are stored and not sent, `tenon outbox` shows them; or \"plugin\": a plugin of this host, for the same tenant or for `organization`",
);
pub const DESTINATION_PLUGIN: ConfigKey =
    key("plugin", DEPENDS_ON_KIND, "plugin: name of the plugin; paths of calls are below its mount");
pub const ACTS_FOR: ConfigKey = key(
    "organization",
    DEPENDS_ON_KIND,
    "plugin: organization on whose behalf calls are made, in the environment of the calling tenant; the plugin may then call itself, and `tenants` must list the callers",
);
pub const ENVIRONMENTS: ConfigKey =
    key("environments", "[\"test\", \"live\"]", "environments whose tenants may use it");
pub const TENANTS: ConfigKey = key(
    "tenants",
    "[]",
    "organizations (\"acme\") or tenants (\"acme/live\") that may use it; others may define their own destination of this name; empty: all",
);
pub const PLAIN_HTTP: ConfigKey =
    key("plain-http", "false", "true: live tenants may use it without TLS; a loopback address needs no permission");
pub const DESTINATION_TIMEOUT: NumberKey = number(
    "timeout-ms",
    (100, 60_000),
    15_000,
    "maximum time of one attempt, including a token request; a call may request less, and up to 120_000 if this is not set",
);
pub const TOKEN: ConfigKey =
    key("token", DEPENDS_ON_KIND, "bearer: \"env:NAME\" or \"file:PATH\", as for every secret");
pub const USER: ConfigKey = key("user", DEPENDS_ON_KIND, "basic: user name");
pub const PASSWORD: ConfigKey = key("password", DEPENDS_ON_KIND, "basic: \"env:NAME\" or \"file:PATH\"");
pub const TOKEN_URL: ConfigKey =
    key("token-url", DEPENDS_ON_KIND, "oauth2: URL of the token endpoint (client credentials)");
pub const CLIENT_ID: ConfigKey = key("client-id", DEPENDS_ON_KIND, "oauth2: client id");
pub const CLIENT_SECRET: ConfigKey = key("client-secret", DEPENDS_ON_KIND, "oauth2: \"env:NAME\" or \"file:PATH\"");
pub const OAUTH_SCOPE: ConfigKey = key("scope", DEPENDS_ON_KIND, "oauth2: requested scope; optional");
pub const AUDIENCE: ConfigKey = key("audience", DEPENDS_ON_KIND, "oauth2: requested audience; optional");
pub const CLIENT_AUTHENTICATION: ConfigKey = key(
    "client-authentication",
    "\"basic\"",
    "oauth2: \"basic\" or \"post\": the client's credentials in a header or in the form",
);

pub const ISSUER: ConfigKey = key(
    "issuer",
    "\"\"",
    "issuer of the host's tokens: \"https://HOST\" without a path; empty: in development the address of `listen`, in production the host issues no tokens",
);
pub const ALGORITHM: ConfigKey = key(
    "algorithm",
    "\"ES256\"",
    "signature algorithm of tokens: \"ES256\", \"EdDSA\" or \"RS256\"; a change creates a new key, and the previous key still verifies",
);
pub const TOKEN_LIFETIME: NumberKey = number("token-ms", (60_000, 3_600_000), 600_000, "lifetime of a token");
pub const EXTERNAL_ISSUER: ConfigKey = key("issuer", "", "value of `iss` in its tokens");
pub const EXTERNAL_PLUGIN: ConfigKey = key("plugin", "", "plugin that accepts its tokens");
pub const EXTERNAL_AUDIENCE: ConfigKey = key("audience", "", "value that `aud` of a token must contain");
pub const TOKEN_TYPE: ConfigKey = key("token-type", "\"at+jwt\"", "required value of `typ` of a token");
pub const JWKS_URL: ConfigKey = key("jwks-url", "\"\"", "URL of its public keys; this or `jwks-file`");
pub const JWKS_FILE: ConfigKey = key("jwks-file", "\"\"", "file with its public keys, read at startup");
pub const TENANT_CLAIM: ConfigKey = key(
    "tenant-claim",
    "\"\"",
    "claim that holds the tenant of a token (\"acme/test\"); set it only for an issuer that is trusted for every tenant",
);

pub const ALLOW_TEST: ConfigKey = key(
    "allow-test",
    "[]",
    "networks besides public addresses that calls for tenants in the test environment may reach: [\"127.0.0.0/8\"]",
);
pub const ALLOW_LIVE: ConfigKey = key("allow-live", "[]", "the same for tenants in the live environment");
pub const ROOTS: ConfigKey =
    key("roots", "[]", "PEM files of root certificates that are trusted in addition to the built-in public roots");

pub const TOP_KEYS: &[&ConfigKey] =
    &[&ENVIRONMENT, &LISTEN, &ADMIN_LISTEN, &ADMIN_HOSTS, &PUBLIC_URL, &DATA_DIR, &DATABASE];
pub const LOG_KEYS: &[&ConfigKey] = &[&ACCESS_LOG];
pub const TOP_NUMBERS: &[&NumberKey] = &[&FREE_DISK, &MEMORY_BUDGET, &TENANT_MEMORY];
pub const HTTP_KEYS: &[&ConfigKey] = &[&CORS_ORIGINS, &TRUSTED_PROXIES, &TLS_CERTIFICATE, &TLS_KEY];
pub const HTTP_NUMBERS: &[&NumberKey] = &[
    &CONNECTIONS,
    &CONNECTIONS_PER_PEER,
    &HEADER_TIMEOUT,
    &BODY_TIMEOUT,
    &BODY_BYTES,
    &ANSWER_STALL,
    &ANSWER_RATE,
    &SHUTDOWN,
];
pub const PLUGIN_KEYS: &[&ConfigKey] = &[&COMPONENT, &MOUNT, &GRANTS, &SHOW_PRIVATE_KEYS, &ORIGIN_HEADERS, &EXAMPLES];
/// Headers that `origin-headers` may list.
pub const ORIGIN_HEADER_NAMES: &[&str] = &[
    "accept-ch",
    "activate-storage-access",
    "alt-svc",
    "attribution-reporting-register-os-source",
    "attribution-reporting-register-os-trigger",
    "attribution-reporting-register-source",
    "attribution-reporting-register-trigger",
    "clear-site-data",
    "expect-ct",
    "nel",
    "observe-browsing-topics",
    "origin-agent-cluster",
    "public-key-pins",
    "report-to",
    "reporting-endpoints",
    "secure-session-registration",
    "service-worker-allowed",
    "set-cookie",
    "set-login",
    "shared-storage-write",
    "strict-transport-security",
    "use-as-dictionary",
];
pub const WEBHOOK_KEYS: &[&ConfigKey] = &[&SCHEDULE, &SUCCESS];
pub const WEBHOOK_NUMBERS: &[&NumberKey] = &[&WEBHOOK_TIMEOUT, &DISABLE_AFTER];
pub const TASK_KEYS: &[&ConfigKey] = &[&TASK_DELAYS];
pub const LOGIN_SETTINGS: &[&ConfigKey] =
    &[&USER, &TOKEN_URL, &CLIENT_ID, &OAUTH_SCOPE, &AUDIENCE, &CLIENT_AUTHENTICATION];
pub const LOGIN_SECRETS: &[&ConfigKey] = &[&TOKEN, &PASSWORD, &CLIENT_SECRET];
pub const DESTINATION_KEYS: &[&ConfigKey] = &[
    &BASE_URL,
    &KIND,
    &DESTINATION_PLUGIN,
    &ACTS_FOR,
    &ENVIRONMENTS,
    &TENANTS,
    &PLAIN_HTTP,
    &TOKEN,
    &USER,
    &PASSWORD,
    &TOKEN_URL,
    &CLIENT_ID,
    &CLIENT_SECRET,
    &OAUTH_SCOPE,
    &AUDIENCE,
    &CLIENT_AUTHENTICATION,
];
pub const OAUTH_KEYS: &[&ConfigKey] = &[&ISSUER, &ALGORITHM];
pub const OAUTH_NUMBERS: &[&NumberKey] = &[&TOKEN_LIFETIME];
pub const ISSUER_KEYS: &[&ConfigKey] =
    &[&EXTERNAL_ISSUER, &EXTERNAL_PLUGIN, &EXTERNAL_AUDIENCE, &TOKEN_TYPE, &JWKS_URL, &JWKS_FILE, &TENANT_CLAIM];
pub const CHAIN_KEYS: &[&ConfigKey] = &[&SIMULATED];
pub const CHAIN_NUMBERS: &[&NumberKey] = &[&BLOCK_TIME];
pub const OUTBOUND_KEYS: &[&ConfigKey] = &[&ALLOW_TEST, &ALLOW_LIVE, &ROOTS];
pub const COMPILE_NUMBERS: &[&NumberKey] = &[&COMPILE_MEMORY, &COMPILE_TIME, &COMPILE_CONCURRENT];
pub const LIMIT_NUMBERS: &[&NumberKey] = &[
    &DEADLINE,
    &COMPUTE,
    &MEMORY,
    &ANSWER,
    &HOST_CALLS,
    &HOST_CALL_BYTES,
    &CALLS,
    &QUEUE,
    &TENANT_CALLS,
    &COMPONENT_BYTES,
    &FUNCTIONS,
    &FUNCTION_BYTES,
    &COMPONENTS_KEPT,
    &RATE,
    &BURST,
];

/// Interfaces of the contract that can be granted.
pub const GRANT_NAMES: &[&str] = &[
    "chains",
    "config",
    "credentials",
    "destinations",
    "effects",
    "events",
    "ids",
    "journal",
    "keyring",
    "ledger",
    "log",
    "questions",
    "records",
    "subscriptions",
    "tasks",
];

/// A kind of rows with a limit on age or size.
pub struct RetentionKey {
    pub kind: &'static str,
    /// `None` if rows are kept for ever unless plugins.toml sets a limit.
    pub age_ms_default: Option<u64>,
    /// True if a limit of bytes may be set.
    pub has_bytes: bool,
    pub description: &'static str,
}

const fn retention(kind: &'static str, age_ms_default: Option<u64>, description: &'static str) -> RetentionKey {
    RetentionKey { kind, age_ms_default, has_bytes: true, description }
}

pub const RETENTION: &[RetentionKey] = &[
    retention("answers", Some(DAY_MS), "idempotency records"),
    retention(
        "events",
        Some(30 * DAY_MS),
        "events of plugins; pending deliveries of a deleted event are deleted as well",
    ),
    RetentionKey {
        kind: "deliveries",
        age_ms_default: Some(30 * DAY_MS),
        has_bytes: false,
        description: "finished deliveries and their attempts; those of deleted events and endpoints are always deleted",
    },
    retention("journal", None, "journals of tenants"),
    retention("swaps", Some(365 * DAY_MS), "the operators' journal; entries of running generations are never deleted"),
    retention("outbox", Some(30 * DAY_MS), "messages to destinations of the kind \"outbox\""),
    retention("batches", Some(7 * DAY_MS), "ids of the committer's transactions"),
];
