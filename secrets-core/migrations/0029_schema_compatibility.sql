-- Oldest schema version whose programs can use the tables. A migration that older programs cannot work with raises it.
CREATE TABLE schema_compatibility (
    singleton      BIGINT NOT NULL PRIMARY KEY CHECK (singleton = 1),
    oldest_version BIGINT NOT NULL
);

INSERT INTO schema_compatibility (singleton, oldest_version) VALUES (1, 29);
