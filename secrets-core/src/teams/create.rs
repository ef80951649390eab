//! Creating a team.

use serde::Deserialize;

use super::Team;
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::model::{DisplayName, Result, Role, Slug, Subject, TeamId};
use crate::store::{MemberRecord, TeamRecord};

/// Fields of a new team.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewTeam {
    /// Display name of the new team.
    pub name: DisplayName,
}

/// Creates a team with the caller as its owner. A user can be a member of at most 250 teams.
#[derive(Debug)]
pub struct CreateTeam {
    /// Fields of the new team.
    pub team: NewTeam,
}

impl Operation for CreateTeam {
    const NAME: &'static str = "team.create";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("team.created");
    type Access = Write;
    type Output = Team;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<Team> {
        let owner = cx.caller.person()?.clone();
        // Lock the user, so that a concurrent account deletion cannot leave the team without its
        // owner.
        let held = cx.lock(Lock::User(owner.id)).await;
        held.map_err(|error| error.or_not_found(Subject::User))?;

        let name = self.team.name;
        let team = TeamRecord {
            id: TeamId::draw(cx.now()),
            slug: Slug::suggested(&name, "team"),
            name,
            is_personal: false,
            plan: cx.options().plans.default_plan().name.clone(),
            created_by: owner.id,
            created_at: cx.now(),
            updated_at: cx.now(),
        };
        let team = super::insert(cx, team).await?;
        let member = MemberRecord::new(team.id, &owner, Role::Owner, cx.now());
        cx.tx().insert_member(&member).await?;
        super::check_memberships(cx, owner.id).await?;

        cx.audit.team = Some(team.id);
        cx.set_resource("team", team.id.uuid(), team.name.as_str());
        Ok(team.into())
    }
}
