-- MAC over the current versions of the secrets of the environment, and the revision for which it was computed. A program that
-- does not know them leaves them as they are: the revision is then another one.
ALTER TABLE environments ADD COLUMN manifest BYTEA;
ALTER TABLE environments ADD COLUMN manifest_revision BIGINT;
