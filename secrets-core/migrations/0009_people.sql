-- An invitation is here while it is pending. One that was accepted or revoked is gone; one that
-- expired is gone when somebody is invited again.
CREATE TABLE invitations (
    id           UUID        NOT NULL PRIMARY KEY,
    team_id      UUID        NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    email        TEXT        NOT NULL,
    role         TEXT        NOT NULL,
    mac          BYTEA       NOT NULL UNIQUE,
    sendings     BIGINT      NOT NULL,
    invited_by   UUID        NOT NULL REFERENCES users (id),
    created_at   TIMESTAMPTZ NOT NULL,
    last_sent_at TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL,
    UNIQUE (team_id, email)
);

CREATE INDEX invitations_email ON invitations (email);

-- Whether a person chose their name themselves; else it is what their issuer says.
ALTER TABLE users ADD COLUMN name_chosen BOOLEAN NOT NULL DEFAULT FALSE;
