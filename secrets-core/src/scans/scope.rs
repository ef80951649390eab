//! Determining the team and project of a scan, and authorizing the caller.

use crate::access::NOT_A_MEMBER;
use crate::engine::{Access, Context, Read, Write};
use crate::model::{Error, Permission, ProjectId, ProjectRef, Result, ScanId, Subject, TeamId};
use crate::store::ScanRecord;

/// Determines the team and the project of a scan from the request, and checks that the caller is a
/// member of the team. The team defaults to the team of the project or, without a project, to the
/// caller's default team.
pub(super) async fn place(
    cx: &mut Context<'_, Read>,
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

/// Locks the team of a scan and then its project, if it has one, and checks that the caller has
/// access to them. Because of the team's lock, scans that end at the same time are stored one after
/// another, so that the maximum number of findings applies to all of them.
pub(super) async fn lock_place(
    cx: &mut Context<'_, Write>,
    team: TeamId,
    project: Option<ProjectId>,
) -> Result<()> {
    cx.locked_team(team, Permission::See, NOT_A_MEMBER).await?;
    if let Some(project) = project {
        cx.locked_project(&ProjectRef::Id(project), Permission::See).await?;
    }
    Ok(())
}

/// Loads a scan. Fails unless the caller is a member of the scan's team and has access to its
/// project.
pub(super) async fn scan(cx: &mut Context<'_, Read>, scan: Option<ScanId>) -> Result<ScanRecord> {
    let scan = known(cx, scan).await?;
    cx.team(scan.team, Permission::See, UNKNOWN).await?;
    if let Some(project) = scan.project {
        cx.project(&ProjectRef::Id(project), Permission::See).await?;
    }
    record(cx, &scan);
    Ok(scan)
}

/// Locks the team and the project of a scan, and loads the scan. Fails unless the caller has the
/// required permission in the team and access to the project.
pub(super) async fn locked_scan(
    cx: &mut Context<'_, Write>,
    scan: Option<ScanId>,
    wanted: impl FnOnce(&ScanRecord) -> Permission,
) -> Result<ScanRecord> {
    let scan = known(cx, scan).await?;
    cx.locked_team(scan.team, wanted(&scan), UNKNOWN).await?;
    if let Some(project) = scan.project {
        cx.locked_project(&ProjectRef::Id(project), Permission::See).await?;
    }
    record(cx, &scan);
    Ok(scan)
}

/// Error for a scan that does not exist.
const UNKNOWN: Error = Error::NotFound(Subject::Scan);

/// Loads a scan without authorizing the caller. Sets only the scan's ID in the audit entry: if the
/// request is refused, the caller's data export contains the entry and must not reveal the name of
/// the source.
async fn known<A: Access>(cx: &mut Context<'_, A>, scan: Option<ScanId>) -> Result<ScanRecord> {
    let scan = cx.reads().scan(scan.ok_or(UNKNOWN)?).await?.ok_or(UNKNOWN)?;
    cx.audit.resource = Some(("scan", Some(scan.id.uuid()), None));
    Ok(scan)
}

/// Sets the scan as the resource that the audit entry names. The caller must be authorized.
fn record<A: Access>(cx: &mut Context<'_, A>, scan: &ScanRecord) {
    cx.set_resource("scan", scan.id.uuid(), scan.source_name.clone().unwrap_or_default());
}
