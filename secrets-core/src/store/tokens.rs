//! Service tokens and their scopes.

use std::net::IpAddr;

use async_trait::async_trait;
use chrono::TimeDelta;
use ipnet::IpNet;

use super::StoreResult;
use crate::crypto::TokenMac;
use crate::model::{DisplayName, EnvironmentId, ProjectId, TeamId, Time, TokenId, UserId};

/// A service token. The token itself is not kept, only its keyed hash.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent choices, kept as columns")]
pub struct TokenRecord {
    /// Which token.
    pub id: TokenId,
    /// Whose token.
    pub team: TeamId,
    /// What people call it.
    pub name: DisplayName,
    /// The hash it is found by.
    pub mac: TokenMac,
    /// Its first characters, for people.
    pub prefix: String,
    /// Whether it may read.
    pub can_read: bool,
    /// Whether it may write; that does not include reading.
    pub can_write: bool,
    /// Whether it holds all projects of the team, later ones too. Fixed when it is made: a list
    /// that becomes empty means nothing, not everything.
    pub all_projects: bool,
    /// Whether it holds all environments of its projects. Fixed likewise.
    pub all_environments: bool,
    /// Who made it.
    pub created_by: UserId,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When it ends.
    pub expires_at: Option<Time>,
    /// Where it may be used from; from everywhere if it is empty.
    pub networks: Vec<IpNet>,
    /// What it was before it was last rotated, if that may still be used.
    pub previous: Option<PreviousToken>,
    /// When it was last rotated.
    pub rotated_at: Option<Time>,
    /// When it was last used, as far as that was written.
    pub last_use: Option<TokenUse>,
}

/// What a token was before it was rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousToken {
    /// The hash it was found by.
    pub mac: TokenMac,
    /// When it ends.
    pub until: Time,
}

/// When a token was used, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUse {
    /// When.
    pub at: Time,
    /// From where, if that was known.
    pub address: Option<IpAddr>,
}

impl TokenUse {
    /// How long a use that was written stands for those that follow it.
    pub const STANDS: TimeDelta = TimeDelta::minutes(1);
}

/// What a token becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The hash it is found by from now on.
    pub mac: TokenMac,
    /// Its first characters.
    pub prefix: String,
    /// Until when it is found by the hash it has now as well; `None` if that ends at once.
    pub previous_until: Option<Time>,
    /// When.
    pub now: Time,
}

/// What a token is for, where it is not for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenScope {
    /// The projects, unless it holds all.
    pub projects: Vec<ProjectId>,
    /// The environments, unless it holds all of its projects.
    pub environments: Vec<EnvironmentId>,
}

/// Reading tokens.
#[async_trait]
pub trait TokenReads: Send {
    /// The token that has this hash, or had it before it was last rotated; expired or not.
    async fn token_by_mac(&mut self, mac: &TokenMac) -> StoreResult<Option<TokenRecord>>;

    /// The token with this id.
    async fn token(&mut self, token: TokenId) -> StoreResult<Option<TokenRecord>>;

    /// The tokens of these teams with their scopes, oldest first.
    async fn tokens(&mut self, teams: &[TeamId]) -> StoreResult<Vec<(TokenRecord, TokenScope)>>;

    /// The scope of one token.
    async fn token_scope(&mut self, token: TokenId) -> StoreResult<TokenScope>;

    /// How many tokens a team has.
    async fn count_tokens(&mut self, team: TeamId) -> StoreResult<u64>;
}

/// Writing tokens.
#[async_trait]
pub trait TokenWrites: Send {
    /// Keeps a token and its scope.
    async fn insert_token(&mut self, token: &TokenRecord, scope: &TokenScope) -> StoreResult<()>;

    /// Gives a token another hash and keeps the one it has, as the previous one. What was previous
    /// until now is gone. Fails with `Stale` if the token is gone.
    async fn rotate_token(&mut self, token: TokenId, rotation: &Rotation) -> StoreResult<()>;

    /// Writes when a token was last used, unless that was written less than [`TokenUse::STANDS`]
    /// before. Does nothing if the token is gone.
    async fn use_token(&mut self, token: TokenId, used: TokenUse) -> StoreResult<()>;

    /// Deletes it. Fails with `Stale` if it is gone.
    async fn delete_token(&mut self, token: TokenId) -> StoreResult<()>;
}
