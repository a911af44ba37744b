-- Deliveries and attempts in the order of their events. Rows of one batch lie side by side, whatever number of endpoints they are for.
-- In the order of endpoints each of them was in a page of its own, and writing a page costs more than the row.
CREATE TABLE ordered_deliveries (
    event INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- Of the next attempt, where it waits for one.
    due INTEGER,
    at INTEGER NOT NULL,
    PRIMARY KEY (event, lane)
) WITHOUT ROWID;
INSERT INTO ordered_deliveries SELECT event, lane, state, attempts, due, at FROM deliveries ORDER BY event, lane;

CREATE TABLE ordered_attempts (
    event INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    -- The first bytes of the answer, or what went wrong.
    answer BLOB NOT NULL,
    PRIMARY KEY (event, lane, number)
) WITHOUT ROWID;
-- An attempt without its delivery was left by a deletion that was interrupted.
INSERT INTO ordered_attempts SELECT a.event, a.lane, a.number, a.at, a.duration_ms, a.outcome, a.status, a.answer
    FROM attempts a JOIN deliveries d ON d.lane = a.lane AND d.event = a.event ORDER BY a.event, a.lane, a.number;

DROP TABLE deliveries;
DROP TABLE attempts;
ALTER TABLE ordered_deliveries RENAME TO deliveries;
ALTER TABLE ordered_attempts RENAME TO attempts;

-- Every delivery of an endpoint is in one of the first two. The batch of an event writes the first, which is small. The second is written
-- with the outcomes of attempts, many at a time.
CREATE INDEX deliveries_fresh ON deliveries (lane, event) WHERE state = 0;
CREATE INDEX deliveries_tried ON deliveries (lane, event) WHERE state <> 0;
CREATE INDEX deliveries_due ON deliveries (lane, due) WHERE state = 1;
CREATE INDEX deliveries_given_up ON deliveries (lane, event) WHERE state = 3;
