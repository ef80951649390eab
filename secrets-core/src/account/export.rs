//! Export of the data stored about a user.

use serde::Serialize;

use super::AccountTeam;
use crate::audit::AuditEntry;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::invitations::InvitationPublicInfo;
use crate::limits::RateLimiter;
use crate::model::{Bound, Result, Time, UserId};
use crate::projects::Project;
use crate::store::{AuditFilter, AuditScope, Membership};
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
    /// Pending invitations to the user.
    pub invitations: Vec<InvitationPublicInfo>,
    /// Projects that the user may access.
    pub projects: Vec<Project>,
    /// Service tokens the user created, in the teams they are a member of.
    pub service_tokens: Vec<ServiceToken>,
    /// Newest 10,000 audit log entries of the user, newest first.
    pub audit_logs: Vec<AuditEntry>,
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
        let user = cx.caller.person()?.clone();
        let (principal, email) = (cx.caller.principal()?, cx.caller.as_person()?.verified_email());
        let now = cx.now();
        cx.shared::<ExportRate>().count(user.id, now)?;
        cx.audit.resource = Some(("account", Some(user.id.uuid()), None));
        cx.add_detail("include_secrets", false);

        cx.complete_audit_log().await?;
        let memberships = cx.reads().memberships(user.id).await?;
        let invitations = match &email {
            Some(email) => cx.reads().invitations_to(email).await?,
            None => Vec::new(),
        };
        let projects = cx.reads().projects(principal).await?;
        let actions = AuditFilter::newest(AuditScope::Actor(user.id.uuid()), MAX_ENTRIES);
        let mut log = cx.engine.store().read_audit_log().await?;
        let actions = log.audit_entries(&actions).await?;
        drop(log);
        let service_tokens = tokens_of(cx, &memberships, user.id).await?;
        let pending = invitations.into_iter().filter(|invitation| invitation.is_pending(now));
        Ok(AccountData {
            format_version: 1,
            generated_at: now,
            memberships: memberships.iter().filter_map(AccountTeam::new).collect(),
            user: User::new(user, memberships),
            invitations: pending.map(|found| InvitationPublicInfo::new(found, None)).collect(),
            projects: projects.into_iter().map(Into::into).collect(),
            service_tokens,
            audit_logs: actions.into_iter().map(Into::into).collect(),
        })
    }
}

/// Loads the service tokens that the caller created in teams they are still a member of.
async fn tokens_of(
    cx: &mut Context<'_, Read>,
    memberships: &[Membership],
    user: UserId,
) -> Result<Vec<ServiceToken>> {
    let teams: Vec<_> = memberships.iter().map(|membership| membership.team.id).collect();
    let tokens = cx.reads().tokens(&teams).await?;
    let own = tokens.into_iter().filter(|(token, _)| token.created_by == user);
    let now = cx.now();
    Ok(own.map(|(token, scope)| ServiceToken::new(token, scope, now)).collect())
}
