//! Inviting a person to a team.

use serde::Deserialize;

use super::{LIFETIME, accept_url, mail};
use crate::access::{NOT_A_MEMBER, TeamScope, check_role_approval};
use crate::crypto::{InvitationToken, TokenMac};
use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{
    BaseUrl, Code, EmailAddress, Error, InvitationId, Permission, Quota, Result, Role, TeamId,
    ValidationRule, Violation,
};
use crate::store::InvitationRecord;
use crate::teams::TeamMember;

/// Fields of a new invitation.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(example = json!({
    "email": "bob@example.com", "role": "member",
})))]
pub struct NewInvitation {
    /// E-mail address of the invited person. To accept, the person must prove that the address is
    /// theirs.
    pub email: EmailAddress,
    /// Role that the person gets in the team; defaults to `member`.
    pub role: Option<InvitedRole>,
}

/// A role that can be given by invitation. To make a person an owner, change their role after they
/// have joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum InvitedRole {
    /// Role `member`: works in the team's projects.
    #[default]
    Member,
    /// Role `admin`: manages the team.
    Admin,
}

/// Invites a person to a team. A pending invitation counts towards the plan's limit of members. A
/// command-line session may invite an admin only in its first 15 minutes.
#[derive(Debug)]
pub struct InviteMember {
    /// Team ID; `None`, treated as an unknown team, if the given string is not a valid ID.
    pub team: Option<TeamId>,
    /// Fields of the new invitation.
    pub invitation: NewInvitation,
    /// Base URL of the link with which the invitation is accepted.
    pub links: BaseUrl,
}

impl Operation for InviteMember {
    const NAME: &'static str = "member.invite";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("member.invited");
    type Access = Write;
    type Output = TeamMember;

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<TeamMember> {
        let team = self.team.ok_or(NOT_A_MEMBER)?;
        let scope = cx.locked_team(team, Permission::Manage, NOT_A_MEMBER).await?;
        let role = Role::from(self.invitation.role.unwrap_or_default());
        if role.manages() {
            check_role_approval(cx.caller.as_person()?, cx.now())?;
        }
        let email = self.invitation.email;
        check_new(cx, team, &email).await?;
        let plan = &scope.plan;
        if plan.limit(Quota::Members).is_some() {
            let now = cx.now();
            let current = cx.reads().count_members_and_invitations(team, now).await?;
            plan.admit(Quota::Members, current, 1)?;
        }

        let invitation = new_invitation(cx, scope, email, role)?;
        let inserted = cx.tx().insert_invitation(&invitation).await;
        inserted.map_err(|error| error.taken(invited()))?;
        let is_mailed = mail::enqueue(cx, &invitation).await?;
        cx.set_resource("invitation", invitation.id.uuid(), invitation.email.as_str());
        cx.add_detail("role", role.as_str());
        let link = (!is_mailed).then(|| accept_url(cx, &invitation, &self.links));
        Ok(TeamMember::invited(invitation, link))
    }
}

/// Maximum number of pending invitations of a team, whatever the plan. All invitations of a member
/// who loses rights are revoked in one transaction.
const MAX_PENDING: usize = 250;

/// Creates the error for an e-mail address that already has a pending invitation.
fn invited() -> Error {
    Error::taken("email", "is invited to the team already")
}

/// Fails if the address belongs to a member of the team or has a pending invitation. Deletes the
/// team's expired invitations first.
async fn check_new(cx: &mut Context<'_, Write>, team: TeamId, email: &EmailAddress) -> Result<()> {
    let members = cx.reads().members(&[team]).await?;
    if members.iter().any(|member| member.email == email.as_str()) {
        return Err(Error::taken("email", "is a member of the team already"));
    }
    let now = cx.now();
    cx.tx().delete_expired_invitations(team, now).await?;
    let invitations = cx.reads().invitations(team).await?;
    if invitations.iter().any(|invitation| invitation.email == *email) {
        return Err(invited());
    }
    if invitations.len() >= MAX_PENDING {
        let reason = "a team can have at most 250 pending invitations".into();
        return Err(Error::Refused { code: Code::InvalidRequest, reason });
    }
    Ok(())
}

fn new_invitation(
    cx: &Context<'_, Write>,
    scope: TeamScope,
    email: EmailAddress,
    role: Role,
) -> Result<InvitationRecord> {
    let (now, inviter) = (cx.now(), cx.caller.person()?);
    let (id, times_sent) = (InvitationId::draw(now), 1);
    let token = InvitationToken::derive(cx.keyring(), id, times_sent);
    Ok(InvitationRecord {
        id,
        team: scope.team.id,
        team_name: scope.team.name,
        email,
        role,
        mac: TokenMac::of(cx.keyring(), token.reveal()),
        times_sent,
        invited_by: inviter.id,
        inviter_name: inviter.name.clone(),
        inviter_email: inviter.verified_email().to_owned(),
        created_at: now,
        last_sent_at: now,
        expires_at: now + LIFETIME,
    })
}

impl TeamMember {
    fn invited(invitation: InvitationRecord, accept_url: Option<String>) -> Self {
        Self {
            id: invitation.id.uuid(),
            team_id: invitation.team,
            user_id: None,
            email: invitation.email.into(),
            name: None,
            avatar_url: None,
            role: invitation.role,
            status: "pending",
            invitation_id: Some(invitation.id),
            accept_url,
            joined_at: None,
            created_at: invitation.created_at,
            updated_at: invitation.last_sent_at,
        }
    }
}

impl TryFrom<String> for InvitedRole {
    type Error = Violation;

    fn try_from(text: String) -> std::result::Result<Self, Violation> {
        const INVITED_ROLE: ValidationRule = ValidationRule::of("must be admin or member");
        match text.as_str() {
            "admin" => Ok(Self::Admin),
            "member" => Ok(Self::Member),
            _ => Err(INVITED_ROLE.violation()),
        }
    }
}

impl From<InvitedRole> for Role {
    fn from(role: InvitedRole) -> Self {
        match role {
            InvitedRole::Member => Self::Member,
            InvitedRole::Admin => Self::Admin,
        }
    }
}
