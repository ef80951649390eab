-- New entries are sealed team by team, so that one team's broken chain holds up no other.
DROP INDEX audit_log_unsealed;

CREATE INDEX audit_log_unsealed ON audit_log (team_id, created_at, id) WHERE position IS NULL;
