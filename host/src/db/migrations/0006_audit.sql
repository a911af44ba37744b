-- Which generation wrote a line. Lines from before have neither, and their hash covers neither.
ALTER TABLE journal ADD COLUMN version TEXT;
-- Hex SHA-256.
ALTER TABLE journal ADD COLUMN component TEXT;

-- The last line that retention deleted of a chain: what is left goes on from there.
CREATE TABLE journal_cuts (
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (plugin, tenant)
) WITHOUT ROWID;
INSERT INTO journal_cuts
    SELECT plugin, tenant, min(seq) - 1, prev FROM journal GROUP BY plugin, tenant HAVING min(seq) > 1;
