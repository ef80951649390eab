//! Deleting one's account.

use serde::Deserialize;

use crate::engine::{Audit, Callers, Context, Operation, Write};
use crate::model::{Code, EmailAddress, Error, Result, Role, Subject, TeamId, UserId};
use crate::store::{Membership, TeamRecord};

/// What is asked of whoever deletes their account.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Confirmation {
    /// The address of the account.
    #[cfg_attr(feature = "openapi", schema(example = "alice@example.com"))]
    pub confirm: String,
}

/// Deletes the caller's account, and with everything in them the teams that nobody else is in.
///
/// What they made for other teams stays, tokens too, and so does the record that somebody made it:
/// the person's row is kept without anything that says who it was. Whoever signs in again later is
/// somebody new.
#[derive(Debug)]
pub struct DeleteAccount {
    /// That it is meant.
    pub confirmation: Confirmation,
}

impl Operation for DeleteAccount {
    const NAME: &'static str = "account.delete";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Change("account.deleted");
    type Access = Write;
    type Output = ();

    async fn run(self, cx: &mut Context<'_, Write>) -> Result<()> {
        let user = cx.caller.person()?.clone();
        let confirmed = self.confirmation.confirm.parse::<EmailAddress>();
        if !confirmed.is_ok_and(|email| email.as_str() == user.email) {
            return Err(Error::invalid("confirm", "must be the e-mail address of the account"));
        }
        // First the person, so that they join nothing meanwhile, then their teams in one order.
        cx.tx().lock_user(user.id).await.map_err(|error| error.gone(Subject::User))?;
        let left = cx.teams_to_leave(user.id).await?;

        let now = cx.now();
        for (team, is_alone) in left {
            if is_alone {
                cx.tx().delete_team(team, now).await?;
            } else {
                cx.tx().delete_member(team, user.id).await?;
            }
        }
        cx.tx().delete_cli_sessions(user.id).await?;
        cx.tx().forget_user(user.id, now).await?;
        cx.tx().forget_actor(user.id.uuid()).await?;
        cx.note.is_nameless = true;
        cx.note.resource = Some(("account", Some(user.id.uuid()), None));
        Ok(())
    }
}

impl Context<'_, Write> {
    /// The person's teams, each held, and whether nobody else is in it. Refuses if a team would be
    /// left without an owner.
    async fn teams_to_leave(&mut self, user: UserId) -> Result<Vec<(TeamId, bool)>> {
        let mut memberships = self.reads().memberships(user).await?;
        memberships.sort_by_key(|membership| membership.team.id);
        let (mut left, mut orphaned) = (Vec::new(), Vec::new());
        for Membership { team, .. } in memberships {
            self.tx().lock_team(team.id).await?;
            let members = self.reads().members(&[team.id]).await?;
            // Taken out of it just now.
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
}

fn sole_owner(teams: &[TeamRecord]) -> Error {
    let names: Vec<_> = teams.iter().map(|team| format!("\"{}\"", team.name)).collect();
    let reason = format!(
        "you are the only owner of {}: make another member an owner, or remove the members first",
        names.join(", ")
    );
    Error::Refused { code: Code::SoleOwner, reason: reason.into() }
}
