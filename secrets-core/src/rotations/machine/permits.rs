//! Limits on the number of rotations that a node works on concurrently.

use crate::limits::{Place, QueuePermits};
use crate::model::rotations::TriggerType;
use crate::model::{RotationId, TeamId};

/// Maximum number of scheduled rotations that a node works on at the same time. Manual rotations
/// are counted separately.
pub(super) const MAX_SCHEDULED: usize = 4;

/// Maximum number of scheduled rotations of one team that a node works on at the same time, so that
/// a team's slow databases do not delay other teams.
const MAX_SCHEDULED_PER_TEAM: usize = 2;

/// Maximum number of rotations started by users that a node works on at the same time.
const MAX_MANUAL: usize = 8;
/// Maximum number of rotations of one team, started by users, that a node works on at the same
/// time.
const MAX_MANUAL_PER_TEAM: usize = 4;

/// Permits to work on rotations: a rotation waits until a permit is free.
pub(super) type RotationPermits = QueuePermits<RotationId, RotationPlace>;

/// Resource that limits the number of rotations that are worked on at the same time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RotationPlace {
    /// Database host of a rotation of a team. Teams have separate limits even for the same host
    /// name: otherwise, a team could delay the rotations of other teams by configuring their hosts.
    Host(TeamId, String),
    /// This node, with separate limits for scheduled rotations and for those started by users.
    Node(TriggerType),
    /// Team that owns the rotation, with separate limits for scheduled rotations and for those
    /// started by users.
    Team(TriggerType, TeamId),
}

impl RotationPlace {
    /// Creates the resource for a database host. Ignores upper and lower case, and a dot at the end
    /// of the host name.
    pub(super) fn host(team: TeamId, name: &str) -> Self {
        Self::Host(team, name.trim_end_matches('.').to_ascii_lowercase())
    }
}

impl Place for RotationPlace {
    fn limit(&self) -> usize {
        match self {
            Self::Host(..) => 1,
            Self::Node(TriggerType::Scheduled) => MAX_SCHEDULED,
            Self::Node(TriggerType::Manual) => MAX_MANUAL,
            Self::Team(TriggerType::Scheduled, _) => MAX_SCHEDULED_PER_TEAM,
            Self::Team(TriggerType::Manual, _) => MAX_MANUAL_PER_TEAM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(number: u128) -> TeamId {
        uuid::Uuid::from_u128(number).into()
    }

    #[test]
    fn names_of_a_host_are_one_place_for_each_team() {
        let place = RotationPlace::host(team(1), "db.example.com");

        assert_eq!(RotationPlace::host(team(1), "DB.example.com."), place);
        assert_ne!(RotationPlace::host(team(2), "db.example.com"), place);
    }

    #[test]
    fn users_who_wait_have_permits_of_their_own() {
        use TriggerType::{Manual, Scheduled};
        let of_team = |trigger| RotationPlace::Team(trigger, team(1));

        for (place, limit) in [
            (RotationPlace::host(team(1), "db.example.com"), 1),
            (RotationPlace::Node(Scheduled), 4),
            (of_team(Scheduled), 2),
            (RotationPlace::Node(Manual), 8),
            (of_team(Manual), 4),
        ] {
            assert_eq!(place.limit(), limit, "{place:?}");
        }
    }
}
