//! Scopes: what a caller may act on. They are made here and nowhere else.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::access::RESTORABLE;
use crate::crypto::ProjectKey;
use crate::engine::{Access, Context, Who, Write};
use crate::model::{
    Code, EnvironmentPath, Error, MemberAccess, Permission, Plan, ProjectRef, Result, Role,
    Subject, TeamId,
};
use crate::store::{EnvironmentRecord, Link, ProjectRecord, Sight, Standing, TeamRecord, Wanted};

/// The most environments a chain of inheritance holds, the first and the last included.
pub const LONGEST_CHAIN: usize = 16;

/// A team the caller may act on.
#[derive(Debug, Clone)]
pub struct TeamScope {
    /// The team.
    pub team: TeamRecord,
    /// The caller's role in it.
    pub role: Role,
    /// Its plan.
    pub plan: Arc<Plan>,
}

/// A project the caller may act on.
#[derive(Debug, Clone)]
pub struct ProjectScope {
    /// The project.
    pub project: ProjectRecord,
    /// The plan of its team.
    pub plan: Arc<Plan>,
    /// How the caller stands to it.
    pub standing: Standing,
}

/// An environment the caller may act on.
pub struct EnvironmentScope {
    /// The project.
    pub project: ProjectRecord,
    /// The plan of its team.
    pub plan: Arc<Plan>,
    /// The environment.
    pub environment: EnvironmentRecord,
    /// Whether the caller may change its secrets as well.
    pub may_write: bool,
    /// The project's newest key: seals what is new.
    pub(crate) key: ProjectKey,
}

/// What the caller may read in an environment: the environment and its ancestors.
pub struct View {
    /// The environment itself.
    pub scope: EnvironmentScope,
    /// The chain with the secrets wanted, nearest first.
    pub chain: Vec<Link>,
}

impl<A: Access> Context<'_, A> {
    /// The team with this id, if the caller may act on it so. An unknown team is `unknown`: 404
    /// where the path names a team, 403 where something else does.
    pub async fn team(
        &mut self,
        team: TeamId,
        wanted: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        let user = self.caller.person()?.id;
        let membership = self.reads().membership(team, user).await?.ok_or(unknown)?;
        let role = membership.role.ok_or(NOT_A_MEMBER)?;
        if wanted == Permission::Manage && !role.manages() {
            return Err(MANAGERS_ONLY);
        }
        self.note.team = Some(team);
        let plan = self.options().plans.of_team(&membership.team.plan);
        Ok(TeamScope { team: membership.team, role, plan })
    }

    /// A team that the operator looks after, whoever it belongs to.
    pub async fn operated_team(&mut self, team: Option<TeamId>) -> Result<TeamRecord> {
        let caller = self.caller.person()?;
        let is_operator = |email: &String| email.eq_ignore_ascii_case(&caller.email);
        if !caller.email_verified || !self.options().operators.iter().any(is_operator) {
            return Err(Error::Forbidden("only the operator of this service may do this"));
        }
        let unknown = || Error::NotFound(Subject::Team);
        let found = self.reads().team(team.ok_or_else(unknown)?).await?.ok_or_else(unknown)?;
        self.note.team = Some(found.id);
        Ok(found)
    }

    /// The team that is meant where none is named: the caller's only one, or their personal one.
    pub async fn own_team(&mut self) -> Result<TeamId> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        let only = (memberships.len() == 1).then(|| memberships.first()).flatten();
        let own = only.or_else(|| {
            memberships.iter().find(|m| m.is_personal_of(user) && m.role == Some(Role::Owner))
        });
        own.map(|membership| membership.team.id)
            .ok_or_else(|| Error::invalid("team_id", "must name one of your teams"))
    }

    /// The team that came with the caller's first sign-in.
    pub(crate) async fn personal_team(&mut self) -> Result<Option<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        Ok(memberships.iter().find(|own| own.is_personal_of(user)).map(|own| own.team.id))
    }

    /// The teams that the caller runs.
    pub async fn managed_teams(&mut self) -> Result<Vec<TeamId>> {
        let user = self.caller.person()?.id;
        let memberships = self.reads().memberships(user).await?;
        let managed =
            memberships.iter().filter(|membership| membership.role.is_some_and(Role::manages));
        Ok(managed.map(|membership| membership.team.id).collect())
    }

    /// The project a path names, if the caller may act on it so.
    pub async fn project(&mut self, path: &ProjectRef, wanted: Permission) -> Result<ProjectScope> {
        let principal = self.caller.principal()?;
        let found = self.reads().project(path, principal).await?;
        let found = found.ok_or(Error::NotFound(Subject::Project))?;
        self.allow(found.standing, wanted)?;
        self.enter_project(&found.project);
        let plan = self.options().plans.of_team(&found.plan);
        Ok(ProjectScope { project: found.project, plan, standing: found.standing })
    }

    /// The project that was deleted under an id, if it can still be restored and the caller may.
    pub async fn deleted_project(&mut self, path: &ProjectRef) -> Result<ProjectScope> {
        let unknown = Error::NotFound(Subject::Project);
        let Some(id) = path.id() else { return Err(unknown) };
        let principal = self.caller.principal()?;
        let since = self.now() - RESTORABLE;
        let found = self.reads().deleted_project(id, since, principal).await?.ok_or(unknown)?;
        self.allow(found.standing, Permission::Manage)?;
        self.enter_project(&found.project);
        let plan = self.options().plans.of_team(&found.plan);
        Ok(ProjectScope { project: found.project, plan, standing: found.standing })
    }

    /// The environment a path names, if the caller may act on it so.
    pub async fn environment(
        &mut self,
        path: &EnvironmentPath,
        wanted: Permission,
    ) -> Result<EnvironmentScope> {
        Ok(self.look(path, wanted, Wanted::Nothing).await?.0.scope)
    }

    /// What the caller may read at a path, with the secrets wanted of each environment of its chain.
    pub async fn view(&mut self, path: &EnvironmentPath, wanted: Wanted<'_>) -> Result<View> {
        let (view, _) = self.look(path, Permission::Read, wanted).await?;
        check_chain(&view.chain)?;
        Ok(view)
    }

    /// What another environment may inherit, if the caller may read all of it: whoever reads the
    /// heir from then on reads those values too.
    pub async fn heritage(&mut self, path: &EnvironmentPath) -> Result<View> {
        let (view, standing) = self.look(path, Permission::Read, Wanted::Nothing).await?;
        check_chain(&view.chain)?;
        for ancestor in &view.chain {
            self.allow_in(ancestor, standing, Permission::Read)?;
        }
        Ok(view)
    }

    async fn look(
        &mut self,
        path: &EnvironmentPath,
        permission: Permission,
        wanted: Wanted<'_>,
    ) -> Result<(View, Standing)> {
        let principal = self.caller.principal()?;
        let sight = self.reads().sight(path, principal, wanted).await?;
        let Sight { project, plan, standing, key, chain } =
            sight.ok_or(Error::NotFound(Subject::Project))?;
        self.allow(standing, Permission::See)?;
        let first = chain.first().ok_or(Error::NotFound(Subject::Environment))?;
        if !first.in_scope {
            return Err(OUT_OF_SCOPE);
        }
        self.allow_in(first, standing, permission)?;
        let may_write = self.allow_in(first, standing, Permission::Write).is_ok();

        let environment = first.environment.clone();
        self.enter_project(&project);
        self.note.environment = Some((environment.id, environment.name.to_string()));
        let key = self.keyring().project_key(&key).map_err(Error::internal)?;
        let plan = self.options().plans.of_team(&plan);
        let scope = EnvironmentScope { project, plan, environment, may_write, key };
        Ok((View { scope, chain }, standing))
    }

    fn enter_project(&mut self, project: &ProjectRecord) {
        self.note.team = Some(project.team);
        self.note.project = Some((project.id, project.name.to_string()));
    }

    /// The role table, for one environment.
    fn allow_in(&self, link: &Link, standing: Standing, wanted: Permission) -> Result<()> {
        let Standing::Member(role) = standing else { return self.allow(standing, wanted) };
        let otherwise = self.options().member_access;
        if role.manages() || MemberAccess::of(role, link.granted, otherwise).allows(wanted) {
            return Ok(());
        }
        Err(match wanted {
            Permission::Manage => MANAGERS_ONLY,
            Permission::Grant => ADMINS_ONLY,
            _ => NO_ACCESS,
        })
    }

    /// The role table.
    fn allow(&self, standing: Standing, wanted: Permission) -> Result<()> {
        match (standing, &self.caller.who) {
            (Standing::Member(role), _) => match wanted {
                Permission::See | Permission::Contribute => Ok(()),
                _ if role.manages() => Ok(()),
                Permission::Manage => Err(MANAGERS_ONLY),
                Permission::Read | Permission::Write | Permission::Grant => Err(NO_ACCESS),
            },
            (Standing::Token, Who::Token(token)) => match wanted {
                Permission::See => Ok(()),
                Permission::Read if token.can_read => Ok(()),
                Permission::Write if token.can_write => Ok(()),
                Permission::Read => Err(Error::Forbidden("this token may not read")),
                Permission::Write => Err(Error::Forbidden("this token may not write")),
                Permission::Contribute | Permission::Grant | Permission::Manage => {
                    Err(Error::Forbidden("a service token may not do this"))
                }
            },
            (Standing::Stranger, Who::Token(_)) => Err(OUT_OF_SCOPE),
            (Standing::Stranger | Standing::Token, _) => Err(NOT_A_MEMBER),
        }
    }
}

impl Context<'_, Write> {
    /// The same as [`team`](Self::team), with the team's row held until the end of the transaction.
    /// What the caller may is asked again under it: nobody acts by a right that somebody has just
    /// taken from them.
    pub async fn held_team(
        &mut self,
        team: TeamId,
        wanted: Permission,
        unknown: Error,
    ) -> Result<TeamScope> {
        self.team(team, wanted, unknown).await?;
        self.tx().lock_team(team).await.map_err(|error| error.gone(Subject::Team))?;
        self.team(team, wanted, Error::NotFound(Subject::Team)).await
    }
}

/// What is said to whoever is in no team of that id.
pub(crate) const NOT_A_MEMBER: Error = Error::Forbidden("you are not a member of this team");
const MANAGERS_ONLY: Error = Error::Forbidden("only an owner or admin of the team may do this");
const ADMINS_ONLY: Error =
    Error::Forbidden("only an admin of this environment or of the team may do this");
const NO_ACCESS: Error = Error::Forbidden("you have no access to this environment");
const OUT_OF_SCOPE: Error = Error::Forbidden("outside of this token's scope");

/// Refuses a chain that runs in a circle or is longer than one may be. Neither is ever stored; a
/// database that was written by other hands may hold them.
fn check_chain(chain: &[Link]) -> Result<()> {
    let distinct: BTreeSet<_> = chain.iter().map(|link| link.environment.id).collect();
    if distinct.len() < chain.len() {
        return Err(Error::Refused {
            code: Code::CircularInheritance,
            reason: "environments inherit from each other in a circle".into(),
        });
    }
    if chain.len() > LONGEST_CHAIN {
        return Err(TOO_LONG);
    }
    Ok(())
}

/// What is said of a chain of more than [`LONGEST_CHAIN`] environments.
pub(crate) const TOO_LONG: Error = Error::Refused {
    code: Code::InvalidRequest,
    reason: std::borrow::Cow::Borrowed("a chain of inheritance holds at most 16 environments"),
};
