//! Listing of webhooks.

use super::Webhook;
use super::sealing::Receiver;
use super::webhook_rotation;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};
use crate::rotations::sealing::Sealer;

/// Lists the webhooks of a rotation, oldest first.
#[derive(Debug)]
pub struct ListWebhooks {
    /// Environment of the rotation.
    pub at: EnvironmentPath,
    /// Rotation name; an invalid name is treated as an unknown rotation.
    pub rotation: String,
}

impl Operation for ListWebhooks {
    const NAME: &'static str = "webhook.list";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Nothing;
    type Access = Read;
    type Output = Vec<Webhook>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Vec<Webhook>> {
        let (scope, rotation) = webhook_rotation(cx, &self.at, &self.rotation).await?;
        let sealer = Sealer::of(cx, &scope);
        let mut webhooks = Vec::new();
        for record in cx.reads().webhooks(rotation.id).await? {
            let receiver = Receiver::open(&sealer, cx.reads(), &record).await?;
            webhooks.push(Webhook::new(record, &receiver.url));
        }
        Ok(webhooks)
    }
}
