//! Listing the invitations of a team.

use super::TeamInvitation;
use super::accept_url;
use crate::access::NOT_A_MEMBER;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{BaseUrl, Permission, Result, TeamId};

/// Lists the pending invitations of a team, oldest first.
#[derive(Debug)]
pub struct ListInvitations {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// Base URL of the links with which invitations are accepted.
    pub links: BaseUrl,
}

impl Operation for ListInvitations {
    const NAME: &'static str = "invitation.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<TeamInvitation>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<TeamInvitation>> {
        let team = self.team.ok_or(NOT_A_MEMBER)?;
        cx.team(team, Permission::Manage, NOT_A_MEMBER).await?;
        let now = cx.now();
        let invitations = cx.reads().invitations(team).await?;
        let pending = invitations.into_iter().filter(|invitation| invitation.is_pending(now));
        let sends_mail = cx.ports().mail.is_some();
        let shown = pending.map(|invitation| {
            let link = (!sends_mail).then(|| accept_url(cx, &invitation, &self.links));
            TeamInvitation::new(invitation, link)
        });
        Ok(shown.collect())
    }
}
