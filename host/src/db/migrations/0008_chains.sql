-- How far each network was read: "simulated-test/base", the height of the last block and the hash that it had.
CREATE TABLE chain_cursors (
    network TEXT PRIMARY KEY,
    height INTEGER NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;
