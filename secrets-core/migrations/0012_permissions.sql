-- Refers to the member and not to the user: who leaves a team takes no rights along, and comes back
-- without.
CREATE TABLE permissions (
    environment_id UUID        NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    user_id        UUID        NOT NULL,
    team_id        UUID        NOT NULL,
    access         TEXT        NOT NULL,
    granted_by     UUID,
    created_at     TIMESTAMPTZ NOT NULL,
    updated_at     TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (environment_id, user_id),
    FOREIGN KEY (team_id, user_id) REFERENCES members (team_id, user_id) ON DELETE CASCADE
);

CREATE INDEX permissions_member ON permissions (team_id, user_id);

CREATE TABLE permission_defaults (
    project_id UUID        NOT NULL PRIMARY KEY REFERENCES projects (id),
    access     TEXT        NOT NULL,
    set_by     UUID,
    updated_at TIMESTAMPTZ NOT NULL
);
