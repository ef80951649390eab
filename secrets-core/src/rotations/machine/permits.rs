//! Limits on the number of rotations that a node works on concurrently.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::model::lock::lock;
use crate::model::{RotationId, TeamId};

/// Maximum number of concurrent scheduled rotations. Manual rotations are counted separately.
pub(super) const MAX_SCHEDULED: usize = 4;

/// Maximum number of concurrent scheduled rotations of a team, so that a team's slow databases do not
/// delay other teams.
const MAX_SCHEDULED_PER_TEAM: usize = 2;

/// Maximum number of concurrent manual rotations.
const MAX_AWAITED: usize = 8;

/// Maximum number of rotations remembered as waiting.
const MAX_WAITING: usize = 4_096;

/// Origin of a request for a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermitKind {
    /// The schedule.
    Schedule,
    /// A user who waits for the result.
    Person,
}

/// Place of a rotation: its database host and its team. Work in the same place waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    host: String,
    /// Team, if it is known.
    team: Option<TeamId>,
}

/// Rotations that this node is working on: at most one per database host.
#[derive(Debug, Default)]
pub(crate) struct RotationPermits(Mutex<InUse>);

#[derive(Debug, Default)]
struct InUse {
    hosts: BTreeSet<String>,
    scheduled: usize,
    scheduled_by_team: BTreeMap<TeamId, usize>,
    awaited: usize,
    /// Scheduled rotations that were refused because of their place.
    waiting: BTreeMap<RotationId, Place>,
}

/// Permit to work on one rotation. Reserves the database host for this node and counts towards the
/// limits of concurrent rotations. Released when dropped.
#[derive(Debug)]
pub(crate) struct RotationPermit {
    permits: Arc<RotationPermits>,
    place: Place,
    kind: PermitKind,
}

impl Place {
    pub(super) fn new(host: &str, team: Option<TeamId>) -> Self {
        Self { host: host.trim_end_matches('.').to_ascii_lowercase(), team }
    }
}

impl RotationPermits {
    /// True if another scheduled rotation may start.
    pub(super) fn is_available(&self) -> bool {
        lock(&self.0).scheduled < MAX_SCHEDULED
    }

    /// True if a scheduled rotation was refused because of its place, and would be refused again. So
    /// its connection settings need not be decrypted again and again.
    pub(super) fn must_wait(&self, rotation: RotationId) -> bool {
        let mut taken = lock(&self.0);
        let must_wait = taken.waiting.get(&rotation).is_some_and(|place| !taken.is_free(place));
        if !must_wait {
            taken.waiting.remove(&rotation);
        }
        must_wait
    }

    /// Forgets the waiting rotations that are not among these candidates.
    pub(super) fn forget_others(&self, candidates: &BTreeSet<RotationId>) {
        lock(&self.0).waiting.retain(|rotation, _| candidates.contains(rotation));
    }

    /// Acquires a permit, if the place is free and the limit is not reached.
    pub(super) fn acquire(
        self: &Arc<Self>,
        rotation: RotationId,
        place: Place,
        kind: PermitKind,
    ) -> Option<RotationPermit> {
        let mut taken = lock(&self.0);
        let is_free = match kind {
            PermitKind::Schedule => taken.is_free(&place),
            PermitKind::Person => !taken.hosts.contains(&place.host),
        };
        if !is_free {
            if kind == PermitKind::Schedule && taken.waiting.len() < MAX_WAITING {
                taken.waiting.insert(rotation, place);
            }
            return None;
        }
        let (count, limit) = match kind {
            PermitKind::Schedule => (&mut taken.scheduled, MAX_SCHEDULED),
            PermitKind::Person => (&mut taken.awaited, MAX_AWAITED),
        };
        if *count >= limit {
            return None;
        }
        *count += 1;
        taken.hosts.insert(place.host.clone());
        if let (PermitKind::Schedule, Some(team)) = (kind, place.team) {
            *taken.scheduled_by_team.entry(team).or_default() += 1;
        }
        Some(RotationPermit { permits: Arc::clone(self), place, kind })
    }
}

impl InUse {
    /// True if a scheduled rotation may start in this place.
    fn is_free(&self, place: &Place) -> bool {
        let of_team = |team| self.scheduled_by_team.get(&team).copied().unwrap_or_default();
        !self.hosts.contains(&place.host)
            && place.team.is_none_or(|team| of_team(team) < MAX_SCHEDULED_PER_TEAM)
    }
}

impl Drop for RotationPermit {
    fn drop(&mut self) {
        let mut taken = lock(&self.permits.0);
        taken.hosts.remove(&self.place.host);
        if self.kind == PermitKind::Person {
            taken.awaited -= 1;
            return;
        }
        taken.scheduled -= 1;
        if let Some(team) = self.place.team
            && let Some(count) = taken.scheduled_by_team.get_mut(&team)
        {
            *count -= 1;
            if *count == 0 {
                taken.scheduled_by_team.remove(&team);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::PermitKind::{Person, Schedule};
    use super::*;

    fn place(host: &str, team: u128) -> Place {
        Place::new(host, Some(Uuid::from_u128(team).into()))
    }

    fn rotation(number: u128) -> RotationId {
        Uuid::from_u128(number).into()
    }

    #[test]
    fn a_node_works_on_four_at_once_and_never_on_two_at_one_host() {
        let permits = Arc::new(RotationPermits::default());
        let acquire = |host, team, kind| permits.acquire(rotation(1), place(host, team), kind);
        let first = acquire("db.example.com", 1, Schedule);
        assert!(first.is_some());
        assert!(acquire("DB.example.com.", 1, Person).is_none());

        let more: Vec<_> = [("b", 2), ("c", 3), ("d", 4), ("e", 5)]
            .map(|(host, team)| acquire(host, team, Schedule))
            .into();
        assert_eq!(more.iter().flatten().count(), 3);
        assert!(!permits.is_available());
        assert!(acquire("f", 1, Person).is_some());

        drop(first);
        assert!(permits.is_available());
        assert!(acquire("db.example.com", 1, Person).is_some());
    }

    #[test]
    fn a_team_has_two_of_the_scheduled_and_leaves_the_rest_to_others() {
        let permits = Arc::new(RotationPermits::default());
        let acquire = |host, team, kind| permits.acquire(rotation(1), place(host, team), kind);
        let own = [acquire("a", 1, Schedule), acquire("b", 1, Schedule)];
        assert!(own.iter().all(Option::is_some));

        assert!(acquire("c", 1, Schedule).is_none());
        assert!(acquire("c", 1, Person).is_some());
        assert!(acquire("d", 2, Schedule).is_some());
        drop(own);
        assert!(acquire("e", 1, Schedule).is_some());
        assert!(lock(&permits.0).scheduled_by_team.is_empty());
    }

    #[test]
    fn a_rotation_that_was_refused_waits_until_its_place_is_free() {
        let permits = Arc::new(RotationPermits::default());
        let working = permits.acquire(rotation(1), place("a", 1), Schedule);
        assert!(permits.acquire(rotation(2), place("a", 2), Schedule).is_none());

        assert!(permits.must_wait(rotation(2)));
        assert!(!permits.must_wait(rotation(3)));
        drop(working);
        assert!(!permits.must_wait(rotation(2)));
        assert!(lock(&permits.0).waiting.is_empty());
    }
}
