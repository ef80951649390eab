//! Removal of the name and e-mail address of a user from audit entries, in batches.

use sqlx::QueryBuilder;
use uuid::Uuid;

use super::audit_rows::place;
use super::{BATCH, Db, Session, Transaction, push_ids};
use crate::model::{Time, UserId};
use crate::store::{ANONYMIZATION_MARGIN, StoreResult};

/// Query for the oldest audit entries with the name or address of user $1 as the actor, after the
/// entry with time $2 and ID $3: at most $4. Uses the index on actor and time.
pub(in super::super) const ENTRIES: &str = "SELECT created_at, id FROM audit_log
     WHERE actor_id = $1 AND actor_type = 'user' AND (created_at, id) > ($2, $3)
         AND (actor_name IS NOT NULL OR actor_email IS NOT NULL)
     ORDER BY created_at, id LIMIT $4";

const INSERT: &str =
    "INSERT INTO anonymizations (user_id, created_at, entry_id) VALUES ($1, $2, $3)
     ON CONFLICT (user_id) DO UPDATE
     SET created_at = excluded.created_at, entry_id = excluded.entry_id";

/// Locks the row of user $1 and returns the time and ID of the last anonymized audit entry; after a
/// call that found no more entries, [`ANONYMIZATION_MARGIN`] before that call, and a nil ID. Nodes
/// that continue the anonymization of the same user thus wait for each other.
const LOCK: &str = "UPDATE anonymizations SET entry_id = entry_id WHERE user_id = $1
     RETURNING created_at, entry_id AS id";

/// Time and ID before those of all audit entries.
const START: (Time, Uuid) = (Time::UNIX_EPOCH, Uuid::nil());

/// Anonymizes the oldest audit entries of a user, at most `limit`. Returns true if no entries are
/// left now.
pub(super) async fn begin(
    session: &mut Session<Transaction>,
    user: UserId,
    limit: u32,
    now: Time,
) -> StoreResult<bool> {
    anonymize(session, user, START, limit).await?.store(session, user, now).await
}

/// Anonymizes the next audit entries of a user, at most `limit`. Returns true if no entries are
/// left now, or if the anonymization is complete.
pub(super) async fn resume(
    session: &mut Session<Transaction>,
    user: UserId,
    limit: u32,
    now: Time,
) -> StoreResult<bool> {
    let last = session.one("anonymizations", sqlx::query(LOCK).bind(user.uuid()), place).await?;
    let Some((time, id)) = last else { return Ok(true) };
    let found = anonymize(session, user, (time, id.uuid()), limit).await?;
    // Without an ID, an earlier call has found no more entries.
    let is_waiting = id.uuid().is_nil();
    if !is_waiting || !matches!(found, Found::None) {
        return found.store(session, user, now).await;
    }
    if time + ANONYMIZATION_MARGIN * 2 <= now {
        let statement = sqlx::query("DELETE FROM anonymizations WHERE user_id = $1");
        session.write(statement.bind(user.uuid())).await?;
    }
    Ok(true)
}

/// Entries that were found and anonymized.
enum Found {
    None,
    /// Fewer entries than the maximum number: none are left now.
    Rest,
    /// Maximum number of entries. The last one has this time and ID.
    Full(Time, Uuid),
}

impl Found {
    /// Stores the time and ID after which the anonymization continues. Returns true if no entries
    /// are left now.
    async fn store(
        self,
        session: &mut Session<Transaction>,
        user: UserId,
        now: Time,
    ) -> StoreResult<bool> {
        let (time, id, is_complete) = match self {
            Self::Full(time, id) => (time, id, false),
            // Requests in progress can still write entries.
            Self::None | Self::Rest => (now - ANONYMIZATION_MARGIN, Uuid::nil(), true),
        };
        session.write(sqlx::query(INSERT).bind(user.uuid()).bind(time).bind(id)).await?;
        Ok(is_complete)
    }
}

/// Anonymizes the audit entries of a user after the entry with this time and ID.
async fn anonymize(
    session: &mut Session<Transaction>,
    user: UserId,
    (time, id): (Time, Uuid),
    limit: u32,
) -> StoreResult<Found> {
    let entries = sqlx::query(ENTRIES).bind(user.uuid()).bind(time).bind(id);
    let entries = session.all("audit_log", entries.bind(i64::from(limit)), place).await?;
    for entries in entries.chunks(BATCH) {
        let mut statement = QueryBuilder::<Db>::new(
            "UPDATE audit_log SET actor_name = NULL, actor_email = NULL WHERE id IN ",
        );
        push_ids(&mut statement, entries.iter().map(|(_, id)| id.uuid()));
        session.write(statement.build().persistent(false)).await?;
    }
    Ok(match entries.last() {
        None => Found::None,
        Some((time, id)) if entries.len() >= limit as usize => Found::Full(*time, id.uuid()),
        Some(_) => Found::Rest,
    })
}
