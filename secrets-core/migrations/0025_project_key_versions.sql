-- A project key is replaced by a key with a higher version, and retired when no record is encrypted with it.
ALTER TABLE project_keys ADD COLUMN created_at TIMESTAMPTZ;
ALTER TABLE project_keys ADD COLUMN replaced_at TIMESTAMPTZ;
ALTER TABLE project_keys ADD COLUMN retired_at TIMESTAMPTZ;

CREATE INDEX project_keys_replaced ON project_keys (project_id, version)
    WHERE replaced_at IS NOT NULL AND retired_at IS NULL;

-- The time of the request: older project keys are to be replaced.
CREATE TABLE project_key_requests (
    singleton    BIGINT      NOT NULL PRIMARY KEY CHECK (singleton = 1),
    requested_at TIMESTAMPTZ NOT NULL
);
