//! Service tokens and their scopes.

use std::net::IpAddr;

use async_trait::async_trait;
use chrono::TimeDelta;
use ipnet::IpNet;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DisplayName, EnvironmentId, ProjectId, TeamId, Time, TokenId, UserId};

/// A service token. Only its MAC is stored, not the token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "six independent flags, stored as columns")]
pub struct TokenRecord {
    /// Token ID.
    pub id: TokenId,
    /// Team ID.
    pub team: TeamId,
    /// Display name.
    pub name: DisplayName,
    /// MAC of the token, for lookup.
    pub mac: TokenMac,
    /// First characters of the token text, for display.
    pub prefix: String,
    /// Read permission.
    pub can_read: bool,
    /// Write permission; does not include read permission.
    pub can_write: bool,
    /// True if the scope includes all projects of the team, also projects created later. Fixed at
    /// creation: a list of projects that becomes empty grants access to no project, not to all.
    pub all_projects: bool,
    /// True if the scope includes all environments of its projects. Fixed at creation as well.
    pub all_environments: bool,
    /// ID of the user who created the token.
    pub created_by: UserId,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Expiry time.
    pub expires_at: Option<Time>,
    /// True if the expiry was announced, or will not be announced.
    pub expiry_announced: bool,
    /// IP networks the token may be used from; any network if empty.
    pub networks: Vec<IpNet>,
    /// Previous token text, while it is still accepted after the last rotation.
    pub previous: Option<PreviousToken>,
    /// Time of the last rotation.
    pub rotated_at: Option<Time>,
    /// Last recorded use.
    pub last_use: Option<TokenUse>,
    /// True if a command-line session received the text of the token, and the token is valid longer
    /// than that session.
    pub outlives_session: bool,
}

/// Text of a token before its last rotation, which is accepted until the grace period ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousToken {
    /// MAC of the previous token text.
    pub mac: TokenMac,
    /// End of the grace period.
    pub until: Time,
}

impl TokenRecord {
    /// True if this is the MAC of the token's text, or of its previous text during the grace
    /// period.
    pub(crate) fn has_mac(&self, mac: &TokenMac, now: Time) -> bool {
        let previous = self.previous.filter(|previous| now < previous.until);
        self.mac == *mac || previous.is_some_and(|previous| previous.mac == *mac)
    }

    /// True if the token has expired.
    pub(crate) fn is_expired(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A use of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUse {
    /// Time of the use.
    pub at: Time,
    /// IP address of the client, if known.
    pub address: Option<IpAddr>,
}

impl TokenUse {
    /// Minimum interval between recorded uses of a token. Uses in between are not written.
    pub const WRITE_INTERVAL: TimeDelta = TimeDelta::minutes(1);
}

/// New text of a token, as created by a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// MAC of the new token text.
    pub mac: TokenMac,
    /// First characters of the new token text, for display.
    pub prefix: String,
    /// End of the grace period of the current token text; `None` if it becomes invalid immediately.
    pub previous_until: Option<Time>,
    /// True if a command-line session receives the new text, and the token is valid longer than
    /// that session.
    pub outlives_session: bool,
    /// Time of the rotation.
    pub now: Time,
}

/// Projects and environments in a token's scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenScope {
    /// Projects in the scope; empty if the scope includes all projects of the team.
    pub projects: Vec<ProjectId>,
    /// Environments in the scope; empty if the scope includes all environments of its projects.
    pub environments: Vec<EnvironmentId>,
}

/// Read access to tokens.
#[async_trait]
pub trait TokenReads: Send {
    /// Returns the token whose current or previous MAC is this MAC, expired or not.
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>>;

    /// Returns the token with this ID.
    async fn token(&mut self, token: TokenId) -> StoreResult<Option<TokenRecord>>;

    /// Lists the tokens of these teams with their scopes, oldest first.
    async fn tokens(&mut self, teams: &[TeamId]) -> StoreResult<Vec<(TokenRecord, TokenScope)>>;

    /// Returns the scope of a token.
    async fn token_scope(&mut self, token: TokenId) -> StoreResult<TokenScope>;

    /// Counts the tokens of a team.
    async fn count_tokens(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Lists the tokens whose expiry is to be announced: those that expire after `now` and not
    /// after `until`, soonest first, at most `limit` of them.
    async fn expiring_tokens(
        &mut self,
        now: Time,
        until: Time,
        limit: u32,
    ) -> StoreResult<Vec<TokenRecord>>;
}

/// Write access to tokens.
#[async_trait]
pub trait TokenWrites: Send {
    /// Inserts a token with its scope.
    async fn insert_token(&mut self, token: &TokenRecord, scope: &TokenScope) -> StoreResult<()>;

    /// Replaces the MAC of a token. If `rotation` sets a grace period, the current MAC becomes the
    /// previous MAC; an earlier previous MAC is discarded. Fails with `Stale` if the token does not
    /// exist.
    async fn rotate_token(&mut self, token: TokenId, rotation: &NewCredential) -> StoreResult<()>;

    /// Records the last use of a token, unless the stored last use is less than
    /// [`TokenUse::WRITE_INTERVAL`] older. Does nothing if the token does not exist.
    async fn record_token_use(&mut self, token: TokenId, used: TokenUse) -> StoreResult<()>;

    /// Marks the expiry of a token as announced. Fails with `Stale` if it is announced already, or
    /// if the token does not exist.
    async fn mark_expiry_announced(&mut self, token: TokenId) -> StoreResult<()>;

    /// Deletes a token. Fails with `Stale` if it does not exist.
    async fn delete_token(&mut self, token: TokenId) -> StoreResult<()>;
}
