//! Permits of this process, of which no team can take all.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use crate::model::TeamId;
use crate::model::lock::lock;

/// Limits on the number of permits that are in use.
#[derive(Debug, Clone, Copy)]
pub struct PermitLimits {
    /// Maximum number in all.
    pub total: usize,
    /// Maximum number per team.
    pub per_team: usize,
    /// Maximum number per user or service token.
    pub per_principal: usize,
}

/// Permits of one kind.
#[derive(Debug)]
pub struct TeamPermits {
    limits: PermitLimits,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    teams: HashMap<TeamId, usize>,
    principals: HashMap<Uuid, usize>,
}

/// Permit of a principal, for work in a team. Dropping it releases the permit.
#[derive(Debug)]
pub struct TeamPermit {
    permits: Arc<TeamPermits>,
    team: TeamId,
    principal: Uuid,
}

/// Limit that prevents another permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    /// All permits of the process are in use.
    Process,
    /// The team or the principal uses as many as it may.
    Share,
}

impl TeamPermits {
    /// Creates permits with these limits.
    #[must_use]
    pub fn new(limits: PermitLimits) -> Self {
        Self { limits, taken: Mutex::default() }
    }

    /// Acquires a permit, without waiting.
    pub fn acquire(
        self: &Arc<Self>,
        team: TeamId,
        principal: Uuid,
    ) -> Result<TeamPermit, Exhausted> {
        let mut taken = lock(&self.taken);
        let of_team = taken.teams.get(&team).copied().unwrap_or_default();
        let of_principal = taken.principals.get(&principal).copied().unwrap_or_default();
        if of_team >= self.limits.per_team || of_principal >= self.limits.per_principal {
            return Err(Exhausted::Share);
        }
        if taken.total >= self.limits.total {
            return Err(Exhausted::Process);
        }
        taken.total += 1;
        taken.teams.insert(team, of_team + 1);
        taken.principals.insert(principal, of_principal + 1);
        Ok(TeamPermit { permits: Arc::clone(self), team, principal })
    }
}

impl Drop for TeamPermit {
    fn drop(&mut self) {
        let mut taken = lock(&self.permits.taken);
        taken.total -= 1;
        release(&mut taken.teams, &self.team);
        release(&mut taken.principals, &self.principal);
    }
}

/// Decrements a counter, and removes it at zero, so that the map does not grow.
fn release<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(number: u128) -> TeamId {
        TeamId::from(Uuid::from_u128(number))
    }

    #[test]
    fn no_team_takes_all_and_no_principal_all_of_a_team() {
        let limits = PermitLimits { total: 5, per_team: 3, per_principal: 2 };
        let permits = Arc::new(TeamPermits::new(limits));
        let acquire = |number, who| permits.acquire(team(number), Uuid::from_u128(who));

        let first = acquire(1, 1).unwrap();
        let _second = acquire(1, 1).unwrap();
        assert_eq!(acquire(1, 1).unwrap_err(), Exhausted::Share);
        let _third = acquire(1, 2).unwrap();
        assert_eq!(acquire(1, 3).unwrap_err(), Exhausted::Share);
        let _others = [acquire(2, 4).unwrap(), acquire(2, 5).unwrap()];
        assert_eq!(acquire(3, 6).unwrap_err(), Exhausted::Process);

        drop(first);
        assert!(acquire(3, 6).is_ok());
    }

    #[test]
    fn released_permits_leave_no_counters() {
        let limits = PermitLimits { total: 1, per_team: 1, per_principal: 1 };
        let permits = Arc::new(TeamPermits::new(limits));

        drop(permits.acquire(team(1), Uuid::nil()).unwrap());

        let taken = lock(&permits.taken);
        assert!(taken.total == 0 && taken.teams.is_empty() && taken.principals.is_empty());
    }
}
