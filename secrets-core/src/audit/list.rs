//! Reading the audit log.

use serde::Serialize;

use super::query::{AuditQuery, cursor};
use super::{AuditEntry, AuditFormat};
use crate::access::NOT_A_MEMBER;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::limits::Turns;
use crate::model::{AuditId, Error, Permission, Result, TeamId, Time, UserId};
use crate::store::{AuditFilter, AuditOrder, AuditRecord, AuditScope};

/// Maximum number of teams in one query.
const MAX_TEAMS: usize = 100;

/// Maximum number of audit entries that a query with conditions other than team and time reads from
/// the database for one page. Divided among the teams of the query, but each team has at least
/// [`MIN_READ`]. Because of this limit, a page can hold fewer matching entries than requested, or
/// none, and still have a cursor.
const MAX_READ: u32 = 5_000;
/// Number of audit entries that a query may read for each team, even if the total then exceeds the
/// 5,000 entries of [`MAX_READ`].
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
    /// Team with this ID; `None`, treated as an unknown team, if the given string is not a valid
    /// ID.
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
    /// Requested output format.
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
        // A malformed parameter is reported before a missing permission.
        let (limit, format) = (self.query.page()?, self.query.format()?);
        let caller = AuditScope::Actor(cx.caller.person()?.id.uuid());
        let filter = self.query.filter(caller, cx.now())?;
        let teams = self.whose.teams(cx).await?;
        let of_team = |team| AuditFilter { scope: AuditScope::Team(team), ..filter.clone() };
        let filters = teams.into_iter().map(of_team).collect();
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

/// Reads the next audit entries of several teams (one filter for each team). Also returns the time
/// and ID of the entry up to which the logs of all teams were read; `None` if all logs were read to
/// their ends.
///
/// Only one query at a time reads the log of a team, and it uses a database connection that is
/// reserved for audit log queries. So neither other teams nor reads of secrets wait for it.
async fn read(
    cx: &mut Context<'_, Read>,
    filters: Vec<AuditFilter>,
    order: AuditOrder,
) -> Result<(Vec<AuditRecord>, Option<(Time, AuditId)>)> {
    let share = MAX_READ / u32::try_from(filters.len()).unwrap_or(u32::MAX).max(1);
    let (mut found, mut end): (Vec<AuditRecord>, Option<_>) = (Vec::new(), None);
    let turns = cx.shared::<Turns<AuditScope>>();
    // Run one list per account at a time: otherwise, an account could wait for the connection with
    // a query for each of its teams.
    let lists = cx.shared::<Turns<UserId>>();
    let _list = match cx.caller.account() {
        Some(account) => Some(lists.acquire(account).await),
        None => None,
    };
    for filter in filters {
        // First the turn, then the connection: a query that waits for its turn holds no connection.
        let _turn = turns.acquire(filter.scope).await;
        let mut reads = cx.engine.store().read_audit_log().await?;
        let mut wanted = AuditFilter { until: end, ..filter };
        if wanted.is_selective() {
            let own_end = reads.audit_entry_at(&wanted, share.max(MIN_READ)).await?;
            wanted.until = own_end.or(end);
        }
        found.extend(reads.audit_entries(&wanted).await?);
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

#[cfg(test)]
#[cfg(all(feature = "testing", feature = "sqlite"))]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use tokio::task::yield_now;

    use super::*;
    use crate::Service;
    use crate::crypto::Key;
    use crate::engine::{Caller, Person, Who};
    use crate::model::{Identity, Origin};
    use crate::store::sql::sqlite;
    use crate::store::{Store, StoreOptions, UserRecord};
    use crate::testing::fixtures::World;
    use crate::testing::{folder, patient};

    fn caller(user: &UserRecord) -> Caller {
        let identity = Identity::new(&user.issuer, &user.subject, &user.email);
        let person = Person { user: user.clone(), identity, session: None };
        Caller::new(Who::Person(Arc::new(person)), Origin::default())
    }

    fn list(team: TeamId) -> ListAudit {
        ListAudit { whose: AuditTeams::Team(Some(team)), query: AuditQuery::default() }
    }

    #[tokio::test]
    async fn lists_of_a_team_run_one_at_a_time_and_hold_no_connection_while_they_wait() {
        let folder = tempfile::TempDir::new_in(folder()).unwrap();
        let options = StoreOptions { connections: Some(1), ..patient() };
        let store = sqlite::open(&folder.path().join("secrets.db"), options).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let service = Service::builder(Arc::clone(&store), &Key::generate());
        let service = service.build().await.unwrap();
        let world = World::build(store.as_ref()).await;
        let (owner, outsider) = (caller(&world.owner), caller(&world.outsider));
        let (turns, team) = (service.engine().shared::<Turns<AuditScope>>(), world.team.id);

        let turn = turns.acquire(AuditScope::Team(team)).await;
        let mut waiting = pin!(service.perform(&owner, list(team)));
        while !turns.is_waited_for(AuditScope::Team(team)) {
            assert!((&mut waiting).now_or_never().is_none());
            yield_now().await;
        }

        service.perform(&outsider, list(world.other_team.id)).await.unwrap();
        assert!(store.read().await.unwrap().user(world.owner.id).await.unwrap().is_some());
        assert!((&mut waiting).now_or_never().is_none());
        drop(turn);
        waiting.await.unwrap();
    }
}
