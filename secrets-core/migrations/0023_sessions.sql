-- Sessions of browsers beside those of command-line clients. A node of the previous version inserts and
-- accepts sessions of the kind `cli` only.
ALTER TABLE cli_sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'cli';

ALTER TABLE cli_sessions ADD COLUMN last_used_at TIMESTAMPTZ;
