//! Removal of the name and e-mail address of a user from audit entries, in batches.

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::audit_rows::place;
use super::{BATCH, Db, Session, Transaction, push_ids};
use crate::model::{Time, UserId};
use crate::store::StoreResult;

/// Query for the oldest audit entries whose actor is user $1, after the entry with time $2 and ID
/// $3: at most $4. Uses the index on actor and time.
pub(in super::super) const ENTRIES: &str = "SELECT created_at, id FROM audit_log
     WHERE actor_id = $1 AND actor_type = 'user' AND (created_at, id) > ($2, $3)
     ORDER BY created_at, id LIMIT $4";

const INSERT: &str =
    "INSERT INTO anonymizations (user_id, created_at, entry_id) VALUES ($1, $2, $3)
     ON CONFLICT (user_id) DO UPDATE
     SET created_at = excluded.created_at, entry_id = excluded.entry_id";

/// Locks the row of user $1 and returns the time and ID of the last anonymized audit entry. Nodes
/// that continue the anonymization of the same user thus wait for each other.
const LOCK: &str = "UPDATE anonymizations SET entry_id = entry_id WHERE user_id = $1
     RETURNING created_at, entry_id AS id";

/// Anonymizes the oldest audit entries of a user, at most `limit`. Returns true if no entries are
/// left.
pub(super) async fn begin(
    session: &mut Session<Transaction>,
    user: UserId,
    limit: u32,
) -> StoreResult<bool> {
    anonymize(session, user, (Time::UNIX_EPOCH, Uuid::nil()), limit).await
}

/// Anonymizes the next audit entries of a user, at most `limit`. Returns true if no entries are
/// left, or if the anonymization is complete.
pub(super) async fn resume(
    session: &mut Session<Transaction>,
    user: UserId,
    limit: u32,
) -> StoreResult<bool> {
    let last = session.one("anonymizations", sqlx::query(LOCK).bind(user.uuid()), place).await?;
    let Some((time, id)) = last else { return Ok(true) };
    anonymize(session, user, (time, id.uuid()), limit).await
}

/// Anonymizes the audit entries of a user after the entry with this time and ID.
async fn anonymize(
    session: &mut Session<Transaction>,
    user: UserId,
    (time, id): (Time, Uuid),
    limit: u32,
) -> StoreResult<bool> {
    let entries = sqlx::query(ENTRIES).bind(user.uuid()).bind(time).bind(id);
    let entries = session.all("audit_log", entries.bind(i64::from(limit)), place).await?;
    for entries in entries.chunks(BATCH) {
        let mut statement = QueryBuilder::<Db>::new(
            "UPDATE audit_log SET actor_name = NULL, actor_email = NULL WHERE id IN ",
        );
        push_ids(&mut statement, entries.iter().map(|(_, id)| id.uuid()));
        session.write(statement.build().persistent(false)).await?;
    }
    match entries.last() {
        Some((time, id)) if entries.len() >= limit as usize => {
            let statement = sqlx::query(INSERT).bind(user.uuid()).bind(time).bind(id.uuid());
            session.write(statement).await?;
            Ok(false)
        }
        _ => {
            let statement = sqlx::query("DELETE FROM anonymizations WHERE user_id = $1");
            session.write(statement.bind(user.uuid())).await?;
            Ok(true)
        }
    }
}
