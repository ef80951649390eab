use async_trait::async_trait;
use sqlx::QueryBuilder;
use uuid::Uuid;

use super::device_logins::{client, mac};
use super::{BATCH, Connected, Db, Row, Session, Transaction, push_ids, users};
use crate::crypto::TokenMac;
use crate::model::{DisplayName, SessionId, SessionKind, Subject, Time, UserId};
use crate::store::{SessionReads, SessionRecord, SessionWrites, StoreResult, TokenUse, UserRecord};

#[async_trait]
impl<C: Connected> SessionReads for Session<C> {
    async fn session(
        &mut self,
        mac: &TokenMac,
    ) -> StoreResult<Option<(SessionRecord, UserRecord)>> {
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(users),
            ", c.id AS session_id, c.kind, c.mac, c.prefix, c.client_name, c.hostname, c.os, c.address,
               c.created_at AS begun_at, c.expires_at, c.last_used_at
             FROM cli_sessions c JOIN users u ON u.id = c.user_id WHERE c.mac = $1"
        ))
        .bind(mac.0.as_slice());
        let found = self.one("cli_sessions", statement, |row| {
            let user = users::record(row)?;
            Ok((session(row, row.id("session_id")?, user.id, row.get("begun_at")?)?, user))
        });
        found.await
    }

    async fn sessions(&mut self, user: UserId) -> StoreResult<Vec<SessionRecord>> {
        let statement = sqlx::query(
            "SELECT id, kind, user_id, mac, prefix, client_name, hostname, os, address, created_at,
                 expires_at, last_used_at
             FROM cli_sessions WHERE user_id = $1 ORDER BY created_at, id",
        )
        .bind(user.uuid());
        self.all("cli_sessions", statement, |row| {
            session(row, row.id("id")?, row.id("user_id")?, row.get("created_at")?)
        })
        .await
    }

    async fn ended_sessions(
        &mut self,
        by: Time,
        idle_since: Time,
        limit: u32,
    ) -> StoreResult<Vec<SessionId>> {
        let mut statement = QueryBuilder::<Db>::new("SELECT id FROM cli_sessions WHERE ");
        push_ended(&mut statement, by, idle_since);
        statement.push(" LIMIT ").push_bind(i64::from(limit));
        self.all("cli_sessions", statement.build(), |row| row.id("id")).await
    }
}

#[async_trait]
impl SessionWrites for Session<Transaction> {
    async fn insert_session(&mut self, session: &SessionRecord) -> StoreResult<()> {
        let client = &session.client;
        let statement = sqlx::query(
            "INSERT INTO cli_sessions
                 (id, kind, user_id, mac, prefix, client_name, hostname, os, address, created_at,
                  expires_at, last_used_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT DO NOTHING",
        )
        .bind(session.id.uuid())
        .bind(session.kind.as_str())
        .bind(session.user.uuid())
        .bind(session.mac.0.as_slice())
        .bind(&session.prefix)
        .bind(client.name.as_ref().map(DisplayName::as_str))
        .bind(client.hostname.as_ref().map(DisplayName::as_str))
        .bind(client.os.as_ref().map(DisplayName::as_str))
        .bind(client.address.map(|address| address.to_string()))
        .bind(session.created_at)
        .bind(session.expires_at)
        .bind(session.last_used_at);
        self.insert(Subject::Session, statement).await
    }

    async fn record_session_use(&mut self, session: SessionId, at: Time) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE cli_sessions SET last_used_at = $2
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
        )
        .bind(session.uuid())
        .bind(at)
        .bind(at - TokenUse::WRITE_INTERVAL);
        self.write(statement).await.map(drop)
    }

    async fn delete_session(&mut self, user: UserId, session: SessionId) -> StoreResult<()> {
        let statement = sqlx::query("DELETE FROM cli_sessions WHERE id = $1 AND user_id = $2")
            .bind(session.uuid())
            .bind(user.uuid());
        self.change(Subject::Session, statement).await
    }

    async fn delete_sessions(
        &mut self,
        user: UserId,
        except: Option<SessionId>,
    ) -> StoreResult<u64> {
        let statement = sqlx::query("DELETE FROM cli_sessions WHERE user_id = $1 AND id <> $2")
            .bind(user.uuid())
            .bind(except.map_or(Uuid::nil(), SessionId::uuid));
        self.write(statement).await
    }

    async fn delete_ended_sessions(
        &mut self,
        sessions: &[SessionId],
        by: Time,
        idle_since: Time,
    ) -> StoreResult<u64> {
        let mut deleted = 0;
        for sessions in sessions.chunks(BATCH) {
            let mut statement = QueryBuilder::<Db>::new("DELETE FROM cli_sessions WHERE id IN ");
            push_ids(&mut statement, sessions.iter().map(|session| session.uuid()));
            statement.push(" AND ");
            push_ended(&mut statement, by, idle_since);
            deleted += self.write(statement.build().persistent(false)).await?;
        }
        Ok(deleted)
    }
}

/// Appends an SQL condition that is true for the sessions that [`SessionReads::ended_sessions`]
/// lists.
fn push_ended(statement: &mut QueryBuilder<Db>, by: Time, idle_since: Time) {
    statement
        .push("(expires_at <= ")
        .push_bind(by)
        .push(" OR (kind = ")
        .push_bind(SessionKind::Browser.as_str())
        .push(" AND COALESCE(last_used_at, created_at) <= ")
        .push_bind(idle_since)
        .push("))");
}

fn session(
    row: &Row<'_>,
    id: SessionId,
    user: UserId,
    created_at: Time,
) -> StoreResult<SessionRecord> {
    Ok(SessionRecord {
        id,
        kind: row.one_of("kind", SessionKind::from_name)?,
        user,
        mac: mac(row, "mac")?,
        prefix: row.get("prefix")?,
        client: client(row)?,
        created_at,
        expires_at: row.get("expires_at")?,
        last_used_at: row.get("last_used_at")?,
    })
}
