//! Everything that is kept of a person, for them to take away.

use serde::Serialize;

use super::AccountTeam;
use crate::audit::AuditEntry;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::invitations::InvitationPublicInfo;
use crate::model::{Result, Time, UserId};
use crate::projects::Project;
use crate::store::{AuditFilter, AuditScope, Membership};
use crate::tokens::ServiceToken;
use crate::users::User;

/// What is kept of a person. Values of secrets are not part of it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountData {
    /// 1.
    pub format_version: u32,
    /// When it was put together.
    pub generated_at: Time,
    /// The person.
    pub user: User,
    /// Their teams.
    pub memberships: Vec<AccountTeam>,
    /// Their pending invitations.
    pub invitations: Vec<InvitationPublicInfo>,
    /// The projects they can reach.
    pub projects: Vec<Project>,
    /// The service tokens they made.
    pub service_tokens: Vec<ServiceToken>,
    /// What they did, the newest 10,000 entries, newest first.
    pub audit_logs: Vec<AuditEntry>,
}

/// Puts together what is kept of the caller, without values.
#[derive(Debug)]
pub struct ExportAccount;

/// How many entries of the audit log are given.
const ENTRIES: u32 = 10_000;

impl Operation for ExportAccount {
    const NAME: &'static str = "account.export";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("account.exported");
    type Access = Read;
    type Output = AccountData;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AccountData> {
        let user = cx.caller.person()?.clone();
        let (principal, email) = (cx.caller.principal()?, cx.caller.somebody()?.verified_email());
        let now = cx.now();
        cx.note.resource = Some(("account", Some(user.id.uuid()), None));
        cx.detail("include_secrets", false);

        let memberships = cx.reads().memberships(user.id).await?;
        let invitations = match &email {
            Some(email) => cx.reads().invitations_to(email).await?,
            None => Vec::new(),
        };
        let projects = cx.reads().projects(principal).await?;
        let actions = AuditFilter::newest(AuditScope::Actor(user.id.uuid()), ENTRIES);
        let actions = cx.reads().audit_entries(&actions).await?;
        let service_tokens = cx.tokens_of(&memberships, user.id).await?;
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

impl Context<'_, Read> {
    /// The tokens that the caller made for teams they are still in.
    async fn tokens_of(
        &mut self,
        memberships: &[Membership],
        user: UserId,
    ) -> Result<Vec<ServiceToken>> {
        let teams: Vec<_> = memberships.iter().map(|membership| membership.team.id).collect();
        let tokens = self.reads().tokens(&teams).await?;
        let own = tokens.into_iter().filter(|(token, _)| token.created_by == user);
        let now = self.now();
        Ok(own.map(|(token, scope)| ServiceToken::new(token, scope, now)).collect())
    }
}
