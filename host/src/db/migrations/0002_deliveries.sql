-- What surrounds the payload of an event is part of it from here on: the exact bytes that leave the host.
ALTER TABLE events RENAME COLUMN payload TO body;
-- The only endpoint that it goes to: a test event. Null for all that subscribe to it.
ALTER TABLE events ADD COLUMN only TEXT;
-- The feed of one tenant.
CREATE INDEX events_feed ON events (plugin, tenant, seq);
CREATE INDEX events_id ON events (id);

-- A number for each endpoint of webhooks that exists; never used twice, so that what an old endpoint left behind cannot
-- reach a new one of the same name.
CREATE TABLE lanes (
    lane INTEGER PRIMARY KEY AUTOINCREMENT,
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- When it began to do nothing but fail.
    failing_since INTEGER,
    UNIQUE (plugin, tenant, endpoint)
);

-- One event for one endpoint. state: 0 not tried yet, 1 waits for its next attempt, 2 delivered, 3 given up.
CREATE TABLE deliveries (
    lane INTEGER NOT NULL,
    event INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- Of the next attempt, where it waits for one.
    due INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (lane, event)
) WITHOUT ROWID;
CREATE INDEX deliveries_fresh ON deliveries (lane, event) WHERE state = 0;
CREATE INDEX deliveries_due ON deliveries (lane, due) WHERE state = 1;
CREATE INDEX deliveries_given_up ON deliveries (lane, event) WHERE state = 3;

-- Every request that was made. outcome: 'delivered' or the class of the failure.
CREATE TABLE attempts (
    lane INTEGER NOT NULL,
    event INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    -- The first bytes of the answer, or what went wrong.
    answer BLOB NOT NULL,
    PRIMARY KEY (lane, event, number)
) WITHOUT ROWID;
