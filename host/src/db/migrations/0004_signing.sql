-- Keys that webhooks are signed with: the name of the sealed copy of its text in secrets. Null: only the hash is kept.
ALTER TABLE keys ADD COLUMN secret TEXT;
CREATE INDEX keys_signing ON keys (organization, environment) WHERE secret IS NOT NULL;
