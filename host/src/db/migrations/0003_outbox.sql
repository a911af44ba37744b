-- Messages that were stored instead of being sent: calls to destinations of the kind "outbox".
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    destination TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    media_type TEXT,
    body BLOB NOT NULL,
    -- The idempotency key: one message for each.
    key TEXT,
    at INTEGER NOT NULL
);
CREATE UNIQUE INDEX outbox_key ON outbox (plugin, tenant, destination, key) WHERE key IS NOT NULL;
