-- Keys and tokens that plugins hand out stand beside those of operators.
ALTER TABLE keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'api-key';
-- What its plugin calls it. Null: an operator made it.
ALTER TABLE keys ADD COLUMN label TEXT;
-- Of an issued key that signs webhooks: the sealed copy of its text, under the root of the database.
ALTER TABLE keys ADD COLUMN sealed BLOB;
-- Of an issued one: from this moment on it opens nothing.
ALTER TABLE keys ADD COLUMN ends_at INTEGER;
CREATE INDEX keys_ending ON keys (ends_at) WHERE label IS NOT NULL;
CREATE INDEX keys_issued ON keys (created_at, id) WHERE label IS NOT NULL;

-- What issued ones are found by, as long as they are not revoked.
CREATE TABLE key_attributes (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    ends_at INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (plugin, tenant, name, value, ends_at, key)
) WITHOUT ROWID;
CREATE INDEX key_attributes_key ON key_attributes (key);
