-- The expiry of a token is announced once. Tokens that are not to be announced are created marked.
ALTER TABLE tokens ADD COLUMN expiry_announced BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX tokens_expiry ON tokens (expires_at, id) WHERE NOT expiry_announced;

-- Failures of a rotation are announced at most once a day.
ALTER TABLE rotations ADD COLUMN announced_at TIMESTAMPTZ;
