CREATE TABLE tokens (
    id               UUID        NOT NULL PRIMARY KEY,
    team_id          UUID        NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    name             TEXT        NOT NULL,
    mac              BYTEA       NOT NULL UNIQUE,
    prefix           TEXT        NOT NULL,
    can_read         BOOLEAN     NOT NULL,
    can_write        BOOLEAN     NOT NULL,
    all_projects     BOOLEAN     NOT NULL,
    all_environments BOOLEAN     NOT NULL,
    created_by       UUID        NOT NULL REFERENCES users (id),
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    expires_at       TIMESTAMPTZ
);

CREATE INDEX tokens_team ON tokens (team_id);

CREATE TABLE token_projects (
    token_id   UUID NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    project_id UUID NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    PRIMARY KEY (token_id, project_id)
);

CREATE INDEX token_projects_project ON token_projects (project_id);

CREATE TABLE token_environments (
    token_id       UUID NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    environment_id UUID NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    PRIMARY KEY (token_id, environment_id)
);

CREATE INDEX token_environments_environment ON token_environments (environment_id);
