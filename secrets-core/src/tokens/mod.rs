//! Service tokens.

mod create;
mod delete;
mod list;
mod rotate;

use std::net::IpAddr;

use serde::Serialize;

pub use create::{CreateToken, ExpiryDays, Network, NewToken};
pub use delete::DeleteToken;
pub use list::ListTokens;
pub use rotate::{GracePeriod, RotateToken, TokenRotation};

use crate::crypto::TokenText;
use crate::model::{DisplayName, EnvironmentId, ProjectId, TeamId, Time, TokenId, UserId};
use crate::store::{TokenRecord, TokenScope};

/// A service token. The token itself is there once, when it is made.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServiceToken {
    /// Which token.
    pub id: TokenId,
    /// What people call it.
    pub name: DisplayName,
    /// Whose token.
    pub team_id: TeamId,
    /// Whether it reaches all projects of the team.
    pub all_projects: bool,
    /// The projects it reaches, unless it is all.
    pub project_ids: Vec<ProjectId>,
    /// Whether it reaches all environments of its projects.
    pub all_environments: bool,
    /// The environments it reaches, unless it is all of its projects.
    pub environment_ids: Vec<EnvironmentId>,
    /// `read`, `write`.
    pub permissions: Vec<&'static str>,
    /// The same list, under the name that clients of this interface read.
    pub scopes: Vec<&'static str>,
    /// The token's first characters.
    pub token_prefix: String,
    /// Addresses it may be used from: empty for all.
    pub ip_allowlist: Vec<String>,
    /// Who made it.
    pub created_by: UserId,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// When it was last used: at most a minute and a few seconds behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub last_used_ip: Option<IpAddr>,
    /// When it was last rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Time>,
    /// `active` or `expired`; one that is deleted is not told of.
    pub status: &'static str,
    /// The token itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub token: Option<TokenText>,
}

/// A service token, as it sees itself.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenSelf {
    /// Which token.
    pub id: TokenId,
    /// `service_token`.
    pub auth_type: &'static str,
    /// What people call it.
    pub name: DisplayName,
    /// Whose token.
    pub team_id: TeamId,
    /// The projects it reaches, unless it is all.
    pub project_ids: Vec<ProjectId>,
    /// The environments it reaches, unless it is all of its projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment_ids: Vec<EnvironmentId>,
    /// `read`, `write`.
    pub scopes: Vec<&'static str>,
    /// The same.
    pub permissions: Vec<&'static str>,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// When it was made.
    pub created_at: Time,
}

impl ServiceToken {
    pub(crate) fn new(token: TokenRecord, scope: TokenScope, now: Time) -> Self {
        let permissions = permissions(&token);
        let ended = token.expires_at.is_some_and(|end| end <= now);
        Self {
            id: token.id,
            name: token.name,
            team_id: token.team,
            all_projects: token.all_projects,
            project_ids: scope.projects,
            all_environments: token.all_environments,
            environment_ids: scope.environments,
            scopes: permissions.clone(),
            permissions,
            token_prefix: token.prefix,
            ip_allowlist: token.networks.iter().map(ToString::to_string).collect(),
            created_by: token.created_by,
            created_at: token.created_at,
            updated_at: token.updated_at,
            expires_at: token.expires_at,
            last_used_at: token.last_use.map(|last| last.at),
            last_used_ip: token.last_use.and_then(|last| last.address),
            rotated_at: token.rotated_at,
            status: if ended { "expired" } else { "active" },
            token: None,
        }
    }
}

impl TokenSelf {
    pub(crate) fn new(token: &TokenRecord, scope: TokenScope) -> Self {
        let permissions = permissions(token);
        Self {
            id: token.id,
            auth_type: "service_token",
            name: token.name.clone(),
            team_id: token.team,
            project_ids: scope.projects,
            environment_ids: scope.environments,
            scopes: permissions.clone(),
            permissions,
            expires_at: token.expires_at,
            created_at: token.created_at,
        }
    }
}

fn permissions(token: &TokenRecord) -> Vec<&'static str> {
    let (read, write) = (token.can_read.then_some("read"), token.can_write.then_some("write"));
    read.into_iter().chain(write).collect()
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn revealed<S: serde::Serializer>(
    token: &Option<TokenText>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(&token.as_ref().map(TokenText::reveal))
}
