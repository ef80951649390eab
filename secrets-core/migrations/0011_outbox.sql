-- What is to be sent after a commit. Whoever claims a row counts an attempt and puts its next one to
-- when the claim ends; so a row that nobody settles is due again by itself.
CREATE TABLE outbox (
    id              UUID        NOT NULL PRIMARY KEY,
    kind            TEXT        NOT NULL,
    payload         TEXT        NOT NULL,
    attempts        BIGINT      NOT NULL,
    next_attempt_at TIMESTAMPTZ NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL
);

CREATE INDEX outbox_due ON outbox (next_attempt_at);
