-- Endpoints whose deliveries that were given up are to be made again. A batch looks through a limited number of them itself. The
-- others are looked through after it, in transactions of their own.
CREATE TABLE recoveries (
    lane INTEGER PRIMARY KEY,
    -- Those that were given up at this time or later.
    since INTEGER NOT NULL,
    -- When it was ordered: the time at which they are due.
    ordered_at INTEGER NOT NULL,
    -- deliveries.event up to which they were looked through.
    after INTEGER NOT NULL
);
