-- Deliveries that are still to be made. A batch makes a limited number of deliveries itself. The others are made after
-- it, in transactions of their own. One row: consecutive events of one tenant that go to the same endpoints.
CREATE TABLE fan_outs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    plugin TEXT NOT NULL,
    tenant TEXT NOT NULL,
    -- JSON arrays of events.seq, ascending, and of lanes.lane.
    events TEXT NOT NULL,
    lanes TEXT NOT NULL,
    -- How many of the pairs have their delivery. Pairs are counted event by event.
    made INTEGER NOT NULL,
    -- 1: all are made. The row goes once the engine of deliveries knows of them.
    done INTEGER NOT NULL
);
CREATE INDEX fan_outs_done ON fan_outs (id) WHERE done = 1;
CREATE INDEX fan_outs_tenant ON fan_outs (plugin, tenant, id);
