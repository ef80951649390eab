//! Reading a team.

use super::TeamWithMembers;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Result, Subject, TeamId};

/// Reads a team that the caller is a member of.
#[derive(Debug)]
pub struct GetTeam {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
}

impl Operation for GetTeam {
    const NAME: &'static str = "team.get";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = TeamWithMembers;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<TeamWithMembers> {
        let team = self.team.ok_or(Error::NotFound(Subject::Team))?;
        let scope = cx.team(team, Permission::See, Error::NotFound(Subject::Team)).await?;
        let members = cx.reads().members(&[team]).await?;
        Ok(TeamWithMembers::new(scope.team, scope.role, members))
    }
}
