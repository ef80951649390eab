//! Sessions of users in command-line clients and browsers. The credential of a session acts as the
//! user.

use async_trait::async_trait;

use super::{DeviceClient, StoreResult, UserRecord};
use crate::crypto::TokenMac;
use crate::model::{SessionId, SessionKind, Time, UserId};

/// A session. Its credential authenticates the caller as the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Session ID.
    pub id: SessionId,
    /// Kind of client that the session was created for.
    pub kind: SessionKind,
    /// User ID.
    pub user: UserId,
    /// MAC of the session's credential, for lookup.
    pub mac: TokenMac,
    /// First characters of the session's credential, to recognize the session.
    pub prefix: String,
    /// Details of the client that the session was created for.
    pub client: DeviceClient,
    /// Creation time.
    pub created_at: Time,
    /// Expiry time.
    pub expires_at: Time,
    /// Time of the last use that was recorded; `None` if there was none.
    pub last_used_at: Option<Time>,
}

impl SessionRecord {
    /// Returns the time of the last recorded use or, if there was none, the creation time.
    #[must_use]
    pub fn last_activity(&self) -> Time {
        self.last_used_at.unwrap_or(self.created_at)
    }
}

/// Read access to sessions.
#[async_trait]
pub trait SessionReads: Send {
    /// Returns the session whose credential has this MAC, with its user, even if the session has
    /// ended.
    async fn session(&mut self, mac: &TokenMac)
    -> StoreResult<Option<(SessionRecord, UserRecord)>>;

    /// Lists the sessions of a user, oldest first, including sessions that have ended.
    async fn sessions(&mut self, user: UserId) -> StoreResult<Vec<SessionRecord>>;

    /// Lists ended sessions, at most `limit`: sessions that expire at or before `by`, and browser
    /// sessions whose last activity was at or before `idle_since`. Reads the whole table, because no
    /// index contains the last activity.
    async fn ended_sessions(
        &mut self,
        by: Time,
        idle_since: Time,
        limit: u32,
    ) -> StoreResult<Vec<SessionId>>;
}

/// Write access to sessions.
#[async_trait]
pub trait SessionWrites: Send {
    /// Inserts a session.
    async fn insert_session(&mut self, session: &SessionRecord) -> StoreResult<()>;

    /// Stores the time of a session's last use. Does nothing if the stored time is less than a
    /// minute ([`TokenUse::WRITE_INTERVAL`](super::TokenUse::WRITE_INTERVAL)) older, or if the
    /// session does not exist.
    async fn record_session_use(&mut self, session: SessionId, at: Time) -> StoreResult<()>;

    /// Deletes a session of a user. Fails with `Stale` if the user has no session with this ID.
    async fn delete_session(&mut self, user: UserId, session: SessionId) -> StoreResult<()>;

    /// Deletes all sessions of a user, except the given session if there is one. Returns the number
    /// of deleted sessions.
    async fn delete_sessions(
        &mut self,
        user: UserId,
        except: Option<SessionId>,
    ) -> StoreResult<u64>;

    /// Deletes those of the given sessions that have ended, with the same times as for
    /// [`SessionReads::ended_sessions`]. Returns the number of deleted sessions.
    async fn delete_ended_sessions(
        &mut self,
        sessions: &[SessionId],
        by: Time,
        idle_since: Time,
    ) -> StoreResult<u64>;
}
