-- Entries of reads, written together, until they are moved to the audit log.
CREATE TABLE audit_batches (
    id      UUID   NOT NULL PRIMARY KEY,
    size    BIGINT NOT NULL,
    entries TEXT   NOT NULL
);

-- No query uses it.
DROP INDEX audit_log_project;

-- Without the entries that are in no chain yet, so that a new entry is cheaper.
DROP INDEX audit_log_chain;

CREATE UNIQUE INDEX audit_log_chain ON audit_log (team_id, position) WHERE position IS NOT NULL;
