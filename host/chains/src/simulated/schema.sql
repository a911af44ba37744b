-- All simulated networks, by number. Amounts are 32 bytes, big-endian. The token of the coin is ''.

CREATE TABLE IF NOT EXISTS networks (
    net INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    base_height INTEGER NOT NULL,
    base_time_ms INTEGER NOT NULL,
    block_time_ms INTEGER NOT NULL,
    -- Number of funding transactions so far; makes their hashes unique.
    gifts INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS forks (
    net INTEGER NOT NULL,
    height INTEGER NOT NULL
);

-- state: 0 waiting, 1 done, 2 failed. fault: 1 fails, 2 is stuck. ready: the block that it is scheduled for; null: not
-- scheduled until its sender's state changes.
CREATE TABLE IF NOT EXISTS transactions (
    id INTEGER PRIMARY KEY,
    net INTEGER NOT NULL,
    hash TEXT NOT NULL,
    sender TEXT NOT NULL,
    sequence INTEGER,
    price BLOB NOT NULL,
    tip BLOB NOT NULL,
    cost BLOB NOT NULL,
    plan TEXT NOT NULL,
    fault INTEGER NOT NULL,
    ready INTEGER,
    state INTEGER NOT NULL DEFAULT 0,
    block INTEGER,
    place INTEGER,
    fee BLOB,
    UNIQUE (net, hash)
);
CREATE INDEX IF NOT EXISTS transactions_ready ON transactions (net, ready) WHERE state = 0 AND ready IS NOT NULL;
CREATE INDEX IF NOT EXISTS transactions_waiting ON transactions (net, sender, sequence) WHERE state = 0;
CREATE INDEX IF NOT EXISTS transactions_standing ON transactions (net, block, place) WHERE block IS NOT NULL;

CREATE TABLE IF NOT EXISTS movements (
    net INTEGER NOT NULL,
    block INTEGER NOT NULL,
    place INTEGER NOT NULL,
    id INTEGER NOT NULL,
    hash TEXT NOT NULL,
    position INTEGER NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    token TEXT NOT NULL,
    amount BLOB NOT NULL,
    PRIMARY KEY (net, block, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS movements_recipient ON movements (net, recipient, block, place);
CREATE INDEX IF NOT EXISTS movements_transaction ON movements (id, position);

CREATE TABLE IF NOT EXISTS balances (
    net INTEGER NOT NULL,
    address TEXT NOT NULL,
    token TEXT NOT NULL,
    amount BLOB NOT NULL,
    PRIMARY KEY (net, address, token)
) WITHOUT ROWID;

-- sequence: number of its transactions in blocks. reserved: total cost of its waiting transactions.
CREATE TABLE IF NOT EXISTS senders (
    net INTEGER NOT NULL,
    address TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    reserved BLOB NOT NULL,
    PRIMARY KEY (net, address)
) WITHOUT ROWID;

-- Token accounts whose address differs from their owner's.
CREATE TABLE IF NOT EXISTS accounts (
    net INTEGER NOT NULL,
    account TEXT NOT NULL,
    owner TEXT NOT NULL,
    token TEXT NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (net, account)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS accounts_transaction ON accounts (id);

-- Faucet requests that were granted, by idempotency key.
CREATE TABLE IF NOT EXISTS wishes (
    net INTEGER NOT NULL,
    key TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (net, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS wishes_hash ON wishes (net, hash);
