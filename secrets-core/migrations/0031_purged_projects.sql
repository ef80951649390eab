-- Of a purged project only its row is kept, so that its slug is not used again. These rows have a time of deletion in the
-- year 1. The indexes find the projects to purge, and the projects of a team, without them. The second one replaces the
-- index `projects_team`, which the next contracting migration can drop.
CREATE INDEX projects_deleted ON projects (deleted_at, id) WHERE deleted_at IS NOT NULL;

CREATE INDEX projects_team_deleted ON projects (team_id, deleted_at);
