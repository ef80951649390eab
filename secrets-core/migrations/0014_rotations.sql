-- One index finds all work: work_at is when there is something to do, whatever it is.
CREATE TABLE rotations (
    id               UUID        NOT NULL PRIMARY KEY,
    environment_id   UUID        NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    name             TEXT        NOT NULL,
    integration      TEXT        NOT NULL,
    method           TEXT        NOT NULL,
    level            TEXT        NOT NULL,
    connection       BYTEA       NOT NULL,
    proxy            BYTEA,
    keys             TEXT        NOT NULL,
    interval_days    BIGINT      NOT NULL,
    status           TEXT        NOT NULL,
    error_code       TEXT,
    error_message    TEXT,
    error_since      TIMESTAMPTZ,
    failures         BIGINT      NOT NULL,
    active_slot      TEXT,
    retire_at        TIMESTAMPTZ,
    check_at         TIMESTAMPTZ,
    checks           BIGINT      NOT NULL,
    next_rotation_at TIMESTAMPTZ NOT NULL,
    remaining        BIGINT,
    last_rotation_at TIMESTAMPTZ,
    identity         TEXT,
    sequence         BIGINT      NOT NULL,
    work_at          TIMESTAMPTZ,
    lease_until      TIMESTAMPTZ,
    lease_epoch      BIGINT      NOT NULL,
    created_by       UUID,
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    UNIQUE (environment_id, name)
);

CREATE INDEX rotations_work ON rotations (work_at);

-- The keys that rotations write, whether they have written them yet or not.
CREATE TABLE rotation_keys (
    environment_id UUID NOT NULL REFERENCES environments (id) ON DELETE CASCADE,
    key            TEXT NOT NULL,
    rotation_id    UUID NOT NULL REFERENCES rotations (id) ON DELETE CASCADE,
    PRIMARY KEY (environment_id, key)
);

CREATE INDEX rotation_keys_rotation ON rotation_keys (rotation_id);

-- What is concluded is the history.
CREATE TABLE rotation_attempts (
    id            UUID        NOT NULL PRIMARY KEY,
    rotation_id   UUID        NOT NULL REFERENCES rotations (id) ON DELETE CASCADE,
    sequence      BIGINT      NOT NULL,
    slot          TEXT        NOT NULL,
    pending       BYTEA,
    state         TEXT        NOT NULL,
    trigger_type  TEXT        NOT NULL,
    triggered_by  UUID,
    tries         BIGINT      NOT NULL,
    resumed       BIGINT      NOT NULL,
    outcome       TEXT,
    error_code    TEXT,
    error_message TEXT,
    started_at    TIMESTAMPTZ NOT NULL,
    completed_at  TIMESTAMPTZ,
    UNIQUE (rotation_id, sequence)
);

-- At most one attempt of a rotation is open.
CREATE UNIQUE INDEX rotation_attempts_open ON rotation_attempts (rotation_id) WHERE completed_at IS NULL;

CREATE TABLE webhooks (
    id            UUID        NOT NULL PRIMARY KEY,
    rotation_id   UUID        NOT NULL REFERENCES rotations (id) ON DELETE CASCADE,
    sealed        BYTEA       NOT NULL,
    events        TEXT        NOT NULL,
    enabled       BOOLEAN     NOT NULL,
    failing_since TIMESTAMPTZ,
    created_by    UUID,
    created_at    TIMESTAMPTZ NOT NULL
);

CREATE INDEX webhooks_rotation ON webhooks (rotation_id, created_at);

CREATE TABLE webhook_deliveries (
    id              UUID        NOT NULL PRIMARY KEY,
    webhook_id      UUID        NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event           TEXT,
    body            TEXT        NOT NULL,
    status          TEXT        NOT NULL,
    attempts        BIGINT      NOT NULL,
    response_status BIGINT,
    next_attempt_at TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL
);

CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, created_at);

CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

DROP INDEX outbox_due;

CREATE INDEX outbox_due ON outbox (kind, next_attempt_at);
