//! Limits on concurrent deliveries per webhook host and per team.

use crate::limits::{Place, QueuePermits};
use crate::model::{DeliveryId, TeamId};

/// Maximum number of concurrent deliveries to a webhook host, which may be a small server.
const MAX_PER_HOST: usize = 4;

/// Maximum number of concurrent deliveries of a team, so that the team's slow receivers do not
/// delay other teams.
const MAX_PER_TEAM: usize = 16;

/// Permits for deliveries.
pub(super) type DeliveryPermits = QueuePermits<DeliveryId, DeliveryPlace>;

/// A resource that a delivery uses. Each has a maximum number of concurrent deliveries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeliveryPlace {
    /// Host of the receiver.
    Host(String),
    /// Team of the webhook.
    Team(TeamId),
}

impl Place for DeliveryPlace {
    fn limit(&self) -> usize {
        match self {
            Self::Host(_) => MAX_PER_HOST,
            Self::Team(_) => MAX_PER_TEAM,
        }
    }
}
