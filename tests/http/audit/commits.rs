//! Tests of reads whose audit entry cannot be committed.

use secrets_tests::{App, Kind, on_sql_stores, paths};

async fn a_value_is_not_returned_if_its_entry_is_not_committed(app: App) {
    let alice = app.person("alice").await;
    let web = alice.project("Web").await;
    alice.secret(&web, "production", "KEY", "kvc_value").await;
    let path = paths::secret(&web, "production", "KEY");
    let fails = match app.kind {
        Kind::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
                 AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
             CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON audit_batches
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
        }
        _ => {
            "CREATE TABLE refusal (id REFERENCES audit_batches DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER refuse AFTER INSERT ON audit_batches
                 BEGIN INSERT INTO refusal VALUES ('nobody'); END"
        }
    };
    let works = match app.kind {
        Kind::Postgres => "DROP TRIGGER refuse ON audit_batches",
        _ => "DROP TRIGGER refuse",
    };

    app.sql(fails).await;
    let refused = alice.get(&path).await;
    app.sql(works).await;

    refused.is(503).code("unavailable");
    assert!(!refused.text().contains("kvc_"));
    alice.get(&path).await.is(200);
}

on_sql_stores![a_value_is_not_returned_if_its_entry_is_not_committed];
