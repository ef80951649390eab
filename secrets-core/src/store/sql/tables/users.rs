use async_trait::async_trait;

use super::super::super::findable;
use super::{Connected, Row, Session, Transaction};
use crate::error::Subject;
use crate::ids::UserId;
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
        let statement = sqlx::query(concat!(
            "SELECT ",
            columns!(users),
            " FROM users u WHERE u.issuer = $1 AND u.subject = $2"
        ))
        .bind(findable(issuer))
        .bind(findable(subject));
        self.one("users", statement, record).await
    }
}

#[async_trait]
impl UserWrites for Session<Transaction> {
    async fn insert_user(&mut self, user: &UserRecord) -> StoreResult<()> {
        let statement = sqlx::query(
            "INSERT INTO users
                 (id, issuer, subject, email, email_verified, name, first_name, last_name,
                  avatar_url, created_at, updated_at, last_login_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT DO NOTHING",
        )
        .bind(user.id.uuid())
        .bind(&user.issuer)
        .bind(&user.subject)
        .bind(&user.email)
        .bind(user.email_verified)
        .bind(&user.name)
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
             SET email = $2, email_verified = $3, name = $4, first_name = $5, last_name = $6,
                 avatar_url = $7, updated_at = $8, last_login_at = $9
             WHERE id = $1",
        )
        .bind(user.id.uuid())
        .bind(&user.email)
        .bind(user.email_verified)
        .bind(&user.name)
        .bind(&user.first_name)
        .bind(&user.last_name)
        .bind(&user.avatar_url)
        .bind(user.updated_at)
        .bind(user.last_login_at);
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
        first_name: row.get("first_name")?,
        last_name: row.get("last_name")?,
        avatar_url: row.get("avatar_url")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        last_login_at: row.get("last_login_at")?,
    })
}
