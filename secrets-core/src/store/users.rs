//! Users, each of whom has signed in at least once.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{Time, UserId};

/// A user, unique by issuer and subject. E-mail addresses are not unique: two issuers may report
/// the same address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// User ID.
    pub id: UserId,
    /// Identity provider that authenticates the user (`iss` claim).
    pub issuer: String,
    /// ID of the user at the identity provider (`sub` claim).
    pub subject: String,
    /// E-mail address, in lower case.
    pub email: String,
    /// True if the identity provider has verified the e-mail address.
    pub email_verified: bool,
    /// Display name; if the issuer reports no name, the part of the e-mail address before the `@`.
    pub name: String,
    /// True if the user chose the name. A name from the identity provider then no longer replaces
    /// it.
    pub is_name_chosen: bool,
    /// Given name of the user, if known.
    pub first_name: Option<String>,
    /// Family name of the user, if known.
    pub last_name: Option<String>,
    /// URL of an avatar image.
    pub avatar_url: Option<String>,
    /// Time of the first sign-in.
    pub created_at: Time,
    /// Time of the last change of the user's profile.
    pub updated_at: Time,
    /// Time of the last sign-in; `None` if there was none.
    pub last_login_at: Option<Time>,
}

impl UserRecord {
    /// Returns the e-mail address if it is verified, and otherwise an empty string. An unverified
    /// address may belong to somebody else, so other users must not see it.
    pub(crate) fn verified_email(&self) -> &str {
        if self.email_verified { &self.email } else { "" }
    }

    /// Returns the record that replaces the record of a deleted user: it keeps the ID and the
    /// creation time, but no personal data.
    pub(crate) fn forgotten(user: UserId, created_at: Time, now: Time) -> Self {
        Self {
            id: user,
            // No issuer has an empty name, so this marks the record as deleted.
            issuer: String::new(),
            subject: user.to_string(),
            email: String::new(),
            email_verified: false,
            name: "deleted user".to_owned(),
            is_name_chosen: false,
            first_name: None,
            last_name: None,
            avatar_url: None,
            created_at,
            updated_at: now,
            last_login_at: None,
        }
    }
}

/// Read access to users.
#[async_trait]
pub trait UserReads: Send {
    /// Returns the user with this ID.
    async fn user(&mut self, user: UserId) -> StoreResult<Option<UserRecord>>;

    /// Returns the user with this issuer and subject.
    async fn user_by_subject(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<UserRecord>>;
}

/// Write access to users.
#[async_trait]
pub trait UserWrites: Send {
    /// Inserts a user. Fails with `Duplicate` if a user with this issuer and subject already
    /// exists.
    async fn insert_user(&mut self, user: &UserRecord) -> StoreResult<()>;

    /// Updates all fields of a user except ID, issuer, subject and creation time. Has no effect on
    /// a deleted user.
    async fn update_user(&mut self, user: &UserRecord) -> StoreResult<()>;

    /// Locks the user's row until the end of the transaction. Fails with `Stale` if the user is
    /// deleted.
    async fn lock_user(&mut self, user: UserId) -> StoreResult<()>;

    /// Erases the personal data of a user, including the issuer and subject of the user's identity
    /// tokens. The row is kept, so that references stay valid. A later sign-in with the same issuer
    /// and subject creates a new user.
    async fn erase_user(&mut self, user: UserId, now: Time) -> StoreResult<()>;
}
