//! Reading the audit log.

use serde::Serialize;

use super::query::{AuditQuery, cursor};
use super::{AuditEntry, AuditFormat};
use crate::access::NOT_A_MEMBER;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{AuditId, Error, Permission, Result, TeamId, Time};
use crate::store::{AuditFilter, AuditOrder, AuditRecord, AuditScope};

/// Maximum number of teams in one query.
const MAX_TEAMS: usize = 100;

/// Maximum number of audit entries that are read from the database for one page, for a query with
/// conditions other than team and time: 5,000 in total for up to five teams, or 1,000 per team for
/// more teams. A page can therefore hold fewer matching entries than the limit, or none, and still
/// have a cursor.
const MAX_READ: u32 = 5_000;
const MIN_READ: u32 = 1_000;

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
    /// All teams that the caller manages.
    Managed,
    /// Team with this ID; `None` if the given text is not a valid ID, which is treated as an
    /// unknown team.
    Team(Option<TeamId>),
}

/// A page of results from the audit log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// Audit entries of the page, in the requested order.
    pub logs: Vec<AuditEntry>,
    /// Cursor of the next page; absent on the last page. A page with a cursor can hold fewer
    /// entries than the limit, or none: each page covers a limited part of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Maximum number of entries per page.
    pub limit: u32,
    /// Output format that the request asked for.
    #[serde(skip)]
    pub format: AuditFormat,
}

impl Operation for ListAudit {
    const NAME: &'static str = "audit.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = AuditPage;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AuditPage> {
        let (limit, format) = (self.query.page()?, self.query.format()?);
        let teams = self.whose.teams(cx).await?;
        let filter = |team: &TeamId| self.query.filter(AuditScope::Team(*team), cx.now());
        let filters = teams.iter().map(filter).collect::<Result<Vec<_>>>()?;
        cx.complete_audit_log().await?;
        let (mut found, end) = read(cx, filters, self.query.order()?).await?;
        let is_more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let last = found.last().map(place).filter(|_| is_more);
        Ok(AuditPage {
            logs: found.into_iter().map(Into::into).collect(),
            next_cursor: last.or(end).map(cursor),
            limit,
            format,
        })
    }
}

/// Reads the next page of audit entries of several teams; each team has its own filter. Also
/// returns the time and ID of the last entry that was examined in all logs; `None` if only the
/// limits of the filters end the page.
async fn read(
    cx: &mut Context<'_, Read>,
    filters: Vec<AuditFilter>,
    order: AuditOrder,
) -> Result<(Vec<AuditRecord>, Option<(Time, AuditId)>)> {
    let share = MAX_READ / u32::try_from(filters.len()).unwrap_or(u32::MAX).max(1);
    let (mut found, mut end): (Vec<AuditRecord>, Option<_>) = (Vec::new(), None);
    for filter in filters {
        let mut wanted = AuditFilter { until: end, ..filter };
        if wanted.is_selective() {
            let own_end = cx.reads().audit_entry_at(&wanted, share.max(MIN_READ)).await?;
            wanted.until = own_end.or(end);
        }
        found.extend(cx.reads().audit_entries(&wanted).await?);
        end = wanted.until;
    }
    let compare = |one: (Time, AuditId), other| match order {
        AuditOrder::Newest => one.cmp(&other).reverse(),
        AuditOrder::Oldest => one.cmp(&other),
    };
    found.retain(|entry| end.is_none_or(|end| compare(place(entry), end).is_le()));
    found.sort_unstable_by(|one, other| compare(place(one), place(other)));
    Ok((found, end))
}

fn place(entry: &AuditRecord) -> (Time, AuditId) {
    (entry.created_at, entry.id)
}

impl AuditTeams {
    async fn teams(self, cx: &mut Context<'_, Read>) -> Result<Vec<TeamId>> {
        match self {
            Self::Team(team) => {
                let scope =
                    cx.team(team.ok_or(NOT_A_MEMBER)?, Permission::Manage, NOT_A_MEMBER).await?;
                Ok(vec![scope.team.id])
            }
            Self::Managed => {
                let teams = cx.audited_teams().await?;
                if teams.is_empty() {
                    return Err(Error::forbidden("only an owner or admin of a team may do this"));
                }
                if teams.len() > MAX_TEAMS {
                    let rule = "must be given by those who manage more than 100 teams";
                    return Err(Error::invalid("team_id", rule));
                }
                Ok(teams)
            }
        }
    }
}
