//! Reading the audit log.

use serde::Serialize;

use super::query::{AuditQuery, cursor};
use super::{AuditEntry, AuditFormat};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Result, TeamId};
use crate::store::AuditScope;

/// Reads a page of the audit log of one team, or of all teams the caller manages.
#[derive(Debug)]
pub struct ListAudit {
    /// Teams whose audit log is read.
    pub whose: AuditTeams,
    /// Filter, order and page of the query.
    pub query: AuditQuery,
}

/// The teams whose audit log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditTeams {
    /// All teams the caller manages.
    Managed,
    /// Team with this ID; `None` if the given text is not a valid ID, which is treated as an
    /// unknown team.
    Team(Option<TeamId>),
}

/// A page of the audit log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// Entries in the requested order.
    pub logs: Vec<AuditEntry>,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Maximum number of entries per page.
    pub limit: u32,
    /// Requested output format.
    #[serde(skip)]
    pub format: AuditFormat,
}

impl Operation for ListAudit {
    const NAME: &'static str = "audit.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = AuditPage;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AuditPage> {
        let (limit, format) = (self.query.page()?, self.query.format()?);
        let mut wanted = self.query.filter(AuditScope::Teams(Vec::new()), cx.now())?;
        wanted.scope = AuditScope::Teams(self.whose.teams(cx).await?);

        let mut found = cx.reads().audit_entries(&wanted).await?;
        let is_more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let last = found.last().map(|entry| (entry.created_at, entry.id));
        Ok(AuditPage {
            logs: found.into_iter().map(Into::into).collect(),
            next_cursor: last.filter(|_| is_more).map(cursor),
            limit,
            format,
        })
    }
}

impl AuditTeams {
    async fn teams(self, cx: &mut Context<'_, Read>) -> Result<Vec<TeamId>> {
        const NOT_A_MEMBER: Error = Error::Forbidden("you are not a member of this team");
        match self {
            Self::Team(team) => {
                let scope =
                    cx.team(team.ok_or(NOT_A_MEMBER)?, Permission::Manage, NOT_A_MEMBER).await?;
                Ok(vec![scope.team.id])
            }
            Self::Managed => {
                let teams = cx.managed_teams().await?;
                if teams.is_empty() {
                    return Err(Error::Forbidden("only an owner or admin of a team may do this"));
                }
                Ok(teams)
            }
        }
    }
}
