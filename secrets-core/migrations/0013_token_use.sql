-- A token that was rotated is known by its previous hash too, until its time is over.
ALTER TABLE tokens ADD COLUMN previous_mac BYTEA;

ALTER TABLE tokens ADD COLUMN previous_until TIMESTAMPTZ;

ALTER TABLE tokens ADD COLUMN rotated_at TIMESTAMPTZ;

-- Networks, separated by commas; empty for all.
ALTER TABLE tokens ADD COLUMN ip_allowlist TEXT NOT NULL DEFAULT '';

ALTER TABLE tokens ADD COLUMN last_used_at TIMESTAMPTZ;

ALTER TABLE tokens ADD COLUMN last_used_ip TEXT;

CREATE UNIQUE INDEX tokens_previous_mac ON tokens (previous_mac);
