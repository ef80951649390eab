-- Here and below, who made something is told and not referred to: a user, or a token that may be gone.
CREATE TABLE projects (
    id          UUID        NOT NULL PRIMARY KEY,
    team_id     UUID        NOT NULL REFERENCES teams (id),
    name        TEXT        NOT NULL,
    slug        TEXT        NOT NULL UNIQUE,
    description TEXT,
    created_by  UUID,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    deleted_at  TIMESTAMPTZ
);

CREATE INDEX projects_team ON projects (team_id);

CREATE TABLE project_keys (
    project_id UUID   NOT NULL REFERENCES projects (id),
    version    BIGINT NOT NULL,
    kek_id     BIGINT NOT NULL,
    wrapped    BYTEA  NOT NULL,
    PRIMARY KEY (project_id, version)
);

-- The composite reference keeps a chain within one project.
CREATE TABLE environments (
    id            UUID        NOT NULL PRIMARY KEY,
    project_id    UUID        NOT NULL REFERENCES projects (id),
    name          TEXT        NOT NULL,
    folded_name   TEXT        NOT NULL,
    inherits_from UUID,
    description   TEXT,
    is_default    BOOLEAN     NOT NULL,
    position      BIGINT      NOT NULL,
    revision      BIGINT      NOT NULL,
    created_by    UUID,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    UNIQUE (project_id, folded_name),
    UNIQUE (project_id, id),
    FOREIGN KEY (project_id, inherits_from) REFERENCES environments (project_id, id)
);

CREATE INDEX environments_parent ON environments (inherits_from);
