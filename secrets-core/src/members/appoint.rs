//! Appointing an owner of a team by the operator of the service, for a team whose owners have left.

use std::fmt;

use crate::engine::{AuditContext, Caller};
use crate::model::{Clock, Role, TeamId, UserId, ids};
use crate::store::{MemberRecord, Store, StoreError};

/// Makes a member of a team an owner. Used by an operator with access to the database; the audit
/// log of the team records the change. Does nothing if the member is an owner already. `member` is
/// the user ID or the verified e-mail address of the member.
///
/// # Errors
///
/// Fails if the team does not exist, or if not exactly one member has this ID or address.
pub async fn appoint_owner(
    store: &dyn Store,
    team: TeamId,
    member: &str,
    clock: &dyn Clock,
) -> Result<MemberRecord, NotAppointed> {
    let mut tx = store.begin().await?;
    tx.lock_team(team).await.map_err(|error| match error {
        StoreError::Stale(_) => NotAppointed::UnknownTeam,
        other => other.into(),
    })?;
    let members = tx.members(&[team]).await?;
    let user = ids::parse(member).map(UserId::from);
    let has_address =
        |known: &MemberRecord| !known.email.is_empty() && known.email.eq_ignore_ascii_case(member);
    let found = members.iter().filter(|known| Some(known.user) == user || has_address(known));
    let found: Vec<_> = found.collect();
    let member = match found[..] {
        [member] => member,
        [] => return Err(NotAppointed::UnknownMember),
        _ => return Err(NotAppointed::Ambiguous(found.iter().map(|one| one.user).collect())),
    };
    if member.role == Role::Owner {
        return Ok(member.clone());
    }
    let now = clock.now();
    let appointed = MemberRecord { role: Role::Owner, updated_at: now, ..member.clone() };
    tx.update_member(&appointed).await?;
    let shown = if member.email.is_empty() { &member.name } else { &member.email };
    let mut audit = AuditContext {
        team: Some(team),
        resource: Some(("member", Some(member.user.uuid()), Some(shown.clone()))),
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
    /// No team has this ID.
    UnknownTeam,
    /// No member of the team has this user ID or verified e-mail address.
    UnknownMember,
    /// Several members have this verified e-mail address, from different issuers.
    Ambiguous(Vec<UserId>),
    /// The store returned an error.
    Store(StoreError),
}

impl fmt::Display for NotAppointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTeam => f.write_str("there is no team with this ID"),
            Self::UnknownMember => {
                f.write_str("no member of the team has this user ID or verified e-mail address")
            }
            Self::Ambiguous(users) => {
                f.write_str(
                    "several members have this address; give the ID of one of these users:",
                )?;
                users.iter().try_for_each(|user| write!(f, " {user}"))
            }
            Self::Store(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for NotAppointed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::UnknownTeam | Self::UnknownMember | Self::Ambiguous(_) => None,
        }
    }
}

impl From<StoreError> for NotAppointed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::model::SystemClock;
    use crate::store::{MemoryStore, UserRecord};
    use crate::testing::fixtures::{World, member, user};

    #[tokio::test]
    async fn of_two_members_with_one_address_the_id_decides() {
        let store = MemoryStore::new();
        let world = World::build(&store).await;
        let twin = UserRecord { email: world.member.email.clone(), ..user("twin") };
        let mut tx = store.begin().await.unwrap();
        tx.insert_user(&twin).await.unwrap();
        tx.insert_member(&member(&world.team, &twin, Role::Member)).await.unwrap();
        tx.commit().await.unwrap();
        let appoint =
            async |member: &str| appoint_owner(&store, world.team.id, member, &SystemClock).await;

        let refused = appoint(&twin.email).await.unwrap_err().to_string();
        let appointed = appoint(&twin.id.to_string()).await.unwrap();

        for user in [world.member.id, twin.id] {
            assert!(refused.contains(&user.to_string()), "{refused}");
        }
        assert_eq!((appointed.user, appointed.role), (twin.id, Role::Owner));
        let unknown = appoint(&world.outsider.id.to_string()).await.unwrap_err();
        assert!(matches!(unknown, NotAppointed::UnknownMember), "{unknown}");
    }
}
