-- The host's own tables. None has an underscore in its name: a plugin's tables are named plugin_collection.
-- Times are milliseconds since 1970. Amounts are decimal text: they pass 64 bits.

-- One row for each transaction of the committer: how the outcome is found out when the connection dies during COMMIT.
CREATE TABLE batches (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    last_version INTEGER NOT NULL,
    at INTEGER NOT NULL
);

CREATE TABLE guards (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (plugin, tenant, name)
) WITHOUT ROWID;

-- Answers kept for idempotency keys.
CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    sealed BLOB NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (plugin, tenant, name)
);

CREATE TABLE accounts (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    external INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (plugin, tenant, account)
) WITHOUT ROWID;

CREATE TABLE balances (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    asset TEXT NOT NULL,
    amount TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (plugin, tenant, account, asset)
) WITHOUT ROWID;

CREATE TABLE transfers (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    asset TEXT NOT NULL,
    amount TEXT NOT NULL,
    memo TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (plugin, tenant, id)
) WITHOUT ROWID;

-- Numbered inside the transaction as its last statements: a reader with a cursor never misses one.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    payload TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL
);

-- One chain of hashes for each plugin and tenant.
CREATE TABLE journal (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL,
    at INTEGER NOT NULL,
    subject TEXT NOT NULL,
    operation TEXT NOT NULL,
    request_id TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (plugin, tenant, seq)
);

CREATE TABLE counters (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    next INTEGER NOT NULL,
    PRIMARY KEY (plugin, tenant, name)
) WITHOUT ROWID;

-- API keys: only the SHA-256 of their texts is kept.
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    plugin TEXT NOT NULL,
    organization TEXT NOT NULL,
    environment TEXT NOT NULL,
    owner TEXT NOT NULL,
    scopes TEXT NOT NULL,
    attributes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
) WITHOUT ROWID;

-- The operators' journal: what was deployed, by whom, and how it ended.
CREATE TABLE swaps (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    plugin TEXT NOT NULL,
    action TEXT NOT NULL,
    from_hash TEXT,
    to_hash TEXT,
    file_hash TEXT,
    outcome TEXT NOT NULL,
    reasons TEXT NOT NULL,
    steps_ms TEXT NOT NULL
);
CREATE INDEX swaps_plugin ON swaps (plugin, seq);

-- Sealed under the operator's master key.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) WITHOUT ROWID;

-- What was ever prepared: the highest data version that a plugin wrote, and the indexed fields that rows carry.
CREATE TABLE collections (
    plugin TEXT NOT NULL,
    collection TEXT NOT NULL,
    written INTEGER NOT NULL,
    fields TEXT NOT NULL,
    PRIMARY KEY (plugin, collection)
) WITHOUT ROWID;
