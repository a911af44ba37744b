-- Endpoints whose deliveries that were given up are to be made again. A batch looks through a limited number of them itself. The
-- others are looked through after it, in transactions of their own.
CREATE TABLE recoveries (
    lane INTEGER PRIMARY KEY,
    -- Given up from `since` up to the time of the order.
    since INTEGER NOT NULL,
    ordered_at INTEGER NOT NULL,
    -- deliveries.event up to which they were looked through.
    after INTEGER NOT NULL
);
