//! Service tokens: credentials of programs, limited to projects and environments of a team.

mod create;
mod delete;
mod list;
mod rotate;
pub(crate) mod uses;

use std::net::IpAddr;

use serde::Serialize;

pub use create::{CreateToken, ExpiryDays, Network, NewToken};
pub use delete::DeleteToken;
pub use list::ListTokens;
pub use rotate::{GracePeriod, RotateToken, TokenRotation};
pub use uses::{CREDENTIAL_USES, write_uses};

use crate::crypto::TokenText;
use crate::engine::{Context, Write};
use crate::model::{
    DisplayName, EnvironmentId, Error, Permission, ProjectId, Result, Subject, TeamId, Time,
    TokenId, UserId,
};
use crate::store::{TokenRecord, TokenScope};

/// A service token. The token text is included only in the response that creates or rotates the
/// token.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ServiceToken {
    /// Token ID.
    pub id: TokenId,
    /// Display name of the token.
    pub name: DisplayName,
    /// ID of the team that owns the token.
    pub team_id: TeamId,
    /// True if the token may access all projects of the team.
    pub all_projects: bool,
    /// Projects that the token may access; empty if `all_projects` is true.
    pub project_ids: Vec<ProjectId>,
    /// True if the token may access all environments of its projects.
    pub all_environments: bool,
    /// Environments that the token may access; empty if `all_environments` is true.
    pub environment_ids: Vec<EnvironmentId>,
    /// Permissions of the token: `read`, `write` or both.
    pub permissions: Vec<&'static str>,
    /// Same as `permissions`, for clients that expect this name. The token's scope (projects and
    /// environments) is in other fields.
    pub scopes: Vec<&'static str>,
    /// First characters of the token text.
    pub token_prefix: String,
    /// Networks and addresses from which the token may be used; empty if it may be used from
    /// anywhere.
    pub ip_allowlist: Vec<String>,
    /// ID of the user who created the token.
    pub created_by: UserId,
    /// Creation time of the token.
    pub created_at: Time,
    /// Time of the last change of the token.
    pub updated_at: Time,
    /// Expiry time of the token; absent if the token never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Time of the last use; absent if the token was never used. The actual last use can be later,
    /// by a little more than a minute at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Time>,
    /// IP address of the last use; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub last_used_ip: Option<IpAddr>,
    /// Time of the last rotation, which gave the token a new text; absent if the token was never
    /// rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Time>,
    /// True if the text of the token was returned to a command-line session that ends before the
    /// token expires.
    pub outlives_session: bool,
    /// Status: `active` or `expired`. Deleted tokens are not returned.
    pub status: &'static str,
    /// Text of the token; present only in the response that creates or rotates the token.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::crypto::revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub token: Option<TokenText>,
}

/// Service token that made the request.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenSelf {
    /// Token ID.
    pub id: TokenId,
    /// Type of credential: always `service_token`.
    pub auth_type: &'static str,
    /// Display name of the token.
    pub name: DisplayName,
    /// ID of the team that owns the token.
    pub team_id: TeamId,
    /// Projects that the token may access; empty if it may access all projects of the team.
    pub project_ids: Vec<ProjectId>,
    /// Environments that the token may access; absent if it may access all environments of its
    /// projects. Empty if all these environments were deleted: the token then has access to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_ids: Option<Vec<EnvironmentId>>,
    /// Same as `permissions`, for clients that expect this name.
    pub scopes: Vec<&'static str>,
    /// Permissions of the token: `read`, `write` or both.
    pub permissions: Vec<&'static str>,
    /// Expiry time of the token; absent if the token never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Creation time of the token.
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
            outlives_session: token.outlives_session,
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
            environment_ids: (!token.all_environments).then_some(scope.environments),
            scopes: permissions.clone(),
            permissions,
            expires_at: token.expires_at,
            created_at: token.created_at,
        }
    }
}

/// Locks the team of a token, authorizes the caller to manage the team, and loads the token.
async fn locked_token(cx: &mut Context<'_, Write>, token: Option<TokenId>) -> Result<TokenRecord> {
    let unknown = || Error::NotFound(Subject::Token);
    let token = token.ok_or_else(unknown)?;
    let team = cx.reads().token(token).await?.ok_or_else(unknown)?.team;
    cx.locked_team(team, Permission::Manage, unknown()).await?;
    cx.reads().token(token).await?.ok_or_else(unknown)
}

fn permissions(token: &TokenRecord) -> Vec<&'static str> {
    let (read, write) = (token.can_read.then_some("read"), token.can_write.then_some("write"));
    read.into_iter().chain(write).collect()
}
