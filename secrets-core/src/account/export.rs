//! Export of the data stored about a user.

use std::collections::HashSet;

use serde::Serialize;

use super::AccountTeam;
use crate::audit::AuditEntry;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::invitations::{InvitationPublicInfo, invited_address};
use crate::limits::RateLimiter;
use crate::model::{Bound, Result, Role, TeamId, Time, UserId};
use crate::projects::Project;
use crate::sessions::{ListSessions, UserSession};
use crate::store::{AuditFilter, AuditRecord, AuditScope, Membership};
use crate::tokens::ServiceToken;
use crate::users::User;

/// Data stored about a user, without secret values.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountData {
    /// Version of the export format: always 1.
    pub format_version: u32,
    /// Time of the export.
    pub generated_at: Time,
    /// User, with profile and team memberships.
    pub user: User,
    /// Team memberships of the user.
    pub memberships: Vec<AccountTeam>,
    /// Pending invitations to the user; empty if the credential does not prove that the user's
    /// e-mail address is current.
    pub invitations: Vec<InvitationPublicInfo>,
    /// Projects that the user may access.
    pub projects: Vec<Project>,
    /// Service tokens that the user created, in the teams that the user manages as owner or admin.
    pub service_tokens: Vec<ServiceToken>,
    /// Active sessions of the user, oldest first.
    pub sessions: Vec<UserSession>,
    /// Newest 10,000 audit log entries of the user, newest first. An action in a team that the user
    /// is not a member of is listed without the team, the project, the environment, the object and
    /// the details.
    pub audit_logs: Vec<AuditEntry>,
    /// True if the user has older audit log entries, which the export leaves out.
    pub audit_logs_truncated: bool,
}

/// Exports the data stored about the caller, without secret values.
#[derive(Debug)]
pub struct ExportAccount;

/// Maximum number of audit log entries in the export.
const MAX_ENTRIES: u32 = 10_000;

/// Maximum number of exports of an account per hour, counted by each node. Includes exports with
/// and without secret values.
const MAX_EXPORTS_PER_HOUR: u32 = 5;

/// Counter of the exports of each account in the last hour, used to enforce the maximum.
pub(super) struct ExportRate(RateLimiter<UserId>);

impl Default for ExportRate {
    fn default() -> Self {
        Self(RateLimiter::hourly(MAX_EXPORTS_PER_HOUR))
    }
}

impl ExportRate {
    /// Counts an export of this user. Fails if the user has reached the maximum number of exports
    /// per hour.
    pub(super) fn count(&self, user: UserId, now: Time) -> Result<()> {
        Bound::AccountExports.check(self.0.count(user, now))
    }
}

impl Operation for ExportAccount {
    const NAME: &'static str = "account.export";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("account.exported");
    const IS_LONG: bool = true;
    type Access = Read;
    type Output = AccountData;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AccountData> {
        let (user, principal) = (cx.caller.person()?.clone(), cx.caller.principal()?);
        let now = cx.now();
        cx.shared::<ExportRate>().count(user.id, now)?;
        cx.audit.resource = Some(("account", Some(user.id.uuid()), None));
        cx.add_detail("include_secrets", false);

        cx.complete_audit_log().await?;
        let memberships = cx.reads().memberships(user.id).await?;
        let invitations = invitations_of_caller(cx).await?;
        let projects = cx.reads().projects(principal).await?;
        let (audit_logs, audit_logs_truncated) = actions_of(cx, &memberships, user.id).await?;
        let service_tokens = tokens_of(cx, &memberships, user.id).await?;
        let sessions = ListSessions.run(cx).await?;
        Ok(AccountData {
            format_version: 1,
            generated_at: now,
            memberships: memberships.iter().filter_map(AccountTeam::new).collect(),
            user: User::new(user, memberships),
            invitations,
            projects: projects.into_iter().map(Into::into).collect(),
            service_tokens,
            sessions,
            audit_logs,
            audit_logs_truncated,
        })
    }
}

/// Loads the pending invitations to the caller. Returns an empty list if the caller's credential
/// does not prove that the caller's e-mail address is current.
async fn invitations_of_caller(cx: &mut Context<'_, Read>) -> Result<Vec<InvitationPublicInfo>> {
    let now = cx.now();
    let browser = cx.options().sessions.absolute;
    let email = invited_address(cx.caller.as_person()?, browser, now).ok().flatten();
    let Some(email) = email else { return Ok(Vec::new()) };
    let invitations = cx.reads().invitations_to(&email).await?;
    let pending = invitations.into_iter().filter(|invitation| invitation.is_pending(now));
    Ok(pending.map(|found| InvitationPublicInfo::new(found, None)).collect())
}

/// Loads the newest audit log entries of the user, newest first. The second value is true if there
/// are more entries than the export contains.
async fn actions_of(
    cx: &mut Context<'_, Read>,
    memberships: &[Membership],
    user: UserId,
) -> Result<(Vec<AuditEntry>, bool)> {
    let newest = AuditFilter::newest(AuditScope::Actor(user.uuid()), MAX_ENTRIES + 1);
    let mut log = cx.engine.store().read_audit_log().await?;
    let mut actions = log.audit_entries(&newest).await?;
    drop(log);
    let is_truncated = actions.len() > MAX_ENTRIES as usize;
    actions.truncate(MAX_ENTRIES as usize);
    let teams: HashSet<_> = memberships.iter().map(|membership| membership.team.id).collect();
    let actions = actions.into_iter().map(|entry| AuditEntry::from(shown(entry, &teams)));
    Ok((actions.collect(), is_truncated))
}

/// Removes the team, the project, the environment, the object and the details from the entry of an
/// action in a team that is not one of `teams`, because this data belongs to that team. The entry
/// of a refused request contains it too.
fn shown(entry: AuditRecord, teams: &HashSet<TeamId>) -> AuditRecord {
    let is_own = match entry.team {
        Some(team) => teams.contains(&team),
        None => entry.project.is_none(),
    };
    if is_own {
        return entry;
    }
    AuditRecord { team: None, metadata: "{}".to_owned(), seal: None, ..entry.without_resource() }
}

/// Loads the service tokens that the user created, in the teams that the user still manages.
async fn tokens_of(
    cx: &mut Context<'_, Read>,
    memberships: &[Membership],
    user: UserId,
) -> Result<Vec<ServiceToken>> {
    let managed = memberships.iter().filter(|of| of.role.is_some_and(Role::manages));
    let teams: Vec<_> = managed.map(|membership| membership.team.id).collect();
    let tokens = cx.reads().tokens(&teams).await?;
    let own = tokens.into_iter().filter(|(token, _)| token.created_by == user);
    let now = cx.now();
    Ok(own.map(|(token, scope)| ServiceToken::new(token, scope, now)).collect())
}
