-- How far each team's part of the log is sealed, and where it begins since old entries were removed.
-- What concerns no team is chained under the nil UUID.
CREATE TABLE audit_heads (
    team_id   UUID   NOT NULL PRIMARY KEY,
    base      BIGINT NOT NULL,
    base_hash BYTEA  NOT NULL,
    position  BIGINT NOT NULL,
    hash      BYTEA  NOT NULL,
    mac       BYTEA  NOT NULL
);

CREATE UNIQUE INDEX audit_log_chain ON audit_log (team_id, position);

CREATE INDEX audit_log_unsealed ON audit_log (created_at, id) WHERE position IS NULL;

CREATE INDEX audit_log_actor ON audit_log (actor_id, created_at);
