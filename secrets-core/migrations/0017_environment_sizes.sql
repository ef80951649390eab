-- Sizes of the encrypted secrets and of their previous versions, in bytes, so that a write checks its limits
-- without reading them all.
ALTER TABLE environments ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE environments ADD COLUMN history_size BIGINT NOT NULL DEFAULT 0;

-- The environment of a version, so that the oldest versions of an environment are found along an index.
ALTER TABLE secret_versions ADD COLUMN environment_id UUID;

UPDATE secret_versions
SET environment_id = (SELECT s.environment_id FROM secrets s WHERE s.id = secret_versions.secret_id);

CREATE INDEX secret_versions_age ON secret_versions (environment_id, replaced_at);

UPDATE environments
SET size = COALESCE(
        (SELECT SUM(LENGTH(s.sealed) + COALESCE(LENGTH(s.sealed_description), 0))
         FROM secrets s WHERE s.environment_id = environments.id), 0),
    history_size = COALESCE(
        (SELECT SUM(LENGTH(v.sealed))
         FROM secret_versions v WHERE v.environment_id = environments.id), 0);
