-- How many deliveries and calls between hosts led to the event: what its deliveries carry, and one more.
ALTER TABLE events ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
