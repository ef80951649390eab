-- One text for SQLite and PostgreSQL: SQLite takes any type name, and keeps UUID and BYTEA as blobs
-- and TIMESTAMPTZ as RFC 3339 text. Migrations only ever add; one that was released never changes.

CREATE TABLE instance (
    singleton   BIGINT      NOT NULL PRIMARY KEY CHECK (singleton = 1),
    id          UUID        NOT NULL,
    root_key_id BYTEA       NOT NULL,
    kek_id      BIGINT      NOT NULL,
    wrapped_kek BYTEA       NOT NULL,
    canary      BYTEA       NOT NULL,
    epoch       BIGINT      NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL
);

CREATE TABLE instance_keys (
    purpose BIGINT NOT NULL PRIMARY KEY,
    kek_id  BIGINT NOT NULL,
    wrapped BYTEA  NOT NULL
);
