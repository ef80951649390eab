-- Old records are found along an index when they are deleted.
CREATE INDEX scans_age ON scans (created_at);

CREATE INDEX rotation_attempts_age ON rotation_attempts (completed_at);
