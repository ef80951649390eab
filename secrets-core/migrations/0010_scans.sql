-- Contents are never kept: of what was found, its place, its two ends and a keyed hash.
CREATE TABLE scans (
    id               UUID        NOT NULL PRIMARY KEY,
    team_id          UUID        NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    project_id       UUID        REFERENCES projects (id),
    source           TEXT        NOT NULL,
    source_name      TEXT,
    source_commit    TEXT,
    high             BIGINT      NOT NULL,
    medium           BIGINT      NOT NULL,
    low              BIGINT      NOT NULL,
    is_truncated     BOOLEAN     NOT NULL,
    secrets_compared BIGINT      NOT NULL,
    created_by       UUID        NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    completed_at     TIMESTAMPTZ NOT NULL
);

CREATE INDEX scans_team ON scans (team_id, created_at);

CREATE INDEX scans_project ON scans (project_id, created_at);

-- The secret that a finding holds is told and not referred to: it may be gone.
CREATE TABLE scan_findings (
    id                 UUID        NOT NULL PRIMARY KEY,
    scan_id            UUID        NOT NULL REFERENCES scans (id) ON DELETE CASCADE,
    position           BIGINT      NOT NULL,
    rule_id            TEXT        NOT NULL,
    description        TEXT        NOT NULL,
    severity           TEXT        NOT NULL,
    path               TEXT,
    line               BIGINT,
    column_number      BIGINT,
    commit_name        TEXT,
    fingerprint        BYTEA       NOT NULL,
    redacted           TEXT,
    entropy            BIGINT,
    secret_project     UUID,
    secret_environment UUID,
    secret_key         TEXT,
    status             TEXT        NOT NULL,
    comment            TEXT,
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL,
    updated_by         UUID
);

CREATE UNIQUE INDEX scan_findings_scan ON scan_findings (scan_id, position);

-- What a team has said of a fingerprint once and for all. Outlives the scan it was said in.
CREATE TABLE finding_marks (
    team_id     UUID  NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    fingerprint BYTEA NOT NULL,
    status      TEXT  NOT NULL,
    PRIMARY KEY (team_id, fingerprint)
);
