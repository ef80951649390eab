//! Tests of query plans: queries find their rows along an index.

use sqlx::Row as _;

use super::super::tables::resolve;
use super::super::tables::secret_writes::OldVersions;
use super::*;

#[tokio::test]
async fn resolving_an_environment_scans_no_secrets() {
    let (store, database) = opened().await;
    World::build(&store).await;
    run(
        &database,
        "INSERT INTO environments
         SELECT gen_random_uuid(), p.id, 'e' || n, 'e' || n, NULL, NULL, FALSE, n, 0, NULL,
             now(), now()
         FROM projects p, generate_series(1, 50) n;
         INSERT INTO secrets
         SELECT gen_random_uuid(), e.id, 'K' || n, decode(repeat('cd', 127), 'hex'), FALSE,
             NULL, 1, 'created', NULL, now(), NULL, NULL, now(), now()
         FROM environments e, generate_series(1, 1000) n;
         ANALYZE",
    )
    .await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();

    for (text, type_of_key, key) in [
        (resolve::KEY, ", text", ", 'K7'"),
        (resolve::OWN_KEY, ", text", ", 'K7'"),
        (resolve::OWN, "", ""),
        (resolve::ALL, "", ""),
    ] {
        let types = format!("uuid, text, uuid, uuid, uuid, text, text{type_of_key}");
        let values = format!("NULL, 'billing', NULL, NULL, NULL, 'e7', 'e7'{key}");
        for plan in plans(&mut connection, text, &types, &values).await {
            assert!(plan.contains("secrets_environment_id_key_key"), "{plan}");
            assert!(!plan.contains("Seq Scan on secrets"), "{plan}");
        }
    }
}

#[tokio::test]
async fn a_plan_of_a_small_table_does_not_scan_the_table_after_it_has_grown() {
    let (store, database) = opened().await;
    World::build(&store).await;
    run(&database, "VACUUM ANALYZE secrets").await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let prepare = "PREPARE one (uuid, text) AS
             SELECT id FROM secrets WHERE environment_id = $1 AND key = $2;
         PREPARE several (uuid, text[]) AS
             SELECT id FROM secrets WHERE environment_id = $1 AND key = ANY($2);";
    let executions = ["one (NULL, 'A')", "several (NULL, ARRAY['A', 'B'])"];
    let explained = executions.map(|execution| format!("EXPLAIN EXECUTE {execution};")).concat();
    let setup = session_setup(&database.url().parse().unwrap());
    let text = format!("{setup}; {prepare} {explained}");
    sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut connection).await.unwrap();
    run(
        &database,
        "INSERT INTO secrets
         SELECT gen_random_uuid(), (SELECT id FROM environments LIMIT 1), 'GROWN_' || n,
             decode('cd', 'hex'), FALSE, NULL, 1, 'created', NULL, now(), NULL, NULL, now(), now()
         FROM generate_series(1, 20000) n",
    )
    .await;

    for execution in executions {
        let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE {execution}"));
        let rows = sqlx::raw_sql(explain).fetch_all(&mut connection).await.unwrap();
        let plan: String = rows.iter().map(|row| row.get::<String, _>(0) + "\n").collect();
        assert!(plan.contains("secrets_environment_id_key_key"), "{plan}");
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
}

/// Returns the plans of a statement for parameters of these types: one for all values, and one for
/// these values.
async fn plans(
    connection: &mut PgConnection,
    text: &str,
    types: &str,
    values: &str,
) -> [String; 2] {
    let mut plans = [String::new(), String::new()];
    for (plan, mode) in plans.iter_mut().zip(["force_generic_plan", "force_custom_plan"]) {
        let explain = format!(
            "DEALLOCATE ALL; SET plan_cache_mode = {mode};
             PREPARE look ({types}) AS {text};
             EXPLAIN EXECUTE look ({values})"
        );
        let rows = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_all(&mut *connection).await.unwrap();
        *plan = rows.iter().map(|row| row.get::<String, _>(0) + "\n").collect();
    }
    plans
}

#[tokio::test]
async fn deleting_old_versions_scans_no_table() {
    let (store, database) = opened().await;
    let world = World::build(&store).await;
    // 10,000 environments with a secret, each with 10 versions.
    run(
        &database,
        "INSERT INTO environments
         SELECT gen_random_uuid(), p.id, 'e' || n, 'e' || n, NULL, NULL, FALSE, n, 0, NULL,
             now(), now()
         FROM projects p, generate_series(1, 10000) n;
         INSERT INTO secrets
         SELECT gen_random_uuid(), e.id, 'K', decode('cd', 'hex'), FALSE, NULL, 11,
             'created', NULL, now(), NULL, NULL, now(), now()
         FROM environments e;
         INSERT INTO secret_versions
         SELECT s.id, n, s.sealed, FALSE, 'created', NULL, now(), now(), s.environment_id
         FROM secrets s, generate_series(1, 10) n;
         ANALYZE",
    )
    .await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let (one, two) = (secret(&world.staging, "ONE").id, secret(&world.staging, "TWO").id);
    let limits = [(one, 9), (two, 9)];
    let environment = world.staging.id;

    for (versions, types, values, index) in [
        (
            OldVersions::OfSecrets { limits: &limits, max: 200 },
            "uuid, bigint, uuid, bigint, bigint",
            format!("'{}', 9, '{}', 9, 200", one.uuid(), two.uuid()),
            "secret_versions_pkey",
        ),
        (
            OldVersions::OfEnvironment { environment, excess: 1 },
            "uuid, bigint, bigint",
            format!("'{}', 200, 1", environment.uuid()),
            "secret_versions_age",
        ),
    ] {
        let text = secret_writes::pruning(versions).into_string();
        for plan in plans(&mut connection, &text, types, &values).await {
            assert!(plan.contains(index), "{plan}");
            assert!(!plan.contains("Seq Scan"), "{plan}");
        }
    }
}
