//! Team and project of a scan, and authorization of the caller.

use crate::engine::{Access, Context};
use crate::model::{Error, Permission, ProjectId, ProjectRef, Result, ScanId, Subject, TeamId};
use crate::store::ScanRecord;

const NOT_A_MEMBER: Error = Error::Forbidden("you are not a member of this team");

/// Resolves the team and the project of a scan and checks that the caller is a member.
pub(super) async fn place<A: Access>(
    cx: &mut Context<'_, A>,
    team: Option<TeamId>,
    project: Option<&ProjectRef>,
) -> Result<(TeamId, Option<ProjectId>)> {
    if let Some(project) = project {
        let project = cx.project(project, Permission::See).await?.project;
        if team.is_some_and(|team| team != project.team) {
            return Err(Error::invalid("team_id", "must be the team of the project"));
        }
        return Ok((project.team, Some(project.id)));
    }
    let team = match team {
        Some(team) => team,
        None => cx.default_team().await?,
    };
    cx.team(team, Permission::See, NOT_A_MEMBER).await?;
    Ok((team, None))
}

/// Loads a scan, if the caller has the required permission in its team and access to its project.
pub(super) async fn scan<A: Access>(
    cx: &mut Context<'_, A>,
    scan: Option<ScanId>,
    wanted: impl FnOnce(&ScanRecord) -> Permission,
) -> Result<ScanRecord> {
    let unknown = || Error::NotFound(Subject::Scan);
    let scan = scan.ok_or_else(unknown)?;
    let scan = cx.reads().scan(scan).await?.ok_or_else(unknown)?;
    cx.team(scan.team, wanted(&scan), unknown()).await?;
    if let Some(project) = scan.project {
        cx.project(&ProjectRef::Id(project), Permission::See).await?;
    }
    cx.set_resource("scan", scan.id.uuid(), scan.source_name.clone().unwrap_or_default());
    Ok(scan)
}
