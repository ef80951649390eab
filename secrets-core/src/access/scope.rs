//! Scopes: teams, projects and environments that the caller is authorized for. Only this module
//! creates scopes.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use crate::crypto::ProjectKey;
use crate::engine::{Access, Context, Read, Who, team_rate};
use crate::model::{
    Code, EnvironmentId, EnvironmentPath, Error, MemberAccess, Permission, Plan, ProjectRef,
    Result, Role, SecretKey, Subject, TeamId,
};
use crate::store::{
    ChainLink, EnvironmentRecord, Membership, ProjectRecord, ProjectRelation, Relation,
    ResolvedEnvironment, RotationLocation, SecretRecord, Selection, TeamRecord,
};

/// Maximum length of an inheritance chain, including the environment itself.
pub const MAX_CHAIN_LENGTH: usize = 16;

/// A team that the caller is authorized for.
#[derive(Debug, Clone)]
pub struct TeamScope {
    /// Team.
    pub team: TeamRecord,
    /// Caller's role in the team.
    pub role: Role,
    /// Team's plan.
    pub plan: Arc<Plan>,
}

/// A project that the caller is authorized for.
#[derive(Debug, Clone)]
pub struct ProjectScope {
    /// Project.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: Arc<Plan>,
    /// Caller's relation to the project: a member with a role, or a token with the project in its
    /// scope.
    pub relation: Relation,
}

/// An environment that the caller is authorized for.
pub struct EnvironmentScope {
    /// Project.
    pub project: ProjectRecord,
    /// Plan of the project's team.
    pub plan: Arc<Plan>,
    /// Environment.
    pub environment: EnvironmentRecord,
    /// True if the caller may read secrets.
    pub may_read: bool,
    /// True if the caller may change secrets.
    pub may_write: bool,
    /// True if the caller may manage permissions; always false for service tokens.
    pub may_grant: bool,
    key: ProjectKey,
}

impl EnvironmentScope {
    /// Returns the newest key of the project, which encrypts new records.
    pub(crate) fn key(&self) -> &ProjectKey {
        &self.key
    }
}

/// An environment with its ancestors, for reading their secrets.
pub struct View {
    /// The environment itself.
    pub scope: EnvironmentScope,
    /// Environment and its ancestors, nearest first, each with the selected secrets.
    pub chain: Vec<ChainLink>,
    /// Ancestors that the caller may not read. Their secrets are listed without values.
    pub restricted: BTreeSet<EnvironmentId>,
}

impl Context<'_, Read> {
    /// Resolves a team by ID and authorizes the caller. `unknown` is the error for an unknown team:
    /// 404 if the path names the team, 403 otherwise.
    pub async fn team(
        &mut self,
        team: TeamId,
        wanted: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        self.resolve_team(team, wanted, unknown).await
    }

    /// Resolves a project and authorizes the caller.
    pub async fn project(&mut self, path: &ProjectRef, wanted: Permission) -> Result<ProjectScope> {
        self.resolve_project(path, wanted).await
    }

    /// Resolves an environment and authorizes the caller.
    pub async fn environment(
        &mut self,
        path: &EnvironmentPath,
        wanted: Permission,
    ) -> Result<EnvironmentScope> {
        Ok(self.resolve(path, wanted, Selection::None).await?.0.scope)
    }

    /// Resolves an environment for reading, with the selected secrets of the environment and its
    /// ancestors.
    pub async fn view(&mut self, path: &EnvironmentPath, wanted: Selection<'_>) -> Result<View> {
        let (view, _) = self.resolve(path, Permission::Read, wanted).await?;
        check_chain(&view.chain)?;
        Ok(view)
    }

    /// Resolves an environment like [`view`](Self::view), without a change of the audit entry.
    /// Returns `None` if the environment is unknown, or if the caller is a user without access to
    /// it.
    pub(crate) async fn view_if_readable(
        &mut self,
        path: &EnvironmentPath,
        wanted: Selection<'_>,
    ) -> Result<Option<View>> {
        let context = mem::take(&mut self.audit);
        let view = self.view(path, wanted).await;
        self.audit = context;
        match (view, &self.caller.who) {
            (Ok(view), _) => Ok(Some(view)),
            (Err(Error::NotFound(_)), _) | (Err(Error::Forbidden(_)), Who::Person(_)) => Ok(None),
            (Err(error), _) => Err(error),
        }
    }

    /// Loads the teams in which the caller is an owner or admin.
    pub async fn managed_teams(&mut self) -> Result<Vec<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(managed(&memberships).map(|membership| membership.team.id).collect())
    }

    /// Loads the teams whose audit log the caller sees if a request names no team: the teams that
    /// the caller manages. Returns none for a user who manages only their personal team and is a
    /// regular member of another team.
    pub async fn audited_teams(&mut self) -> Result<Vec<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        let is_regular = managed(&memberships).count() < memberships.len()
            && managed(&memberships).all(|membership| membership.is_personal_of(user));
        let audited = managed(&memberships).filter(|_| !is_regular);
        Ok(audited.map(|membership| membership.team.id).collect())
    }
}

/// Returns the memberships as owner or admin.
fn managed(memberships: &[Membership]) -> impl Iterator<Item = &Membership> {
    memberships.iter().filter(|membership| membership.role.is_some_and(Role::manages))
}

impl<A: Access> Context<'_, A> {
    /// Returns the team that is used if a request names none: the caller's only team, or else the
    /// caller's personal team.
    pub async fn default_team(&mut self) -> Result<TeamId> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        let only = (memberships.len() == 1).then(|| memberships.first()).flatten();
        let own = only.or_else(|| {
            memberships.iter().find(|m| m.is_personal_of(user) && m.role == Some(Role::Owner))
        });
        own.map(|membership| membership.team.id)
            .ok_or_else(|| Error::invalid("team_id", "must name one of your teams"))
    }

    /// Returns the caller's personal team, which was created at the first sign-in.
    pub(crate) async fn personal_team(&mut self) -> Result<Option<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(memberships.iter().find(|own| own.is_personal_of(user)).map(|own| own.team.id))
    }

    /// Resolves an environment and authorizes the caller, without a lock. Returns the environment's
    /// record. A change must authorize the caller again under its locks.
    pub(crate) async fn known_environment(
        &mut self,
        path: &EnvironmentPath,
        wanted: Permission,
    ) -> Result<EnvironmentRecord> {
        Ok(self.resolve(path, wanted, Selection::None).await?.0.scope.environment)
    }

    /// Resolves an environment for reading, with the secrets that these keys have in the
    /// environment and its ancestors. A change calls it after taking its locks.
    pub(crate) async fn view_of_keys(
        &mut self,
        path: &EnvironmentPath,
        keys: &[SecretKey],
    ) -> Result<View> {
        let (mut view, _) = self.resolve(path, Permission::Read, Selection::None).await?;
        check_chain(&view.chain)?;
        let mut bytes = 0;
        for link in &mut view.chain {
            let secrets = self.reads().secrets(link.environment.id, keys).await?;
            bytes += secrets.iter().map(SecretRecord::size).sum::<usize>();
            if bytes > ResolvedEnvironment::MAX_BYTES {
                return Err(TOO_MANY_BYTES);
            }
            link.secrets = secrets.into_iter().map(Arc::new).collect();
        }
        Ok(view)
    }

    /// True if the caller may read the secrets of this environment. Does not change the audit
    /// entry.
    pub(crate) async fn may_read(&mut self, path: &EnvironmentPath) -> Result<bool> {
        let context = mem::take(&mut self.audit);
        let resolved = self.resolve(path, Permission::Read, Selection::None).await;
        self.audit = context;
        match resolved {
            Ok(_) => Ok(true),
            Err(Error::Forbidden(_) | Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Resolves a team and authorizes the caller, without a lock.
    pub(super) async fn resolve_team(
        &mut self,
        team: TeamId,
        wanted: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        let user = self.caller.person()?.id;
        let membership = self.reads().membership(team, user).await?.ok_or(unknown)?;
        self.audit.team = Some(team);
        self.audit.is_anonymized = membership.role.is_none();
        let role = membership.role.ok_or(NOT_A_MEMBER)?;
        if wanted == Permission::Manage && !role.manages() {
            return Err(MANAGERS_ONLY);
        }
        team_rate::count(self, team).await?;
        let plan = self.options().plans.of_team(&membership.team.plan);
        Ok(TeamScope { team: membership.team, role, plan })
    }

    /// Resolves a project and authorizes the caller, without a lock.
    pub(super) async fn resolve_project(
        &mut self,
        path: &ProjectRef,
        wanted: Permission,
    ) -> Result<ProjectScope> {
        let principal = self.caller.principal()?;
        let found = self.reads().project(path, principal).await?;
        self.project_scope(found, wanted).await
    }

    /// Authorizes the caller for a project that was loaded.
    pub(super) async fn project_scope(
        &mut self,
        found: Option<ProjectRelation>,
        wanted: Permission,
    ) -> Result<ProjectScope> {
        let found = found.ok_or(Error::NotFound(Subject::Project))?;
        set_audit_project(self, &found.project, found.relation);
        allow(&self.caller.who, found.relation, wanted)?;
        team_rate::count(self, found.project.team).await?;
        let plan = self.options().plans.of_team(&found.plan);
        Ok(ProjectScope { project: found.project, plan, relation: found.relation })
    }

    /// Resolves an environment and authorizes the caller, without a lock. Does not check the
    /// inheritance chain.
    pub(super) async fn resolve(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
        wanted: Selection<'_>,
    ) -> Result<(View, Relation)> {
        let principal = self.caller.principal()?;
        let resolved = self.reads().resolve_environment(path, principal, wanted).await?;
        let ResolvedEnvironment { project, plan, relation, key, chain } =
            resolved.ok_or(Error::NotFound(Subject::Project))?;
        set_audit_project(self, &project, relation);
        allow(&self.caller.who, relation, Permission::See)?;
        let first = chain.first().ok_or(Error::NotFound(Subject::Environment))?;
        let environment = first.environment.clone();
        self.audit.environment = Some((environment.id, environment.name.to_string()));
        if !first.in_scope {
            return Err(OUT_OF_SCOPE);
        }
        self.allow_in(first, relation, permission)?;
        let may_read = self.allow_in(first, relation, Permission::Read).is_ok();
        let may_write = self.allow_in(first, relation, Permission::Write).is_ok();
        let may_grant = self.allow_in(first, relation, Permission::Grant).is_ok();
        team_rate::count(self, project.team).await?;

        let key = self.keyring().project_key(&key).map_err(Error::internal)?;
        let plan = self.options().plans.of_team(&plan);
        let scope =
            EnvironmentScope { project, plan, environment, may_read, may_write, may_grant, key };
        // A service token reads the whole chain: its environments were chosen by an admin.
        let is_restricted = |link: &&ChainLink| {
            matches!(relation, Relation::Member(_))
                && self.allow_in(link, relation, Permission::Read).is_err()
        };
        let ancestors = chain.iter().skip(1).filter(is_restricted);
        let restricted = ancestors.map(|link| link.environment.id).collect();
        Ok((View { scope, chain, restricted }, relation))
    }

    /// Fails unless the caller has the permission in this environment. Takes access into account
    /// that is granted in the environment only.
    pub(super) fn allow_in(
        &self,
        link: &ChainLink,
        relation: Relation,
        wanted: Permission,
    ) -> Result<()> {
        let otherwise = self.options().member_access;
        allow_in(&self.caller.who, relation, (link.granted, otherwise), wanted)
    }
}

/// Fails unless the caller has the permission in an environment. For members, the access is the
/// access granted there, or else the default access.
pub(super) fn allow_in(
    who: &Who,
    relation: Relation,
    (granted, otherwise): (Option<MemberAccess>, MemberAccess),
    wanted: Permission,
) -> Result<()> {
    let Relation::Member(role) = relation else { return allow(who, relation, wanted) };
    if role.manages() || MemberAccess::of(role, granted, otherwise).allows(wanted) {
        return Ok(());
    }
    Err(match wanted {
        Permission::Manage => MANAGERS_ONLY,
        Permission::Grant => ADMINS_ONLY,
        _ => NO_ACCESS,
    })
}

/// Fails unless the caller has the permission in a project.
pub(super) fn allow(who: &Who, relation: Relation, wanted: Permission) -> Result<()> {
    match (relation, who) {
        (Relation::Member(role), _) => match wanted {
            Permission::See | Permission::Contribute => Ok(()),
            _ if role.manages() => Ok(()),
            Permission::Manage => Err(MANAGERS_ONLY),
            Permission::Read | Permission::Write | Permission::Grant => Err(NO_ACCESS),
        },
        (Relation::Token, Who::Token(token)) => match wanted {
            Permission::See => Ok(()),
            Permission::Read if token.can_read => Ok(()),
            Permission::Write if token.can_write => Ok(()),
            Permission::Read => Err(Error::forbidden("this token may not read")),
            Permission::Write => Err(Error::forbidden("this token may not write")),
            Permission::Contribute | Permission::Grant | Permission::Manage => {
                Err(Error::forbidden("a service token may not do this"))
            }
        },
        (Relation::None, Who::Token(_)) => Err(OUT_OF_SCOPE),
        (Relation::None | Relation::Token, _) => Err(NOT_A_MEMBER),
    }
}

impl<A: Access> Context<'_, A> {
    /// Returns the environment of a rotation as an authorized scope, for work that the service
    /// itself performs. Fails if the caller is not the service.
    pub(crate) fn rotation_environment(
        &mut self,
        place: RotationLocation,
    ) -> Result<EnvironmentScope> {
        let Who::System = self.caller.who else { return Err(NO_ACCESS) };
        let key = self.keyring().project_key(&place.key).map_err(Error::internal)?;
        let plan = self.options().plans.of_team(&place.plan);
        let RotationLocation { project, environment, .. } = place;
        let (may_read, may_write, may_grant) = (true, true, false);
        Ok(EnvironmentScope { project, plan, environment, may_read, may_write, may_grant, key })
    }
}

/// Error for callers who are not a member of the team.
pub(crate) const NOT_A_MEMBER: Error = Error::forbidden("you are not a member of this team");
const MANAGERS_ONLY: Error = Error::forbidden("only an owner or admin of the team may do this");
const ADMINS_ONLY: Error =
    Error::forbidden("only an admin of this environment or of the team may do this");
const NO_ACCESS: Error = Error::forbidden("you have no access to this environment");
const OUT_OF_SCOPE: Error = Error::forbidden("outside of this token's scope");

/// Sets the team and project of the audit entry, which is also written if the caller is refused.
/// The entry of a caller outside of the team does not include the caller's name and e-mail address.
fn set_audit_project<A: Access>(
    cx: &mut Context<'_, A>,
    project: &ProjectRecord,
    relation: Relation,
) {
    cx.audit.team = Some(project.team);
    cx.audit.project = Some((project.id, project.name.to_string()));
    let is_own_token = matches!(&cx.caller.who, Who::Token(token) if token.team == project.team);
    cx.audit.is_anonymized = matches!(relation, Relation::None) && !is_own_token;
}

/// Fails if the inheritance chain is circular or too long. The service never stores such a chain,
/// but a database edited by hand may hold it.
pub(super) fn check_chain(chain: &[ChainLink]) -> Result<()> {
    let distinct: BTreeSet<_> = chain.iter().map(|link| link.environment.id).collect();
    if distinct.len() < chain.len() {
        return Err(Error::Refused {
            code: Code::CircularInheritance,
            reason: "environments inherit from each other in a circle".into(),
        });
    }
    if chain.len() > MAX_CHAIN_LENGTH {
        return Err(CHAIN_TOO_LONG);
    }
    Ok(())
}

/// Error for secrets of some keys that exceed [`ResolvedEnvironment::MAX_BYTES`] together.
const TOO_MANY_BYTES: Error = Error::Refused {
    code: Code::AnswerTooLarge,
    reason: std::borrow::Cow::Borrowed("the secrets of these keys exceed 64 MiB: name fewer keys"),
};

/// Error for an inheritance chain of more than [`MAX_CHAIN_LENGTH`] environments.
pub(crate) const CHAIN_TOO_LONG: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed("an inheritance chain may hold at most 16 environments"),
};
