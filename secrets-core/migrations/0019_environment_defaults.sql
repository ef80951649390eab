-- Default access of team members in one environment. Takes precedence over the default of the project.
CREATE TABLE environment_defaults (
    environment_id UUID        NOT NULL PRIMARY KEY REFERENCES environments (id) ON DELETE CASCADE,
    access         TEXT        NOT NULL,
    set_by         UUID,
    created_at     TIMESTAMPTZ NOT NULL
);
