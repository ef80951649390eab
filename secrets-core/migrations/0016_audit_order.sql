-- Lists are ordered by time and ID: with both in the index, no list has to sort.
DROP INDEX audit_log_team;

CREATE INDEX audit_log_team ON audit_log (team_id, created_at, id);
