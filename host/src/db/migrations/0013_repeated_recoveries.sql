-- 1: a later command for the endpoint came. The deliveries are looked through once more after this time.
ALTER TABLE recoveries ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
