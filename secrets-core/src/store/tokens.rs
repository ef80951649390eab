//! Service tokens and their scopes.

use std::net::IpAddr;

use async_trait::async_trait;
use chrono::TimeDelta;
use ipnet::IpNet;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DisplayName, EnvironmentId, ProjectId, TeamId, Time, TokenId, UserId};

/// A service token. The token itself, a secret string, is not stored, only its MAC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "six independent flags, stored as columns")]
pub struct TokenRecord {
    /// Token ID.
    pub id: TokenId,
    /// ID of the team that owns the token.
    pub team: TeamId,
    /// Display name of the token.
    pub name: DisplayName,
    /// MAC of the token string, with which the token is looked up.
    pub mac: TokenMac,
    /// First characters of the token string, to recognize the token.
    pub prefix: String,
    /// Permission to read secrets.
    pub can_read: bool,
    /// Permission to change secrets; does not include the permission to read them.
    pub can_write: bool,
    /// True if the scope includes all projects of the team, also projects created later. Never
    /// changes: if all projects of a token with limited scope are deleted, the token cannot access
    /// any project.
    pub all_projects: bool,
    /// True if the scope includes all environments of its projects. Never changes.
    pub all_environments: bool,
    /// ID of the user who created the token.
    pub created_by: UserId,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
    /// Expiry time; `None` if the token never expires.
    pub expires_at: Option<Time>,
    /// True if the notice about the token's expiry was enqueued, or will never be sent.
    pub expiry_announced: bool,
    /// IP networks from which the token may be used; empty if it may be used from anywhere.
    pub networks: Vec<IpNet>,
    /// Token string before the last rotation, which is accepted until the end of the grace period;
    /// `None` if there is none.
    pub previous: Option<PreviousToken>,
    /// Time at which the token was last rotated (got a new token string).
    pub rotated_at: Option<Time>,
    /// Last use of the token that was recorded.
    pub last_use: Option<TokenUse>,
    /// True if the token string was returned to a command-line session that ends before the token
    /// expires.
    pub outlives_session: bool,
}

/// Token string before the last rotation of a token, which is accepted until the end of the grace
/// period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousToken {
    /// MAC of the previous token string.
    pub mac: TokenMac,
    /// Time until which the previous token string is accepted.
    pub until: Time,
}

impl TokenRecord {
    /// True if this is the MAC of the token string or, during the grace period, of the previous
    /// token string.
    pub(crate) fn has_mac(&self, mac: &TokenMac, now: Time) -> bool {
        let previous = self.previous.filter(|previous| now < previous.until);
        self.mac == *mac || previous.is_some_and(|previous| previous.mac == *mac)
    }

    /// True if the token has expired.
    pub(crate) fn is_expired(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// One use of a service token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUse {
    /// Time of the use.
    pub at: Time,
    /// IP address of the client; `None` if unknown.
    pub address: Option<IpAddr>,
}

impl TokenUse {
    /// Minimum time between two recorded uses of a token. Uses in between are not stored.
    pub const WRITE_INTERVAL: TimeDelta = TimeDelta::minutes(1);
}

/// New token string of a service token, created by a rotation of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// MAC of the new token string.
    pub mac: TokenMac,
    /// First characters of the new token string, to recognize the token.
    pub prefix: String,
    /// Time until which the token string that is being replaced is still accepted; `None` if it
    /// becomes invalid immediately.
    pub previous_until: Option<Time>,
    /// True if the new token string is returned to a command-line session that ends before the
    /// token expires.
    pub outlives_session: bool,
    /// Time at which the token is rotated.
    pub now: Time,
}

/// Projects and environments in the scope of a service token.
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
    /// Returns the service token whose current or previous token string has this MAC, even if the
    /// token has expired.
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>>;

    /// Returns the token with this ID.
    async fn token(&mut self, token: TokenId) -> StoreResult<Option<TokenRecord>>;

    /// Lists the tokens of these teams with their scopes, oldest first.
    async fn tokens(&mut self, teams: &[TeamId]) -> StoreResult<Vec<(TokenRecord, TokenScope)>>;

    /// Returns the scope of a token.
    async fn token_scope(&mut self, token: TokenId) -> StoreResult<TokenScope>;

    /// Returns the number of service tokens of a team.
    async fn count_tokens(&mut self, team: TeamId) -> StoreResult<u64>;

    /// Lists the service tokens about whose expiry a notice must be sent: those that expire after
    /// `now` and not after `until`, at most `limit`. The token that expires first comes first.
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

    /// Replaces the MAC of a token by that of its new token string. If `rotation` sets a grace
    /// period, the current MAC becomes the previous MAC; an earlier previous MAC is discarded.
    /// Fails with `Stale` if the token does not exist.
    async fn rotate_token(&mut self, token: TokenId, rotation: &NewCredential) -> StoreResult<()>;

    /// Stores the time and address of a token's last use. Does nothing if the stored use is less
    /// than a minute ([`TokenUse::WRITE_INTERVAL`]) older, or if the token does not exist.
    async fn record_token_use(&mut self, token: TokenId, used: TokenUse) -> StoreResult<()>;

    /// Marks that the notice about a token's expiry was enqueued. Fails with `Stale` if that was
    /// already marked, or if the token does not exist.
    async fn mark_expiry_announced(&mut self, token: TokenId) -> StoreResult<()>;

    /// Deletes a service token. Fails with `Stale` if the token does not exist.
    async fn delete_token(&mut self, token: TokenId) -> StoreResult<()>;
}
