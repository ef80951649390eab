//! Tests of query plans: queries find their rows along an index.

use sqlx::{Row, SqlitePool};

use super::super::tables::secret_writes::OldVersions;
use super::super::tables::{
    anonymizations, attempts, audit, due, projects, resolve, teams, tokens, webhooks,
};
use super::*;

/// Returns the steps of the query plan of a statement.
async fn plan(pool: &SqlitePool, text: &str) -> Vec<String> {
    let explained = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
    let rows = explained.fetch_all(pool).await.unwrap();
    rows.iter().map(|row| row.get("detail")).collect()
}

#[tokio::test]
async fn resolving_an_environment_scans_no_secrets() {
    let (store, _folder) = opened().await;

    for text in [resolve::KEY, resolve::OWN_KEY, resolve::OWN, resolve::ALL] {
        let plan = plan(&store.pools().readers, text).await;

        assert!(plan.iter().any(|step| step.starts_with("SEARCH s USING INDEX")), "{plan:#?}");
        assert!(!plan.iter().any(|step| step.starts_with("SCAN s")), "{plan:#?}");
    }
}

#[tokio::test]
async fn a_write_of_secrets_scans_no_table() {
    let (store, _folder) = opened().await;
    let world = World::build(&store).await;
    let first = ["ONE", "TWO"].map(|key| secret(&world.staging, key));
    let next = first.each_ref().map(next_version);
    let limits = first.each_ref().map(|secret| (secret.id, 9));
    let versions = OldVersions::OfSecrets { limits: &limits, max: 200 };
    let history = OldVersions::OfEnvironment { environment: world.staging.id, excess: 1 };

    for statements in [
        secret_writes::insertion(&first),
        secret_writes::replacement(&next),
        secret_writes::pruning(versions),
        secret_writes::pruning(history),
    ] {
        let statements = statements.into_string();
        for text in statements.split(';').map(str::trim) {
            let plan = plan(&store.pools().writers, text).await;

            // Other scans are of tables that the statement itself contains or computes.
            let stored = ["environments", "secrets", "s", "secret_versions", "v"];
            let is_scan = |step: &String| {
                let table = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
                table.is_some_and(|table| stored.contains(&table))
            };
            assert!(!plan.iter().any(is_scan), "{text}: {plan:#?}");
            let of_history = "SEARCH v USING INDEX secret_versions_age (environment_id=?)";
            let is_of_history = text.contains("candidates");
            assert!(
                !is_of_history || plan.iter().any(|step| step == of_history),
                "{text}: {plan:#?}"
            );
        }
    }
}

#[tokio::test]
async fn due_rows_are_found_along_their_index() {
    let (store, _folder) = opened().await;

    for (text, index) in [
        (due::WORK, "SEARCH r USING INDEX rotations_work"),
        (due::WORK_AFTER, "SEARCH r USING INDEX rotations_work"),
        (tokens::EXPIRING_TOKENS, "SEARCH k USING INDEX tokens_expiry"),
        (anonymizations::ENTRIES, "SEARCH audit_log USING INDEX audit_log_actor"),
    ] {
        let plan = plan(&store.pools().readers, text).await;

        assert!(plan[0].starts_with(index), "{plan:#?}");
        assert!(!plan.iter().any(|step| step == "USE TEMP B-TREE FOR ORDER BY"), "{plan:#?}");
    }
}

#[tokio::test]
async fn surplus_rows_are_found_along_their_index() {
    let (store, _folder) = opened().await;

    for (text, index) in [
        (webhooks::FAIL_SURPLUS, "INDEX webhook_deliveries_webhook (webhook_id=?)"),
        (webhooks::DELETE_SURPLUS, "INDEX webhook_deliveries_webhook (webhook_id=?)"),
        (attempts::TRIM, "INDEX sqlite_autoindex_rotation_attempts_2 (rotation_id=?)"),
    ] {
        let plan = plan(&store.pools().writers, text).await;

        assert!(plan.iter().any(|step| step.contains(index)), "{plan:#?}");
        // Only the examined rows of the subquery `d` may be scanned.
        let mut scans = plan.iter().filter(|step| step.starts_with("SCAN"));
        assert!(scans.all(|step| step == "SCAN d"), "{plan:#?}");
    }
}

#[tokio::test]
async fn the_next_team_of_the_audit_log_is_found_along_the_index_of_chains() {
    let (store, _folder) = opened().await;

    let plan = plan(&store.pools().readers, audit::NEXT_AUDITED_TEAM).await;

    assert_eq!(plan.len(), 1, "{plan:?}");
    assert!(plan[0].contains("SEARCH") && plan[0].contains("audit_log_chain"), "{plan:?}");
}

#[tokio::test]
async fn new_entries_are_found_along_their_index() {
    let (store, _folder) = opened().await;
    let of_a_team = format!("SELECT * FROM audit_log WHERE team_id = $1{}$2", audit::UNSEALED);
    let of_none = format!("SELECT * FROM audit_log WHERE team_id IS NULL{}$1", audit::UNSEALED);
    let counted = format!(
        "SELECT COUNT(*) FROM (SELECT 1 FROM audit_log WHERE team_id = $1{}$2) AS unsealed",
        audit::UNSEALED
    );

    for (text, count) in [(audit::UNSEALED_TEAMS, 3), (&of_a_team, 1), (&of_none, 1), (&counted, 1)]
    {
        let plan = plan(&store.pools().readers, text).await;

        let searches: Vec<_> = plan.iter().filter(|step| step.starts_with("SEARCH")).collect();
        let indexes = ["INDEX audit_log_unsealed", "(team_id=? AND position=?)"];
        let is_short = |step: &&String| indexes.iter().any(|index| step.contains(index));
        assert!(searches.len() == count && searches.iter().all(is_short), "{plan:#?}");
    }
}

#[tokio::test]
async fn purged_projects_are_not_visited() {
    let (store, _folder) = opened().await;
    let pools = store.pools();

    let list = plan(&pools.readers, projects::PURGEABLE).await;
    let sum = plan(&pools.readers, teams::STORED_BYTES).await;

    let index = "SEARCH p USING INDEX projects_deleted (deleted_at>? AND deleted_at<?)";
    assert_eq!(list[0], index, "{list:#?}");
    assert!(!list.iter().any(|step| step == "USE TEMP B-TREE FOR ORDER BY"), "{list:#?}");
    for range in ["(team_id=? AND deleted_at=?)", "(team_id=? AND deleted_at>?)"] {
        let index = format!("SEARCH projects USING INDEX projects_team_deleted {range}");
        assert!(sum.contains(&index), "{sum:#?}");
    }
}
