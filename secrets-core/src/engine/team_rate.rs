//! Rate limit per team, for the requests of all its members and service tokens.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use super::{Access, Context};
use crate::limits::RateLimiter;
use crate::model::lock::lock;
use crate::model::{Bound, Result, TeamId, UserId};
use crate::store::TeamRecord;

/// Maximum number of teams whose creator is kept in memory.
const MAX_TEAMS: usize = 65_536;

/// Rate limiter for the requests of each team. All teams that one account created share a counter,
/// because an account can create any number of teams.
#[derive(Default)]
pub(crate) struct TeamRates {
    limiter: OnceLock<RateLimiter<UserId>>,
    /// Account that created each team, as a cache. The creator of a team never changes.
    accounts: Mutex<HashMap<TeamId, UserId>>,
}

/// Counts a request for a team that the caller is authorized for. Fails if the team's rate limit is
/// exceeded.
pub(crate) async fn count<A: Access>(cx: &mut Context<'_, A>, team: TeamId) -> Result<()> {
    if cx.options().rate_limit_per_team == 0 {
        return Ok(());
    }
    let rates = cx.shared::<TeamRates>();
    let known = lock(&rates.accounts).get(&team).copied();
    let account = match known {
        Some(account) => account,
        None => match cx.reads().team(team).await? {
            Some(team) => rates.remember(&team),
            None => return Ok(()),
        },
    };
    let (now, counted) = (cx.now(), &cx.caller.origin.team_window.0);
    let limiter = rates.limiter.get_or_init(|| RateLimiter::new(cx.options().rate_limit_per_team));
    if counted.get().is_none() {
        let window = limiter.count_shared(cx.windows().named("team"), account, now).await;
        counted.get_or_init(|| window);
    }
    Bound::Team.check(counted.get().copied().flatten())
}

impl TeamRates {
    fn remember(&self, team: &TeamRecord) -> UserId {
        let mut accounts = lock(&self.accounts);
        if accounts.len() >= MAX_TEAMS {
            accounts.clear();
        }
        accounts.insert(team.id, team.created_by);
        team.created_by
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::testing::fixtures;

    #[test]
    fn the_accounts_of_several_teams_are_remembered() {
        let rates = TeamRates::default();
        let users = ["alice", "bob"].map(fixtures::user);
        let teams = users.each_ref().map(|user| fixtures::team(user, "team"));

        let accounts = teams.each_ref().map(|team| rates.remember(team));

        assert_eq!(accounts, users.map(|user| user.id));
        let remembered = lock(&rates.accounts);
        assert_eq!(teams.map(|team| remembered.get(&team.id).copied()), accounts.map(Some));
    }
}
