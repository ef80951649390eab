//! Creating a service token.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chrono::TimeDelta;
use ipnet::IpNet;
use serde::Deserialize;

use super::ServiceToken;
use crate::access::{NOT_A_MEMBER, outlives_session};
use crate::crypto::{TokenMac, TokenText};
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::model::whole::Whole;
use crate::model::{
    DisplayName, EnvironmentId, EnvironmentRef, Error, Permission, ProjectId, ProjectRef, Quota,
    Result, TeamId, Time, TokenId, ValidationRule, Violation, canonical_network,
};
use crate::notices::needs_no_announcement;
use crate::store::{EnvironmentRecord, TokenRecord, TokenScope};

/// Fields of a new service token. Unknown fields are rejected, so that a misspelled restriction is
/// not ignored.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "name": "deploy", "project_ids": ["web-api"], "environments": ["production"],
    "permissions": ["read"], "expires_in_days": 90,
})))]
pub struct NewToken {
    /// Display name of the new token.
    pub name: DisplayName,
    /// Team that will own the token; defaults to the caller's only team or personal team.
    pub team_id: Option<TeamId>,
    /// Projects that the token may access, by ID or slug: at most 100.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, max_items = 100))]
    pub project_ids: Option<Vec<ProjectRef>>,
    /// True to give access to all projects of the team, including projects created later.
    pub all_projects: Option<bool>,
    /// Environments that the token may access, by ID or name: at most 100. Defaults to all
    /// environments of the token's projects.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>, max_items = 100))]
    pub environments: Option<Vec<EnvironmentRef>>,
    /// Permissions of the token; `read` if absent.
    pub permissions: Option<Vec<Allowed>>,
    /// Other name of `permissions`; only one of the two may be given. The token's scope (projects
    /// and environments) is given by other fields.
    pub scopes: Option<Vec<Allowed>>,
    /// Lifetime of the token in days. Cannot be combined with `expires_at`.
    pub expires_in_days: Option<ExpiryDays>,
    /// Expiry time, at most 3,650 days from now. Without `expires_in_days` and `expires_at`, the
    /// token does not expire.
    pub expires_at: Option<Time>,
    /// Networks in CIDR notation or single IP addresses from which the token may be used: at most
    /// 32. If none is given, the token may be used from anywhere.
    #[cfg_attr(feature = "openapi", schema(max_items = 32))]
    pub ip_allowlist: Option<Vec<Network>>,
}

/// A permission of a service token: `read` or `write`. The names `secrets:read` and `secrets:write`
/// are accepted as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(rename_all = "lowercase"))]
#[serde(try_from = "String")]
pub enum Allowed {
    /// Permission to read secrets.
    Read,
    /// Permission to change secrets. Does not include the permission to read them.
    Write,
}

impl TryFrom<String> for Allowed {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        const ALLOWED: ValidationRule = ValidationRule::of("must be read or write");
        match text.as_str() {
            "read" | "secrets:read" => Ok(Self::Read),
            "write" | "secrets:write" => Ok(Self::Write),
            _ => Err(ALLOWED.violation()),
        }
    }
}

/// Lifetime of a service token: 1 to 3,650 days.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "Whole")]
#[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 3_650))]
pub struct ExpiryDays(i64);

impl TryFrom<Whole> for ExpiryDays {
    type Error = Violation;

    fn try_from(Whole(days): Whole) -> std::result::Result<Self, Violation> {
        const DAYS: ValidationRule = ValidationRule::of("must be 1 to 3650 days");
        if (1..=3650).contains(&days) { Ok(Self(days)) } else { Err(DAYS.violation()) }
    }
}

/// A network in CIDR notation (RFC 4632) or a single IP address.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "String")]
#[cfg_attr(feature = "openapi", schema(value_type = String, example = "10.0.0.0/8"))]
pub struct Network(IpNet);

impl TryFrom<String> for Network {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        const NETWORK: ValidationRule =
            ValidationRule::of("must be a network such as 192.0.2.0/24, or an address");
        let address = || text.parse::<IpAddr>().ok().map(|one| IpNet::from(one.to_canonical()));
        let network = text.parse::<IpNet>().ok().or_else(address);
        network.map(|network| Self(canonical_network(network).trunc())).ok_or(NETWORK.violation())
    }
}

/// Creates a service token. The response contains the token text, which cannot be read again.
#[derive(Debug)]
pub struct CreateToken {
    /// Fields of the new token.
    pub token: NewToken,
}

impl Operation for CreateToken {
    const NAME: &'static str = "token.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("token.created");
    type Access = Write;
    type Output = ServiceToken;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<ServiceToken> {
        let new = self.token;
        let team = match new.team_id {
            Some(team) => team,
            None => cx.default_team().await?,
        };
        let unknown = NOT_A_MEMBER;
        let plan = cx.locked_team(team, Permission::Manage, unknown).await?.plan;
        let (can_read, can_write) = allowed(new.permissions.as_deref(), new.scopes.as_deref())?;
        let networks = networks(new.ip_allowlist)?;
        let expires_at = expiry(new.expires_in_days, new.expires_at, cx.now())?;
        let outlives_session = outlives_session(cx.caller.as_person()?, expires_at, cx.now())?;
        let all_projects = new.all_projects.unwrap_or_default();
        let all_environments = new.environments.is_none();
        let scope = token_scope(cx, team, all_projects, new.project_ids, new.environments).await?;
        if plan.limit(Quota::ServiceTokens).is_some() {
            let current = cx.tx().count_tokens(team).await?;
            plan.admit(Quota::ServiceTokens, current, 1)?;
        }

        let text = TokenText::draw();
        let record = TokenRecord {
            id: TokenId::draw(cx.now()),
            team,
            name: new.name,
            mac: TokenMac::of(cx.keyring(), text.reveal()),
            prefix: text.prefix(),
            can_read,
            can_write,
            all_projects,
            all_environments,
            created_by: cx.caller.person()?.id,
            created_at: cx.now(),
            updated_at: cx.now(),
            expires_at,
            expiry_announced: needs_no_announcement(cx.now(), expires_at),
            networks,
            previous: None,
            rotated_at: None,
            last_use: None,
            outlives_session,
        };
        cx.tx().insert_token(&record, &scope).await?;
        cx.set_resource("service_token", record.id.uuid(), record.name.as_str());
        if outlives_session {
            cx.add_detail("outlives_session", true);
        }
        let token = ServiceToken::new(record, scope, cx.now());
        Ok(ServiceToken { token: Some(text), ..token })
    }
}

/// Resolves the projects and environments in the scope of a new token. Names are resolved to IDs
/// now: a project or environment that is created later with the same name is not in the scope.
async fn token_scope(
    cx: &mut Context<'_, Write>,
    team: TeamId,
    all_projects: bool,
    projects: Option<Vec<ProjectRef>>,
    environments: Option<Vec<EnvironmentRef>>,
) -> Result<TokenScope> {
    let projects = projects.unwrap_or_default();
    check_scope(all_projects, &projects, environments.as_deref())?;
    let (ids, known) = projects_of_scope(cx, team, &projects).await?;
    let environments = match environments {
        Some(wanted) => environments_of_scope(&wanted, &known)?,
        None => Vec::new(),
    };
    Ok(TokenScope { projects: ids, environments })
}

async fn projects_of_scope(
    cx: &mut Context<'_, Write>,
    team: TeamId,
    projects: &[ProjectRef],
) -> Result<(Vec<ProjectId>, Vec<EnvironmentRecord>)> {
    let principal = cx.caller.principal()?;
    let mut places = BTreeMap::new();
    for (place, project) in projects.iter().enumerate() {
        let found = cx.reads().project(project, principal).await?.map(|found| found.project);
        let found = found.filter(|project| project.team == team);
        places.entry(found.ok_or_else(|| not_of_the_team(place))?.id).or_insert(place);
    }
    // Lock the projects in order of ID, so that they and their environments are not deleted
    // concurrently.
    let mut environments = Vec::new();
    for (project, place) in &places {
        let held = cx.lock(Lock::Project(*project)).await;
        held.map_err(|error| match error {
            Error::Stale(_) => not_of_the_team(*place),
            other => other,
        })?;
        environments.extend(cx.reads().environments(*project, principal).await?);
    }
    Ok((places.into_keys().collect(), environments))
}

fn not_of_the_team(place: usize) -> Error {
    Error::invalid(format!("project_ids[{place}]"), "must be a project of the token's team")
}

/// Maximum number of projects, and maximum number of environments, in the scope of a token. Each of
/// them needs a lookup.
const MAX_SCOPE_ENTRIES: usize = 100;

/// Checks that the fields for the token's scope (projects and environments) can be combined.
fn check_scope(
    all_projects: bool,
    projects: &[ProjectRef],
    environments: Option<&[EnvironmentRef]>,
) -> Result<()> {
    let wrong = match (all_projects, projects.len(), environments) {
        (true, 1.., _) => Some(("project_ids", "must be absent where all_projects is true")),
        (true, 0, Some(_)) => Some(("environments", "must be absent where all_projects is true")),
        (false, 0, _) => Some(("project_ids", "must name a project, or all_projects be true")),
        (_, named, _) if named > MAX_SCOPE_ENTRIES => {
            Some(("project_ids", "must be at most 100 projects"))
        }
        (_, _, Some(named)) if named.len() > MAX_SCOPE_ENTRIES => {
            Some(("environments", "must be at most 100 environments"))
        }
        _ => None,
    };
    wrong.map_or(Ok(()), |(field, message)| Err(Error::invalid(field, message)))
}

fn environments_of_scope(
    wanted: &[EnvironmentRef],
    known: &[EnvironmentRecord],
) -> Result<Vec<EnvironmentId>> {
    if wanted.is_empty() {
        return Err(Error::invalid(
            "environments",
            "must name an environment, or be absent for all of them",
        ));
    }
    let mut ids = BTreeSet::new();
    for (index, wanted) in wanted.iter().enumerate() {
        let named = known.iter().filter(|environment| match wanted {
            EnvironmentRef::Id(id) => environment.id == *id,
            EnvironmentRef::Name(name) => environment.name.as_str() == name,
        });
        let mut named = named.map(|environment| environment.id).peekable();
        if named.peek().is_none() {
            let message = "must be an environment of one of the projects";
            return Err(Error::invalid(format!("environments[{index}]"), message));
        }
        ids.extend(named);
    }
    Ok(ids.into_iter().collect())
}

/// Maximum number of networks from which a token may be used. The client address of every request
/// is compared with all of them.
const MAX_NETWORKS: usize = 32;

fn networks(given: Option<Vec<Network>>) -> Result<Vec<IpNet>> {
    let mut networks: Vec<_> =
        given.unwrap_or_default().into_iter().map(|Network(network)| network).collect();
    if networks.len() > MAX_NETWORKS {
        return Err(Error::invalid("ip_allowlist", "must be at most 32 networks"));
    }
    networks.sort_unstable();
    networks.dedup();
    Ok(networks)
}

fn allowed(permissions: Option<&[Allowed]>, scopes: Option<&[Allowed]>) -> Result<(bool, bool)> {
    let given = match (permissions, scopes) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid("scopes", "must be absent where permissions are given"));
        }
        (Some(given), None) | (None, Some(given)) => given,
        (None, None) => &[Allowed::Read],
    };
    if given.is_empty() {
        return Err(Error::invalid("permissions", "must hold read, write or both"));
    }
    Ok((given.contains(&Allowed::Read), given.contains(&Allowed::Write)))
}

fn expiry(days: Option<ExpiryDays>, at: Option<Time>, now: Time) -> Result<Option<Time>> {
    let latest = now + TimeDelta::days(3650);
    match (days, at) {
        (Some(_), Some(_)) => {
            Err(Error::invalid("expires_at", "must be absent where expires_in_days is given"))
        }
        (Some(ExpiryDays(days)), None) => Ok(Some(now + TimeDelta::days(days))),
        (None, Some(at)) if at <= now || at > latest => {
            Err(Error::invalid("expires_at", "must be later than now, by at most 3650 days"))
        }
        (None, at) => Ok(at),
    }
}
