//! Appointing an owner of a team by the operator, for a team whose owners have left.

use std::fmt;

use crate::engine::{AuditContext, Caller};
use crate::model::{Clock, Role, TeamId};
use crate::store::{MemberRecord, Store, StoreError};

/// Makes a member of a team an owner, for an operator with access to the database. The change is in the
/// audit log of the team. Does nothing if the member is an owner.
///
/// # Errors
///
/// Fails if the team does not exist, or if no member or more than one has this verified e-mail address.
pub async fn appoint_owner(
    store: &dyn Store,
    team: TeamId,
    email: &str,
    clock: &dyn Clock,
) -> Result<MemberRecord, NotAppointed> {
    let mut tx = store.begin().await?;
    tx.lock_team(team).await.map_err(|error| match error {
        StoreError::Stale(_) => NotAppointed::UnknownTeam,
        other => other.into(),
    })?;
    let members = tx.members(&[team]).await?;
    let mut found = members
        .iter()
        .filter(|member| !member.email.is_empty() && member.email.eq_ignore_ascii_case(email));
    let (Some(member), None) = (found.next(), found.next()) else {
        return Err(NotAppointed::NotOneMember);
    };
    if member.role == Role::Owner {
        return Ok(member.clone());
    }
    let now = clock.now();
    let appointed = MemberRecord { role: Role::Owner, updated_at: now, ..member.clone() };
    tx.update_member(&appointed).await?;
    let mut audit = AuditContext {
        team: Some(team),
        resource: Some(("member", Some(member.user.uuid()), Some(member.email.clone()))),
        ..AuditContext::default()
    };
    for (name, detail) in [
        ("role", Role::Owner.as_str()),
        ("previous_role", member.role.as_str()),
        ("changed_by", "operator"),
    ] {
        audit.details.insert(name.to_owned(), detail.into());
    }
    let entry = audit.into_entry(&Caller::system(), "member.role_changed", now);
    tx.insert_audit(&[entry]).await?;
    tx.commit().await?;
    Ok(appointed)
}

/// Reason why no owner was appointed.
#[derive(Debug)]
pub enum NotAppointed {
    /// There is no such team.
    UnknownTeam,
    /// No member, or more than one, has the verified e-mail address.
    NotOneMember,
    /// The store failed.
    Store(StoreError),
}

impl fmt::Display for NotAppointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownTeam => "there is no team with this ID",
            Self::NotOneMember => {
                "the e-mail address must be the verified address of exactly one member of the team"
            }
            Self::Store(_) => "the store failed",
        })
    }
}

impl std::error::Error for NotAppointed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::UnknownTeam | Self::NotOneMember => None,
        }
    }
}

impl From<StoreError> for NotAppointed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
