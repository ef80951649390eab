use async_trait::async_trait;

use super::super::super::cache::CacheView;
use super::super::super::findable;
use super::{Connected, Row, Session, Transaction};
use crate::model::{Subject, Time, UserId};
use crate::store::{StoreResult, UserReads, UserRecord, UserWrites};

#[async_trait]
impl<C: Connected> UserReads for Session<C> {
    async fn user(&mut self, user: UserId) -> StoreResult<Option<UserRecord>> {
        let statement =
            sqlx::query(concat!("SELECT ", columns!(users), " FROM users u WHERE u.id = $1"));
        self.one("users", statement.bind(user.uuid()), record).await
    }

    async fn user_by_subject(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<UserRecord>> {
        let cache = self.0.cache().await?;
        if let Some(user) = cache.as_ref().and_then(|cache| cache.user(issuer, subject)) {
            return Ok(Some(user));
        }
        let now = cache.as_ref().map(CacheView::now);
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(users),
            " FROM users u WHERE u.issuer = $1 AND u.subject = $2"
        ))
        .bind(findable(issuer))
        .bind(findable(subject));
        let user = self.one("users", statement, record).await?;
        if let (Some(cache), Some(now), Some(user)) = (cache, now, &user) {
            cache.keep_user(now, user);
        }
        Ok(user)
    }
}

#[async_trait]
impl UserWrites for Session<Transaction> {
    async fn insert_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO users
                 (id, issuer, subject, email, email_verified, name, name_chosen, first_name,
                  last_name, avatar_url, created_at, updated_at, last_login_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT DO NOTHING",
        )
        .bind(user.id.uuid())
        .bind(&user.issuer)
        .bind(&user.subject)
        .bind(&user.email)
        .bind(user.email_verified)
        .bind(&user.name)
        .bind(user.is_name_chosen)
        .bind(&user.first_name)
        .bind(&user.last_name)
        .bind(&user.avatar_url)
        .bind(user.created_at)
        .bind(user.updated_at)
        .bind(user.last_login_at);
        self.insert(Subject::User, statement).await
    }

    async fn update_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "UPDATE users
             SET email = $2, email_verified = $3, name = $4, name_chosen = $5, first_name = $6,
                 last_name = $7, avatar_url = $8, updated_at = $9, last_login_at = $10
             WHERE id = $1 AND issuer <> ''",
        )
        .bind(user.id.uuid())
        .bind(&user.email)
        .bind(user.email_verified)
        .bind(&user.name)
        .bind(user.is_name_chosen)
        .bind(&user.first_name)
        .bind(&user.last_name)
        .bind(&user.avatar_url)
        .bind(user.updated_at)
        .bind(user.last_login_at);
        self.write(statement).await.map(drop)
    }

    async fn lock_user(&mut self, user: UserId) -> StoreResult<()> {
        let statement =
            sqlx::query("UPDATE users SET updated_at = updated_at WHERE id = $1 AND issuer <> ''");
        self.change(Subject::User, statement.bind(user.uuid())).await
    }

    async fn erase_user(&mut self, user: UserId, now: Time) -> StoreResult<()> {
        let forgotten = UserRecord::forgotten(user, now, now);
        let statement = sqlx::query(
            "UPDATE users
             SET issuer = $2, subject = $3, email = $4, email_verified = FALSE, name = $5,
                 name_chosen = FALSE, first_name = NULL, last_name = NULL, avatar_url = NULL,
                 updated_at = $6, last_login_at = NULL
             WHERE id = $1",
        )
        .bind(user.uuid())
        .bind(forgotten.issuer)
        .bind(forgotten.subject)
        .bind(forgotten.email)
        .bind(forgotten.name)
        .bind(now);
        self.write(statement).await.map(drop)
    }
}

pub(super) fn record(row: &Row<'_>) -> StoreResult<UserRecord> {
    Ok(UserRecord {
        id: row.id("id")?,
        issuer: row.get("issuer")?,
        subject: row.get("subject")?,
        email: row.get("email")?,
        email_verified: row.get("email_verified")?,
        name: row.get("name")?,
        is_name_chosen: row.get("name_chosen")?,
        first_name: row.get("first_name")?,
        last_name: row.get("last_name")?,
        avatar_url: row.get("avatar_url")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        last_login_at: row.get("last_login_at")?,
    })
}
