-- One row: which database this is. The file NAME.id beside the database holds the same.
CREATE TABLE identity (
    id TEXT NOT NULL
);
INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));
