//! Sessions of users: credentials that act as their user, of command-line clients and browsers.

use async_trait::async_trait;

use super::{DeviceClient, StoreResult, UserRecord};
use crate::crypto::TokenMac;
use crate::model::{SessionId, SessionKind, Time, UserId};

/// A session. Its credential authenticates as its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Session ID.
    pub id: SessionId,
    /// Kind of client.
    pub kind: SessionKind,
    /// User ID.
    pub user: UserId,
    /// MAC of the session's credential, for lookup.
    pub mac: TokenMac,
    /// First characters of the session's credential, for display.
    pub prefix: String,
    /// The client the session was created for.
    pub client: DeviceClient,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time.
    pub expires_at: Time,
    /// Time of the last recorded use.
    pub last_used_at: Option<Time>,
}

impl SessionRecord {
    /// Returns the time of the last recorded use, or the creation time of an unused session.
    #[must_use]
    pub fn last_activity(&self) -> Time {
        self.last_used_at.unwrap_or(self.created_at)
    }
}

/// Read access to sessions.
#[async_trait]
pub trait SessionReads: Send {
    /// Returns the session whose credential has this MAC, ended or not, and its user.
    async fn session(&mut self, mac: &TokenMac)
    -> StoreResult<Option<(SessionRecord, UserRecord)>>;

    /// Lists the sessions of a user, ended or not, oldest first.
    async fn sessions(&mut self, user: UserId) -> StoreResult<Vec<SessionRecord>>;
}

/// Write access to sessions.
#[async_trait]
pub trait SessionWrites: Send {
    /// Inserts a session.
    async fn insert_session(&mut self, session: &SessionRecord) -> StoreResult<()>;

    /// Records the last use of a session, unless the stored last use is less than
    /// [`TokenUse::WRITE_INTERVAL`](super::TokenUse::WRITE_INTERVAL) older. Does nothing if the
    /// session does not exist.
    async fn record_session_use(&mut self, session: SessionId, at: Time) -> StoreResult<()>;

    /// Deletes a session of a user. Fails with `Stale` if the user has no session with this ID.
    async fn delete_session(&mut self, user: UserId, session: SessionId) -> StoreResult<()>;

    /// Deletes all sessions of a user except one, if given. Returns the number of deleted sessions.
    async fn delete_sessions(
        &mut self,
        user: UserId,
        except: Option<SessionId>,
    ) -> StoreResult<u64>;

    /// Deletes at most `limit` sessions that expire at or before `by`, or browser sessions whose last
    /// activity was at or before `idle_since`. Returns the number of deleted sessions.
    async fn delete_ended_sessions(
        &mut self,
        by: Time,
        idle_since: Time,
        limit: u32,
    ) -> StoreResult<u64>;
}
