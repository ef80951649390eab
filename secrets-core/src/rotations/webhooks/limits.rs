//! Limits on concurrent deliveries for each webhook host and for each team, and on the messages
//! that users request for a webhook.

use crate::engine::{Context, Write};
use crate::limits::{Place, QueuePermits};
use crate::model::{Bound, DeliveryId, Error, Result, TeamId, WebhookId, next_minute};

/// Maximum number of concurrent deliveries of one team to one webhook host, which may be a small
/// server.
const MAX_PER_HOST: usize = 4;

/// Maximum number of concurrent deliveries for one team, so that the team's slow receivers do not
/// delay other teams.
const MAX_PER_TEAM: usize = 16;

/// Maximum number of messages to a webhook per minute that users request: test events, and
/// deliveries that are sent again. Limited, because the owner of the receiver may not have agreed
/// to get them.
const MAX_REQUESTED_PER_MINUTE: u64 = 5;

/// Permits to send webhook deliveries: a delivery waits until a permit is free.
pub(super) type DeliveryPermits = QueuePermits<DeliveryId, DeliveryPlace>;

/// Resource that limits the number of concurrent webhook deliveries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeliveryPlace {
    /// Host of the webhook's receiver. Teams have separate limits even for the same host:
    /// otherwise, a team could delay the deliveries of other teams by sending to a port of their
    /// host that does not respond.
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

/// Counts a message to a webhook that a user requested: a test event, or a delivery that is sent
/// again. Fails if there are too many in this minute.
pub(super) async fn count_requested(cx: &mut Context<'_, Write>, webhook: WebhookId) -> Result<()> {
    let until = next_minute(cx.now());
    let counter = format!("webhook-requests/{webhook}");
    if cx.tx().count_message(&counter, until).await? > MAX_REQUESTED_PER_MINUTE {
        return Err(Error::RateLimited { bound: Bound::WebhookTests, until });
    }
    Ok(())
}
