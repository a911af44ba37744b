-- Clients of OAuth 2.0: of a secret only the SHA-256 is kept.
CREATE TABLE clients (
    id TEXT PRIMARY KEY,
    plugin TEXT NOT NULL,
    organization TEXT NOT NULL,
    environment TEXT NOT NULL,
    -- JSON
    scopes TEXT NOT NULL,
    secret BLOB,
    -- The one before the last rotation.
    previous_secret BLOB,
    previous_until INTEGER,
    -- In the place of a secret.
    jwks TEXT,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
);

-- Signed proofs of clients that were taken: each counts once.
CREATE TABLE assertions (
    id BLOB PRIMARY KEY,
    ends_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX assertions_end ON assertions (ends_at);
