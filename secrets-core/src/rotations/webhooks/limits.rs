//! Limits on concurrent deliveries for each webhook host and for each team.

use crate::limits::{Place, QueuePermits};
use crate::model::{DeliveryId, TeamId};

/// Maximum number of concurrent deliveries of one team to one webhook host, which may be a small
/// server.
const MAX_PER_HOST: usize = 4;

/// Maximum number of concurrent deliveries for one team, so that the team's slow receivers do not
/// delay other teams.
const MAX_PER_TEAM: usize = 16;

/// Permits to send webhook deliveries: a delivery waits until a permit is free.
pub(super) type DeliveryPermits = QueuePermits<DeliveryId, DeliveryPlace>;

/// Host of a team, or team, with a maximum number of concurrent webhook deliveries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeliveryPlace {
    /// Host of the webhook's receiver. Teams have separate limits even for the same host: otherwise, a
    /// team could delay the deliveries of other teams, with a port of the host that does not answer.
    Host(TeamId, String),
    /// Team that owns the webhook.
    Team(TeamId),
}

impl Place for DeliveryPlace {
    fn limit(&self) -> usize {
        match self {
            Self::Host(..) => MAX_PER_HOST,
            Self::Team(_) => MAX_PER_TEAM,
        }
    }
}
