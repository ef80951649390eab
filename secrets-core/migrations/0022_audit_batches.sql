-- Entries of reads, written together, until they are moved to the audit log.
CREATE TABLE audit_batches (
    id      UUID   NOT NULL PRIMARY KEY,
    size    BIGINT NOT NULL,
    entries TEXT   NOT NULL
);

-- No query uses it.
DROP INDEX audit_log_project;
