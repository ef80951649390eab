//! Listing teams.

use super::TeamWithMembers;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::Result;
use crate::store::MemberRecord;

/// Lists the teams that the caller is a member of, oldest first.
#[derive(Debug)]
pub struct ListTeams;

impl Operation for ListTeams {
    const NAME: &'static str = "team.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<TeamWithMembers>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<TeamWithMembers>> {
        let caller = cx.caller.person()?.id;
        let memberships = cx.reads().memberships(caller).await?;
        let teams: Vec<_> = memberships.iter().map(|membership| membership.team.id).collect();
        let members = cx.reads().members(&teams).await?;
        let of = |team| {
            members
                .iter()
                .filter(move |member: &&MemberRecord| member.team == team)
                .cloned()
                .collect()
        };
        Ok(memberships
            .into_iter()
            .filter_map(|membership| {
                let members = of(membership.team.id);
                Some(TeamWithMembers::new(membership.team, membership.role?, members))
            })
            .collect())
    }
}
