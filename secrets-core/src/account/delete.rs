//! Deleting the caller's own account.

use serde::Deserialize;

use super::anonymize::MAX_ENTRIES;
use crate::engine::refusals::Refusals;
use crate::engine::{Audit, Callers, Context, Lock, Operation, Write};
use crate::members::revoke_invitations;
use crate::model::{Code, EmailAddress, Error, Result, Role, Subject, TeamId, UserId};
use crate::store::{Membership, TeamRecord};

/// Input that confirms the deletion of an account.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Confirmation {
    /// E-mail address of the account, as a confirmation.
    #[cfg_attr(feature = "openapi", schema(example = "alice@example.com"))]
    pub confirm: String,
}

/// Deletes the caller's account and all teams in which the caller is the only member, with
/// everything in them.
///
/// Projects, secrets and service tokens that the user created for other teams are kept. The user's
/// record is kept too, but without any personal data, so that these objects still refer to a user.
/// A later sign-in creates a new user.
#[derive(Debug)]
pub struct DeleteAccount {
    /// Confirmation of the deletion by the caller.
    pub confirmation: Confirmation,
}

impl Operation for DeleteAccount {
    const NAME: &'static str = "account.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("account.deleted");
    const IS_LONG: bool = true;
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let user = cx.caller.person()?.clone();
        let confirmed = self.confirmation.confirm.parse::<EmailAddress>();
        if !confirmed.is_ok_and(|email| email.as_str() == user.email) {
            return Err(Error::invalid("confirm", "must be the e-mail address of the account"));
        }
        // Lock the user first, so that they join no team concurrently, then the teams in order of
        // ID to avoid deadlocks.
        cx.lock(Lock::User(user.id)).await.map_err(|error| error.or_not_found(Subject::User))?;
        let left = teams_to_leave(cx, user.id).await?;

        let now = cx.now();
        for (team, is_alone) in left {
            if is_alone {
                cx.tx().delete_team(team, now).await?;
            } else {
                cx.tx().delete_member(team, user.id).await?;
                revoke_invitations(cx, team, user.id).await?;
            }
        }
        cx.tx().delete_device_logins(user.id).await?;
        cx.tx().delete_sessions(user.id, None).await?;
        cx.tx().erase_user(user.id, now).await?;
        // Called near the end, because the call locks the batches of all teams.
        cx.complete_audit_log().await?;
        // The worker `ANONYMIZATION` changes the remaining entries.
        cx.tx().anonymize_actor(user.id, MAX_ENTRIES, now).await?;
        cx.shared::<Refusals>().forget(user.id);
        cx.audit.is_anonymized = true;
        cx.audit.resource = Some(("account", Some(user.id.uuid()), None));
        Ok(())
    }
}

/// Locks the user's teams and returns their IDs, each with a flag that is true if the user is the
/// only member. Returns an error if a team would be left without an owner.
async fn teams_to_leave(cx: &mut Context<'_, Write>, user: UserId) -> Result<Vec<(TeamId, bool)>> {
    let mut memberships = cx.reads().memberships(user).await?;
    memberships.sort_by_key(|membership| membership.team.id);
    let (mut left, mut orphaned) = (Vec::new(), Vec::new());
    for Membership { team, .. } in memberships {
        cx.lock(Lock::Team(team.id)).await?;
        let members = cx.reads().members(&[team.id]).await?;
        // The user was removed from this team just before it was locked.
        let Some(own) = members.iter().find(|member| member.user == user) else { continue };
        let others = members.iter().filter(|member| member.user != user);
        let is_owned = others.clone().any(|member| member.role == Role::Owner);
        let is_alone = others.count() == 0;
        left.push((team.id, is_alone));
        if own.role == Role::Owner && !is_owned && !is_alone {
            orphaned.push(team);
        }
    }
    if orphaned.is_empty() { Ok(left) } else { Err(sole_owner(&orphaned)) }
}

fn sole_owner(teams: &[TeamRecord]) -> Error {
    let names: Vec<_> = teams.iter().map(|team| format!("\"{}\"", team.name)).collect();
    let reason = format!(
        "you are the only owner of {}: make another member an owner, or remove the members first",
        names.join(", ")
    );
    Error::Refused { code: Code::SoleOwner, reason: reason.into() }
}
