//! Accounts against which requests for a team are counted.

use std::collections::HashMap;
use std::sync::Mutex;

use chrono::TimeDelta;

use crate::model::lock::lock;
use crate::model::{TeamId, Time, UserId};
use crate::store::{Reads, StoreResult};

/// Maximum number of accounts in the cache.
const MAX_KNOWN: usize = 65_536;

/// Time for which an account stays in the cache. A user who leaves a team can use up the team's
/// limits for at most this time.
const LIFETIME: TimeDelta = TimeDelta::minutes(1);

/// Account of each team and of its service tokens, as a cache: the user who created the team or the
/// token while this user is a member of the team, otherwise the team itself.
#[derive(Default)]
pub(crate) struct Accounts(Mutex<HashMap<(TeamId, UserId), Known>>);

#[derive(Clone, Copy)]
struct Known {
    account: UserId,
    until: Time,
}

impl Accounts {
    /// Returns the account against which a request for this team is counted. `user` is the creator
    /// of the team or of the request's service token. Reads the user's membership at most once a
    /// minute.
    pub(crate) async fn of(
        &self,
        reads: &mut dyn Reads,
        (team, user): (TeamId, UserId),
        now: Time,
    ) -> StoreResult<UserId> {
        let known = lock(&self.0).get(&(team, user)).copied();
        if let Some(known) = known.filter(|known| now < known.until) {
            return Ok(known.account);
        }
        let membership = reads.membership(team, user).await?;
        let is_member = membership.is_some_and(|membership| membership.role.is_some());
        // IDs are unique among users and teams.
        let account = if is_member { user } else { UserId::from(team.uuid()) };
        let mut accounts = lock(&self.0);
        if accounts.len() >= MAX_KNOWN {
            accounts.clear();
        }
        accounts.insert((team, user), Known { account, until: now + LIFETIME });
        Ok(account)
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Store};
    use crate::testing::fixtures::{World, at};

    /// Returns the accounts of the two teams at this time. The users are the owners of the teams.
    async fn found(
        accounts: &Accounts,
        store: &dyn Store,
        world: &World,
        now: Time,
    ) -> [UserId; 2] {
        let mut reads = store.read().await.unwrap();
        let (first, second) =
            ((world.team.id, world.owner.id), (world.other_team.id, world.outsider.id));
        [
            accounts.of(reads.as_mut(), first, now).await.unwrap(),
            accounts.of(reads.as_mut(), second, now).await.unwrap(),
        ]
    }

    #[tokio::test]
    async fn the_accounts_of_several_teams_are_remembered_for_a_minute() {
        let (store, accounts) = (MemoryStore::new(), Accounts::default());
        let world = World::build(&store).await;
        let users = [world.owner.id, world.outsider.id];
        let teams = [&world.team, &world.other_team].map(|team| UserId::from(team.id.uuid()));
        assert_eq!(found(&accounts, &store, &world, at(0)).await, users);
        let mut tx = store.begin().await.unwrap();
        tx.delete_member(world.team.id, world.owner.id).await.unwrap();
        tx.delete_member(world.other_team.id, world.outsider.id).await.unwrap();
        tx.commit().await.unwrap();

        let remembered = found(&accounts, &store, &world, at(59)).await;
        let later = found(&accounts, &store, &world, at(60)).await;

        assert_eq!((remembered, later), (users, teams));
    }
}
