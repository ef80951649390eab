//! Listing service tokens.

use super::ServiceToken;
use crate::access::NOT_A_MEMBER;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Permission, Result, TeamId};

/// Lists the service tokens of one team, or of all teams that the caller manages, oldest first.
#[derive(Debug)]
pub struct ListTokens {
    /// ID of the team; `None` lists the tokens of all teams that the caller manages.
    pub team: Option<TeamId>,
}

impl Operation for ListTokens {
    const NAME: &'static str = "token.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<ServiceToken>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<ServiceToken>> {
        let teams = match self.team {
            Some(team) => {
                let unknown = NOT_A_MEMBER;
                vec![cx.team(team, Permission::Manage, unknown).await?.team.id]
            }
            None => cx.managed_teams().await?,
        };
        let tokens = cx.reads().tokens(&teams).await?;
        let now = cx.now();
        Ok(tokens.into_iter().map(|(token, scope)| ServiceToken::new(token, scope, now)).collect())
    }
}
