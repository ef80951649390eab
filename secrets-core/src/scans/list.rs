//! Listing scans.

use super::Scan;
use super::scope::place;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{ProjectRef, Result, TeamId};

/// Maximum number of scans in a list.
pub(super) const LIMIT: u32 = 100;

/// Lists the newest 100 scans of a project, of a team, or of all teams of the caller, newest first.
#[derive(Debug)]
pub struct ListScans {
    /// Team whose scans are listed. Without a team and a project, the scans of all teams of the
    /// caller are listed.
    pub team: Option<TeamId>,
    /// Project whose scans are listed, by ID or slug. Without it, the scans of the whole team are
    /// listed.
    pub project: Option<ProjectRef>,
}

impl Operation for ListScans {
    const NAME: &'static str = "scan.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Scan>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Scan>> {
        let (teams, project) = if self.team.is_some() || self.project.is_some() {
            let (team, project) = place(cx, self.team, self.project.as_ref()).await?;
            (vec![team], project)
        } else {
            let caller = cx.caller.person()?.id;
            let memberships = cx.reads().memberships(caller).await?;
            (memberships.into_iter().map(|membership| membership.team.id).collect(), None)
        };
        let scans = cx.reads().scans(&teams, project, LIMIT).await?;
        Ok(scans.into_iter().map(Scan::from).collect())
    }
}
