CREATE TABLE secrets (
    id                 UUID        NOT NULL PRIMARY KEY,
    environment_id     UUID        NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    key                TEXT        NOT NULL,
    sealed             BYTEA       NOT NULL,
    hidden             BOOLEAN     NOT NULL,
    sealed_description BYTEA,
    version            BIGINT      NOT NULL,
    change             TEXT        NOT NULL,
    changed_by         UUID,
    changed_at         TIMESTAMPTZ NOT NULL,
    created_by         UUID,
    updated_by         UUID,
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL,
    UNIQUE (environment_id, key)
);

CREATE TABLE secret_versions (
    secret_id   UUID        NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    version     BIGINT      NOT NULL,
    sealed      BYTEA       NOT NULL,
    hidden      BOOLEAN     NOT NULL,
    change      TEXT        NOT NULL,
    changed_by  UUID,
    changed_at  TIMESTAMPTZ NOT NULL,
    replaced_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (secret_id, version)
);
