//! The people who have signed in.

use async_trait::async_trait;

use super::StoreResult;
use crate::model::{Time, UserId};

/// A person, unique by issuer and subject. E-mail addresses are not unique: two issuers may vouch
/// for the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Which person.
    pub id: UserId,
    /// Who vouches for them.
    pub issuer: String,
    /// Who they are to the issuer.
    pub subject: String,
    /// Their address, lower case.
    pub email: String,
    /// Whether the issuer says the address is theirs.
    pub email_verified: bool,
    /// Their name, or what stands before the `@`.
    pub name: String,
    /// Whether they chose the name themselves: then it is not told anew by the issuer.
    pub is_name_chosen: bool,
    /// Their given name.
    pub first_name: Option<String>,
    /// Their family name.
    pub last_name: Option<String>,
    /// An image of them.
    pub avatar_url: Option<String>,
    /// When they first signed in.
    pub created_at: Time,
    /// When the issuer last told something new of them.
    pub updated_at: Time,
    /// When they last signed in.
    pub last_login_at: Option<Time>,
}

impl UserRecord {
    /// What is kept of somebody who is forgotten.
    pub(crate) fn forgotten(user: UserId, created_at: Time, now: Time) -> Self {
        Self {
            id: user,
            // No issuer is called so: by this they are told from others.
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

/// Reading people.
#[async_trait]
pub trait UserReads: Send {
    /// The person with this id.
    async fn user(&mut self, user: UserId) -> StoreResult<Option<UserRecord>>;

    /// The person an issuer knows under this subject.
    async fn user_by_subject(
        &mut self,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<UserRecord>>;
}

/// Writing people.
#[async_trait]
pub trait UserWrites: Send {
    /// Fails with `Duplicate` if the issuer's subject is known already.
    async fn insert_user(&mut self, user: &UserRecord) -> StoreResult<()>;

    /// Replaces everything but id, issuer, subject and the time of creation. Whoever is forgotten
    /// stays so.
    async fn update_user(&mut self, user: &UserRecord) -> StoreResult<()>;

    /// Holds the person's row until the end of the transaction. Fails with `Stale` if they are
    /// forgotten.
    async fn lock_user(&mut self, user: UserId) -> StoreResult<()>;

    /// Keeps of a person that there was somebody, and nothing of who: neither their issuer's subject
    /// nor anything that was told of them. Who signs in with that subject later is somebody new.
    async fn forget_user(&mut self, user: UserId, now: Time) -> StoreResult<()>;
}
