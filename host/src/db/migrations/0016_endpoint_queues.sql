-- The deliveries to one endpoint are its queue. Earlier migrations call it a lane.
ALTER TABLE lanes RENAME TO queues;
ALTER TABLE queues RENAME COLUMN lane TO queue;
ALTER TABLE deliveries RENAME COLUMN lane TO queue;
ALTER TABLE attempts RENAME COLUMN lane TO queue;
ALTER TABLE recoveries RENAME COLUMN lane TO queue;
ALTER TABLE fan_outs RENAME COLUMN lanes TO queues;
