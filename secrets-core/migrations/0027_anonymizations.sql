-- Deleted users whose names have not been removed from all entries of the audit log yet. Entries up to this time and ID are
-- done.
CREATE TABLE anonymizations (
    user_id    UUID        NOT NULL PRIMARY KEY,
    created_at TIMESTAMPTZ NOT NULL,
    entry_id   UUID        NOT NULL
);
