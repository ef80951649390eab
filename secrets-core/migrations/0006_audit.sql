-- No references: an entry outlives what it tells of. A sealer fills position, previous_hash and
-- hash later, so that writers need not wait for each other.
CREATE TABLE audit_log (
    id               UUID        NOT NULL PRIMARY KEY,
    team_id          UUID,
    project_id       UUID,
    project_name     TEXT,
    environment_id   UUID,
    environment_name TEXT,
    actor_type       TEXT        NOT NULL,
    actor_id         UUID,
    actor_name       TEXT,
    actor_email      TEXT,
    action           TEXT        NOT NULL,
    resource_type    TEXT        NOT NULL,
    resource_id      UUID,
    resource_name    TEXT,
    outcome          TEXT        NOT NULL,
    metadata         TEXT        NOT NULL,
    address          TEXT,
    agent            TEXT,
    request_id       UUID,
    created_at       TIMESTAMPTZ NOT NULL,
    position         BIGINT,
    previous_hash    BYTEA,
    hash             BYTEA
);

CREATE INDEX audit_log_team ON audit_log (team_id, created_at);

CREATE INDEX audit_log_project ON audit_log (project_id, created_at);
