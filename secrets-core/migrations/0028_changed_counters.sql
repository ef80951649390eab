-- Changes of the records that nodes cache, so that each node learns of the changes of all others. A change is recorded
-- as the number of a counter, which is the last 12 bits of the ID of the changed record, with the transaction.
-- The table is often empty. To truncate it, VACUUM would lock it, and all reads would wait.
CREATE TABLE changed_counters (
    xid     xid8     NOT NULL,
    counter SMALLINT NOT NULL
) WITH (vacuum_truncate = off);

CREATE INDEX changed_counters_xid ON changed_counters (xid);

-- One row, with the state of the deletion of old changes. All changes in `snapshot` are deleted. They are known to each
-- node whose last query saw the transaction `xid`. The next deletion deletes the changes in `next_snapshot`; then `next_xid`
-- has this role.
CREATE TABLE changed_counters_horizon (
    id            SMALLINT    NOT NULL PRIMARY KEY,
    server        TEXT        NOT NULL,
    xid           xid8        NOT NULL,
    snapshot      pg_snapshot NOT NULL,
    next_xid      xid8        NOT NULL,
    next_snapshot pg_snapshot NOT NULL
);

DO $$
DECLARE
    watched RECORD;
    event   RECORD;
BEGIN
    FOR watched IN SELECT * FROM (VALUES
        ('environment_defaults', 'environment_id'),
        ('environments', 'id'),
        ('members', 'team_id'),
        ('permission_defaults', 'project_id'),
        ('permissions', 'environment_id'),
        ('project_keys', 'project_id'),
        ('projects', 'id'),
        ('secrets', 'environment_id'),
        ('teams', 'id'),
        ('token_environments', 'token_id'),
        ('token_projects', 'token_id'),
        ('tokens', 'id'),
        ('users', 'id')
    ) AS watched (name, id)
    LOOP
        FOR event IN SELECT * FROM (VALUES
            ('insert', 'NEW TABLE AS new_rows', 'new_rows', 'new_rows'),
            ('delete', 'OLD TABLE AS old_rows', 'old_rows', 'old_rows'),
            ('update', 'OLD TABLE AS old_rows NEW TABLE AS new_rows', 'old_rows', 'new_rows')
        ) AS event (name, tables, one, other)
        LOOP
            EXECUTE format(
                'CREATE FUNCTION record_%1$s_of_%2$s() RETURNS TRIGGER LANGUAGE plpgsql AS $f$
                 BEGIN
                     INSERT INTO %6$I.changed_counters (xid, counter)
                     SELECT pg_current_xact_id(), CAST(CAST(''x'' || digits AS BIT(12)) AS INTEGER)
                     FROM (SELECT right(CAST(%3$s AS TEXT), 3) FROM %4$s
                           UNION SELECT right(CAST(%3$s AS TEXT), 3) FROM %5$s) AS changed (digits);
                     RETURN NULL;
                 END $f$',
                event.name, watched.name, watched.id, event.one, event.other, current_schema());
            EXECUTE format(
                'CREATE TRIGGER record_%1$s AFTER %1$s ON %2$s REFERENCING %3$s
                 FOR EACH STATEMENT EXECUTE FUNCTION record_%1$s_of_%2$s()',
                event.name, watched.name, event.tables);
        END LOOP;
    END LOOP;
END $$;
