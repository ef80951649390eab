//! Reading the audit log.

use serde::Serialize;

use super::query::{AuditQuery, cursor};
use super::{AuditEntry, AuditFormat};
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{Error, Permission, Result, TeamId};
use crate::store::AuditScope;

/// Reads a page of the log of one team, or of all teams that the caller runs.
#[derive(Debug)]
pub struct ListAudit {
    /// Whose log.
    pub whose: AuditOf,
    /// Which entries.
    pub query: AuditQuery,
}

/// Whose log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOf {
    /// That of every team the caller runs.
    Managed,
    /// That of this team; `None` if what was given is no id and names nothing.
    Team(Option<TeamId>),
}

/// A page of the log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The entries, in the order asked for.
    pub logs: Vec<AuditEntry>,
    /// Leads to the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How many entries a page holds.
    pub limit: u32,
    /// How the page is to be written.
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

impl AuditOf {
    async fn teams(self, cx: &mut Context<'_, Read>) -> Result<Vec<TeamId>> {
        const NOBODYS: Error = Error::Forbidden("you are not a member of this team");
        match self {
            Self::Team(team) => {
                let scope = cx.team(team.ok_or(NOBODYS)?, Permission::Manage, NOBODYS).await?;
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
