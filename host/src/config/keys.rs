//! Every key of plugins.toml: name with unit, bounds, default, what it is for.
//!
//! One table for three readers: the parser, `tenon config reference`, and the operators' manual (a test compares).

use crate::limits::DISABLE_AFTER_MS;

/// A whole number that an operator may set.
pub struct Number {
    pub name: &'static str,
    pub min: u64,
    pub max: u64,
    pub default: u64,
    pub what: &'static str,
}

/// A key that is not a number.
pub struct Word {
    pub name: &'static str,
    /// As it would stand in the file; empty: it must be given, or nothing is assumed.
    pub default: &'static str,
    pub what: &'static str,
}

const fn number(name: &'static str, bounds: (u64, u64), default: u64, what: &'static str) -> Number {
    Number { name, min: bounds.0, max: bounds.1, default, what }
}

const fn word(name: &'static str, default: &'static str, what: &'static str) -> Word {
    Word { name, default, what }
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const MIB: u64 = 1 << 20;

pub const ENVIRONMENT: Word = word(
    "environment",
    "\"development\"",
    "\"development\" or \"production\"; production starts only with a master key of yours, and refuses live keys over plain HTTP",
);
pub const LISTEN: Word = word("listen", "\"127.0.0.1:8080\"", "address of the interfaces");
pub const ADMIN_LISTEN: Word = word("admin-listen", "\"127.0.0.1:9090\"", "address of the operators' listener");
pub const ADMIN_HOSTS: Word = word(
    "admin-hosts",
    "[]",
    "names in the Host header that the operators' listener answers to, besides localhost and IP addresses",
);
pub const DATA_DIR: Word = word("data-dir", "\"data\"", "folder of database, keys and compiled components");
pub const PUBLIC_URL: Word = word(
    "public-url",
    "\"\"",
    "where callers reach the interfaces: \"https://HOST\", nothing after it; absolute links begin with it, never with the Host header of a request; empty: `oauth.issuer`, else in development the address of `listen`",
);
pub const DATABASE: Word =
    word("database", "\"sqlite:<data-dir>/tenon.db\"", "where records are kept: \"sqlite:PATH\"");
pub const FREE_DISK: Number = number(
    "free-disk-bytes-min",
    (0, 1 << 50),
    256 * MIB,
    "with less free than this on the disk of the database, writing routes answer 503; with less than twice as much, those of a tenant that has written a sixteenth of it, until the disk stops filling up",
);

pub const MEMORY_BUDGET: Number = number(
    "memory-budget-bytes",
    (0, 1 << 50),
    0,
    "memory that requests may use together: bodies, running calls, answers on their way; 0: 40 % of the memory of the machine or its control group; less than 64 MiB counts as 64 MiB",
);
pub const TENANT_MEMORY: Number = number(
    "tenant-memory-percent",
    (1, 100),
    25,
    "of it, what one tenant may use, or one address without a key; what comes beyond waits, then gets 503",
);

pub const CONNECTIONS: Number = number(
    "connections-max",
    (0, 1_000_000),
    0,
    "connections at once; further ones wait to be accepted; 0: as many as 12 % of the memory of the machine or its control group has room for, at 48 KiB each, from 500 to 10 000; lowered to what the limit of open files has room for",
);
pub const CONNECTIONS_PER_PEER: Number = number(
    "connections-per-peer-max",
    (0, 1_000_000),
    0,
    "of them, those of one address (of one /64 of IPv6) that is no trusted proxy; further ones are closed; 0: a quarter",
);
pub const ANSWER_STALL: Number = number(
    "answer-stall-ms",
    (100, 600_000),
    20_000,
    "that a reader may take to go on with its answer, else the connection, or the stream of HTTP/2, is cut",
);
pub const ANSWER_RATE: Number = number(
    "answer-rate-min",
    (0, 1 << 30),
    1_024,
    "bytes a second that a reader has to take, measured over `answer-stall-ms`, while there is more to send",
);
pub const HEADER_TIMEOUT: Number = number(
    "header-timeout-ms",
    (100, 600_000),
    10_000,
    "until the head of a request is complete, else the connection is cut",
);
pub const BODY_TIMEOUT: Number =
    number("body-timeout-ms", (100, 3_600_000), 30_000, "until the body of a request is complete, else 408");
pub const BODY_BYTES: Number =
    number("body-bytes-max", (0, 1_024 * MIB), MIB, "body of a request where the route says nothing, else 413");
pub const SHUTDOWN: Number =
    number("shutdown-ms", (0, 600_000), 25_000, "that running requests get when the host stops");
pub const CORS_ORIGINS: Word = word("cors-origins", "[]", "origins that browsers may call from; empty: CORS is off");
pub const TRUSTED_PROXIES: Word =
    word("trusted-proxies", "[]", "IP addresses of peers whose X-Forwarded-For and X-Forwarded-Proto are believed");
pub const TLS_CERTIFICATE: Word =
    word("tls-certificate", "\"\"", "PEM file of the certificate of `listen` with its chain; empty: plain HTTP");
pub const TLS_KEY: Word =
    word("tls-key", "\"\"", "PEM file of its private key; both files are looked at every second and may be replaced");

pub const COMPILE_MEMORY: Number = number(
    "memory-bytes",
    (64 * MIB, 64 << 30),
    768 * MIB,
    "memory of one compilation; a small component gets less, at least half",
);
pub const COMPILE_TIME: Number = number(
    "time-ms",
    (1_000, 3_600_000),
    120_000,
    "time of one compilation from its start; it computes for a twentieth of this, and again for each 4 MiB of the component",
);
pub const COMPILE_CONCURRENT: Number = number(
    "concurrent",
    (1, 64),
    2,
    "compilations at the same time, each of another plugin; further ones wait. They run at low priority",
);
pub const ACCESS_LOG: Word = word(
    "access",
    "false",
    "whether each request of the interfaces is logged as one line of the target `tenon::access`",
);

pub const AGE: Number = number("age-ms-max", (60_000, 3_650 * DAY_MS), DAY_MS, "rows older than this are deleted");
pub const BYTES: Number = number(
    "bytes-max",
    (MIB, 1 << 50),
    1 << 30,
    "the oldest rows are deleted when all of the kind are larger than this",
);

pub const COMPONENT: Word = word("component", "", "the .wasm file; relative to the folder of plugins.toml");
pub const MOUNT: Word = word("mount", "\"/\"", "path in front of the paths of the manifest: \"/\" or \"/prefix\"");
pub const GRANTS: Word = word("grants", "[]", "interfaces of the contract that it may import");

pub const SIMULATED: Word = word(
    "simulated",
    "true in development, false in production",
    "whether tenants have simulated blockchains, test networks and main networks, kept in `chains.db` in the data folder",
);
pub const BLOCK_TIME: Number =
    number("block-ms", (10, 600_000), 250, "from block to block of the simulated blockchains");

pub const SHOW_PRIVATE_KEYS: Word = word(
    "show-private-keys",
    "false",
    "whether its `keyring` may show private keys to who asks the plugin for them; production refuses it",
);

pub const ORIGIN_HEADERS: Word = word(
    "origin-headers",
    "[]",
    "headers for the whole origin that its answers may carry: \"set-cookie\", \"strict-transport-security\", \"alt-svc\", \"clear-site-data\", …; others of them are dropped",
);
pub const EXAMPLES: Word =
    word("examples", "[]", "lines that `tenon serve` prints in development, with {url} and {key} filled in");

pub const DEADLINE: Number = number(
    "deadline-ms",
    (1, 600_000),
    10_000,
    "one call with all re-runs and waiting, where the route gives no deadline; then 504",
);
pub const COMPUTE: Number = number("compute-ms", (1, 600_000), 1_000, "computing in one run; then the call is a fault");
pub const MEMORY: Number =
    number("memory-bytes", (MIB, 1_024 * MIB), 64 * MIB, "all memories of one instance together");
pub const ANSWER: Number = number("answer-bytes", (1_024, 1_024 * MIB), 8 * MIB, "one answer");
pub const HOST_CALLS: Number = number("host-calls", (1, 10_000_000), 10_000, "calls of the host in one run");
pub const HOST_CALL_BYTES: Number =
    number("host-call-bytes", (1_024, 4_096 * MIB), 32 * MIB, "arguments of all host calls in one run");
pub const CALLS: Number = number("calls", (1, 1_024), 64, "calls that run at once");
pub const QUEUE: Number = number(
    "queue",
    (0, 1_000_000),
    1_024,
    "calls that wait for their turn, at most 70 % of the time that they have (then 504); the next one gets 503",
);
pub const TENANT_CALLS: Number = number(
    "tenant-percent",
    (1, 100),
    50,
    "of `calls` and of `queue`, what one tenant may take, or one address without a key",
);
pub const COMPONENT_BYTES: Number = number("component-bytes", (1_024, 256 * MIB), 64 * MIB, "the .wasm file");
pub const FUNCTIONS: Number = number(
    "component-functions",
    (1, 1_000_000),
    100_000,
    "functions of a component, in all of its core modules together; more are refused before anything is compiled",
);
pub const FUNCTION_BYTES: Number = number(
    "function-bytes",
    (1_024, 64 * MIB),
    512 << 10,
    "the code of one function of a component; the time and memory that compiling takes grow faster than this",
);
pub const RATE: Number = number("rate-per-second", (0, 1_000_000), 0, "requests a second of one key; 0: no limit");
pub const BURST: Number =
    number("rate-burst", (0, 1_000_000), 0, "requests of one key that may come at once; 0: as many as a second allows");

pub const SCHEDULE: Word = word(
    "schedule-ms",
    "[300000, 600000, 1200000, 2400000, 4800000]",
    "milliseconds between the attempts of a webhook, at most 32 numbers from 1 to 604_800_000: one attempt more than there are numbers",
);
pub const SUCCESS: Word =
    word("success", "\"2xx\"", "which answers count as delivered: \"2xx\", or \"200\" for that status alone");
pub const WEBHOOK_TIMEOUT: Number =
    number("timeout-ms", (100, 60_000), 15_000, "one attempt, from connecting to the end of the answer");
pub const DISABLE_AFTER: Number = number(
    "disable-after-ms",
    (0, 365 * DAY_MS),
    DISABLE_AFTER_MS,
    "an endpoint that only failed for so long is disabled; 0: never",
);

pub const TASK_DELAYS: Word = word(
    "delays-ms",
    "[1000, 5000, 30000, 120000, 600000, 1800000, 3600000, 7200000]",
    "milliseconds between the runs of a task that fails, at most 32 numbers from 0 to 604_800_000: one run more than there are numbers, then `tenon task list` has it; where it is given it counts for all tasks, else what a task declares comes before this",
);

/// The default of keys that one kind of destination needs, and another does not take.
pub const BY_KIND: &str = "by kind";
pub const BASE_URL: Word =
    word("base-url", BY_KIND, "the address below which its calls go; an \"outbox\" and a \"plugin\" have none");
pub const KIND: Word = word(
    "kind",
    "\"none\"",
    "who the host is there: \"none\", \"bearer\", \"basic\", \"oauth2\"; or \"outbox\": nothing is sent, `tenon outbox` shows it; or \"plugin\": a plugin of this host, for the same tenant or for the organization that is named",
);
pub const NEIGHBOUR: Word = word("plugin", BY_KIND, "plugin: its name; paths of calls are those below its mount");
pub const ACTS_FOR: Word = word(
    "organization",
    BY_KIND,
    "plugin: calls act for this organization, in the environment of the tenant that calls; then the plugin may be the one that calls, and `tenants` says whose calls",
);
pub const ENVIRONMENTS: Word =
    word("environments", "[\"test\", \"live\"]", "for tenants of which environments it is there");
pub const TENANTS: Word = word(
    "tenants",
    "[]",
    "for whom it is named: organizations (\"acme\") or their tenants (\"acme/live\"), others may name one so themselves; empty: for all",
);
pub const PLAIN_HTTP: Word =
    word("plain-http", "false", "true: live tenants may use it without TLS; a loopback address needs no permission");
pub const DESTINATION_TIMEOUT: Number = number(
    "timeout-ms",
    (100, 60_000),
    15_000,
    "one attempt at most, getting a token included; a call may ask for less, and where this is not given for up to 120_000",
);
pub const TOKEN: Word = word("token", BY_KIND, "bearer: \"env:NAME\" or \"file:PATH\", as for every secret");
pub const USER: Word = word("user", BY_KIND, "basic");
pub const PASSWORD: Word = word("password", BY_KIND, "basic: \"env:NAME\" or \"file:PATH\"");
pub const TOKEN_URL: Word =
    word("token-url", BY_KIND, "oauth2: where a token is asked for with the client's credentials");
pub const CLIENT_ID: Word = word("client-id", BY_KIND, "oauth2");
pub const CLIENT_SECRET: Word = word("client-secret", BY_KIND, "oauth2: \"env:NAME\" or \"file:PATH\"");
pub const OAUTH_SCOPE: Word = word("scope", BY_KIND, "oauth2: asked for where it is given");
pub const AUDIENCE: Word = word("audience", BY_KIND, "oauth2: asked for where it is given");
pub const CLIENT_AUTHENTICATION: Word = word(
    "client-authentication",
    "\"basic\"",
    "oauth2: \"basic\" or \"post\": the client's credentials in a header or in the form",
);

pub const ISSUER: Word = word(
    "issuer",
    "\"\"",
    "the host's name as a server of tokens: \"https://HOST\" as clients reach it, nothing after it; empty: in development the address of `listen`, in production there are no tokens",
);
pub const ALGORITHM: Word = word(
    "algorithm",
    "\"ES256\"",
    "what tokens are signed with: \"ES256\", \"EdDSA\" or \"RS256\"; where it changes, a new key is made and the one before verifies on",
);
pub const TOKEN_LIFE: Number = number("token-ms", (60_000, 3_600_000), 600_000, "from a token's birth to its end");
pub const FOREIGN_ISSUER: Word = word("issuer", "", "as the tokens spell it in `iss`");
pub const FOREIGN_PLUGIN: Word = word("plugin", "", "the plugin that takes its tokens");
pub const FOREIGN_AUDIENCE: Word = word("audience", "", "what must be among `aud` of a token");
pub const TOKEN_TYPE: Word = word("token-type", "\"at+jwt\"", "what must stand in `typ` of a token");
pub const JWKS_URL: Word = word("jwks-url", "\"\"", "where its public keys are; this or `jwks-file`");
pub const JWKS_FILE: Word = word("jwks-file", "\"\"", "a file with its public keys, read at the start");
pub const TENANT_CLAIM: Word = word(
    "tenant-claim",
    "\"\"",
    "the claim that says the tenant of a token (\"acme/test\"); believe it only of an issuer that may speak for every tenant",
);

pub const ALLOW_TEST: Word = word(
    "allow-test",
    "[]",
    "networks besides public addresses that calls for tenants in the test environment may reach: [\"127.0.0.0/8\"]",
);
pub const ALLOW_LIVE: Word = word("allow-live", "[]", "the same for tenants in the live environment");
pub const ROOTS: Word = word(
    "roots",
    "[]",
    "PEM files of certificates that servers' certificates may go back to, besides the public roots that are built in",
);

pub const TOP_WORDS: [&Word; 7] =
    [&ENVIRONMENT, &LISTEN, &ADMIN_LISTEN, &ADMIN_HOSTS, &PUBLIC_URL, &DATA_DIR, &DATABASE];
pub const LOG_WORDS: [&Word; 1] = [&ACCESS_LOG];
pub const TOP_NUMBERS: [&Number; 3] = [&FREE_DISK, &MEMORY_BUDGET, &TENANT_MEMORY];
pub const HTTP_WORDS: [&Word; 4] = [&CORS_ORIGINS, &TRUSTED_PROXIES, &TLS_CERTIFICATE, &TLS_KEY];
pub const HTTP_NUMBERS: [&Number; 8] = [
    &CONNECTIONS,
    &CONNECTIONS_PER_PEER,
    &HEADER_TIMEOUT,
    &BODY_TIMEOUT,
    &BODY_BYTES,
    &ANSWER_STALL,
    &ANSWER_RATE,
    &SHUTDOWN,
];
pub const PLUGIN_WORDS: [&Word; 6] = [&COMPONENT, &MOUNT, &GRANTS, &SHOW_PRIVATE_KEYS, &ORIGIN_HEADERS, &EXAMPLES];
/// Headers that `origin-headers` may list.
pub const ORIGIN_HEADER_NAMES: [&str; 22] = [
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
pub const WEBHOOK_WORDS: [&Word; 2] = [&SCHEDULE, &SUCCESS];
pub const WEBHOOK_NUMBERS: [&Number; 2] = [&WEBHOOK_TIMEOUT, &DISABLE_AFTER];
pub const TASK_WORDS: [&Word; 1] = [&TASK_DELAYS];
pub const LOGIN_SETTINGS: [&Word; 6] = [&USER, &TOKEN_URL, &CLIENT_ID, &OAUTH_SCOPE, &AUDIENCE, &CLIENT_AUTHENTICATION];
pub const LOGIN_SECRETS: [&Word; 3] = [&TOKEN, &PASSWORD, &CLIENT_SECRET];
pub const DESTINATION_WORDS: [&Word; 16] = [
    &BASE_URL,
    &KIND,
    &NEIGHBOUR,
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
pub const OAUTH_WORDS: [&Word; 2] = [&ISSUER, &ALGORITHM];
pub const OAUTH_NUMBERS: [&Number; 1] = [&TOKEN_LIFE];
pub const ISSUER_WORDS: [&Word; 7] =
    [&FOREIGN_ISSUER, &FOREIGN_PLUGIN, &FOREIGN_AUDIENCE, &TOKEN_TYPE, &JWKS_URL, &JWKS_FILE, &TENANT_CLAIM];
pub const CHAIN_WORDS: [&Word; 1] = [&SIMULATED];
pub const CHAIN_NUMBERS: [&Number; 1] = [&BLOCK_TIME];
pub const OUTBOUND_WORDS: [&Word; 3] = [&ALLOW_TEST, &ALLOW_LIVE, &ROOTS];
pub const COMPILE_NUMBERS: [&Number; 3] = [&COMPILE_MEMORY, &COMPILE_TIME, &COMPILE_CONCURRENT];
pub const LIMIT_NUMBERS: [&Number; 14] = [
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
    &RATE,
    &BURST,
];

/// Interfaces of the contract that can be granted.
pub const GRANT_NAMES: [&str; 15] = [
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

/// One kind of row with a limit on its age or size.
pub struct Kept {
    pub kind: &'static str,
    /// `None`: kept for ever unless plugins.toml says otherwise.
    pub age_ms_default: Option<u64>,
    /// Whether there may be a limit of bytes.
    pub has_bytes: bool,
    pub what: &'static str,
}

const fn kept(kind: &'static str, age_ms_default: Option<u64>, what: &'static str) -> Kept {
    Kept { kind, age_ms_default, has_bytes: true, what }
}

pub const RETENTION: [Kept; 7] = [
    kept("answers", Some(DAY_MS), "answers kept for idempotency keys"),
    kept("events", Some(30 * DAY_MS), "events of plugins; what waits to be delivered goes with its event"),
    Kept {
        kind: "deliveries",
        age_ms_default: Some(30 * DAY_MS),
        has_bytes: false,
        what: "deliveries that ended, and their attempts; those of events and endpoints that are gone always go",
    },
    kept("journal", None, "journals of tenants"),
    kept("swaps", Some(365 * DAY_MS), "the operators' journal; what runs now is never forgotten"),
    kept("outbox", Some(30 * DAY_MS), "messages to destinations of the kind \"outbox\""),
    kept("batches", Some(7 * DAY_MS), "ids of the committer's transactions"),
];
