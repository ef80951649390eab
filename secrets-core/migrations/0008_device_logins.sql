-- Logins of command-line clients (RFC 8628) and what comes of them. Codes and tokens are kept as keyed
-- hashes only.
CREATE TABLE device_logins (
    id           UUID        NOT NULL PRIMARY KEY,
    device_mac   BYTEA       NOT NULL UNIQUE,
    code_mac     BYTEA       NOT NULL UNIQUE,
    client_name  TEXT,
    hostname     TEXT,
    os           TEXT,
    address      TEXT,
    status       TEXT        NOT NULL,
    user_id      UUID REFERENCES users (id) ON DELETE CASCADE,
    poll_seconds BIGINT      NOT NULL,
    polled_at    TIMESTAMPTZ,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);

CREATE INDEX device_logins_end ON device_logins (expires_at);

CREATE TABLE cli_sessions (
    id          UUID        NOT NULL PRIMARY KEY,
    user_id     UUID        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    mac         BYTEA       NOT NULL UNIQUE,
    prefix      TEXT        NOT NULL,
    client_name TEXT,
    hostname    TEXT,
    os          TEXT,
    address     TEXT,
    created_at  TIMESTAMPTZ NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL
);

CREATE INDEX cli_sessions_user ON cli_sessions (user_id);

CREATE INDEX cli_sessions_end ON cli_sessions (expires_at);
