//! Database locks that a test holds, so that requests to the server wait for them.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};

// This statement locks without an update, so that the session that has waited longest gets the lock
// first. After an update, all waiting sessions look up the new version of the row, and any session
// may be the first.
pub(super) const HOLD_TEAM: &str = "SELECT 1 FROM teams WHERE id = $1::uuid FOR NO KEY UPDATE";
pub(super) const HOLD_PROJECTS: &str =
    "UPDATE projects SET updated_at = updated_at WHERE team_id = $1::uuid";
pub(super) const HOLD_ENVIRONMENTS: &str =
    "UPDATE environments SET revision = revision WHERE project_id IN
     (SELECT id FROM projects WHERE team_id = $1::uuid)";

pub(super) const HOLD_USER: &str = "SELECT 1 FROM users WHERE id = $1::uuid FOR NO KEY UPDATE";

const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Transaction with which a test holds locks on rows.
pub(super) struct HeldLocks<'a>(sqlx::Transaction<'a, sqlx::Postgres>);

impl<'a> HeldLocks<'a> {
    pub(super) async fn take(
        holder: &'a mut PgConnection,
        id: &str,
        locks: &[&'static str],
    ) -> Self {
        let mut transaction = holder.begin().await.unwrap();
        for lock in locks {
            sqlx::query(*lock).bind(id).execute(&mut *transaction).await.unwrap();
        }
        Self(transaction)
    }

    pub(super) async fn release(self) {
        self.0.commit().await.unwrap();
    }
}

/// Waits until exactly this number of database sessions wait for a lock.
pub(super) async fn waiting(observer: &mut PgConnection, expected: usize) {
    let start = Instant::now();
    loop {
        let row = sqlx::query(WAITING).fetch_one(&mut *observer).await.unwrap();
        let waiting: i64 = row.get(0);
        if usize::try_from(waiting) == Ok(expected) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{waiting} of {expected} wait");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
