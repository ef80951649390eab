//! Rate limit per team, for the requests of all its members and service tokens.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use super::accounts::Accounts;
use crate::engine::{Access, Context};
use crate::limits::RateLimiter;
use crate::model::lock::lock;
use crate::model::{Bound, Result, TeamId, UserId};
use crate::store::TeamRecord;

/// Maximum number of teams whose creator is kept in memory.
const MAX_TEAMS: usize = 65_536;

/// Rate limiter for the requests of each team. All teams that one account created share a counter,
/// because an account can create any number of teams. A team that its creator has left has a
/// counter of its own.
#[derive(Default)]
pub(crate) struct TeamRates {
    limiter: OnceLock<RateLimiter<UserId>>,
    /// User who created each team, as a cache. The creator of a team never changes.
    creators: Mutex<HashMap<TeamId, UserId>>,
}

/// Counts a request for a team that the caller is authorized for. Fails if the team's rate limit is
/// exceeded.
pub(crate) async fn count<A: Access>(cx: &mut Context<'_, A>, team: TeamId) -> Result<()> {
    if cx.options().rate_limit_per_team == 0 {
        return Ok(());
    }
    let rates = cx.shared::<TeamRates>();
    let known = lock(&rates.creators).get(&team).copied();
    let creator = match known {
        Some(creator) => creator,
        None => match cx.reads().team(team).await? {
            Some(team) => rates.remember(&team),
            None => return Ok(()),
        },
    };
    let (now, accounts) = (cx.now(), cx.shared::<Accounts>());
    let account = accounts.of(cx.reads(), (team, creator), now).await?;
    let counted = &cx.caller.origin.team_window.0;
    let limiter = rates.limiter.get_or_init(|| RateLimiter::new(cx.options().rate_limit_per_team));
    if counted.get().is_none() {
        let window = limiter.count_shared(cx.windows().named("team"), account, now).await;
        counted.get_or_init(|| window);
    }
    Bound::Team.check(counted.get().copied().flatten())
}

impl TeamRates {
    fn remember(&self, team: &TeamRecord) -> UserId {
        let mut creators = lock(&self.creators);
        if creators.len() >= MAX_TEAMS {
            creators.clear();
        }
        creators.insert(team.id, team.created_by);
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
        let remembered = lock(&rates.creators);
        assert_eq!(teams.map(|team| remembered.get(&team.id).copied()), accounts.map(Some));
    }
}
